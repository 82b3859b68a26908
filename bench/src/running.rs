//! A running contender: one or more processes on loopback ports, ready once they accept connections.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::contender::Contender;
use crate::dataset::{BoxError, RefreshTokens};
use crate::postgres::{self, Cluster};
use crate::process::{self, Memory};

/// How long a contender may take to start on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The interval between attempts to connect: a small part of the time in which the fastest contender starts.
const INTERVAL: Duration = Duration::from_millis(2);

/// A running contender. It is ended when this is dropped, and its database too unless that is shared.
#[derive(Debug)]
pub struct Running {
    /// The contender.
    pub contender: Contender,
    /// The address of its first process.
    pub address: SocketAddr,
    /// The next refresh tokens of its devices.
    pub refresh_tokens: RefreshTokens,
    /// The first process, and its replicas.
    processes: Vec<Process>,
    /// The database server that it stores in, if any. It outlives the processes.
    cluster: Option<Rc<Cluster>>,
}

/// A process, ended when this is dropped.
#[derive(Debug)]
struct Process {
    address: SocketAddr,
    child: Child,
}

impl Running {
    /// Starts a process that listens on the address given to `command`, and waits until it accepts connections. It
    /// stores in the `cluster`, if there is one. Its standard error goes to the file `log`, as with a service manager.
    ///
    /// # Errors
    /// When it does not start; its log is in the message.
    pub fn start(
        contender: Contender,
        command: impl FnOnce(SocketAddr) -> Command,
        log: &Path,
        refresh_tokens: RefreshTokens,
        cluster: Option<Rc<Cluster>>,
    ) -> Result<Self, BoxError> {
        let process = Process::start(contender, command, log)?;
        Ok(Self {
            contender,
            address: process.address,
            refresh_tokens,
            processes: vec![process],
            cluster,
        })
    }

    /// Starts another process of the same kind. Connections are spread over all of them.
    ///
    /// # Errors
    /// When it does not start; its log is in the message.
    pub fn add_replica(
        &mut self,
        command: impl FnOnce(SocketAddr) -> Command,
        log: &Path,
    ) -> Result<(), BoxError> {
        let process = Process::start(self.contender, command, log)?;
        self.processes.push(process);
        Ok(())
    }

    /// The address for the connection with this number.
    pub fn address_of(&self, connection: usize) -> SocketAddr {
        self.processes[connection % self.processes.len()].address
    }

    /// The process id of the first.
    pub fn pid(&self) -> u32 {
        self.processes[0].child.id()
    }

    /// The processor time that all of its processes have used so far, including its database server if there is one.
    ///
    /// # Errors
    /// When one has ended.
    pub fn processor_time(&self) -> Result<Duration, BoxError> {
        let cluster = self.cluster.as_deref();
        let of_database = cluster.map(|cluster| postgres::processor_time(cluster.pid()));
        let mut used = of_database.transpose()?.unwrap_or_default();
        for process in &self.processes {
            used += process::processor_time(process.child.id())?;
        }
        Ok(used)
    }

    /// How often threads of its processes went to sleep so far.
    ///
    /// # Errors
    /// When one has ended.
    pub fn sleeps(&self) -> io::Result<u64> {
        let mut processes = self.processes.iter();
        processes.try_fold(0, |sum, process| {
            Ok(sum + process::sleeps(process.child.id())?)
        })
    }

    /// The memory of its processes together; shared pages are counted in each.
    ///
    /// # Errors
    /// When one has ended.
    pub fn memory(&self) -> io::Result<Memory> {
        let processes = self.processes.iter();
        let memory = processes.map(|process| process::memory(process.child.id()));
        memory.sum()
    }

    /// Resets the peak of its memory.
    ///
    /// # Errors
    /// When a process has ended.
    pub fn forget_peak(&self) -> io::Result<()> {
        let mut processes = self.processes.iter();
        processes.try_for_each(|process| process::forget_peak(process.child.id()))
    }
}

impl Process {
    fn start(
        contender: Contender,
        command: impl FnOnce(SocketAddr) -> Command,
        log: &Path,
    ) -> Result<Self, BoxError> {
        let address = free_address()?;
        let child = command(address)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(log)?)
            .spawn()?;
        let mut process = Self { address, child };
        process.wait(contender, log)?;
        Ok(process)
    }

    fn wait(&mut self, contender: Contender, log: &Path) -> Result<(), BoxError> {
        let begin = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            if self.child.try_wait()?.is_some() || begin.elapsed() > START_TIMEOUT {
                let name = contender.name();
                let log = std::fs::read_to_string(log).unwrap_or_default();
                return Err(format!("{name} does not start: {log}").into());
            }
            sleep(INTERVAL);
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may already have ended by itself; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A free loopback address. Another process may take it before the contender does; then the contender does not start.
pub fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}
