//! A contender that runs: a process of its own on a port of loopback, or several, ready once they accept connections.

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

/// How often it is tried: a small part of the time in which the fastest of them starts.
const INTERVAL: Duration = Duration::from_millis(2);

/// A contender that runs. It is ended when this is dropped, and its database with it unless somebody else has it, too.
#[derive(Debug)]
pub struct Running {
    /// What runs.
    pub contender: Contender,
    /// Where its first process listens.
    pub address: SocketAddr,
    /// Those that its devices present next.
    pub refresh_tokens: RefreshTokens,
    /// The first, and its replicas.
    processes: Vec<Process>,
    /// What it stores in, where that is a server of its own. It outlives the processes.
    cluster: Option<Rc<Cluster>>,
}

/// A process, ended when this is dropped.
#[derive(Debug)]
struct Process {
    address: SocketAddr,
    child: Child,
}

impl Running {
    /// Starts a process that listens on the address that `command` is given, and waits until it can be connected
    /// to. It stores in the `cluster`, if there is one. Its standard error goes to the file `log`, as a service manager
    /// would take it.
    ///
    /// # Errors
    /// When it does not start; what it has logged is in the message.
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

    /// Starts one more process of the same. Connections are spread over all of them.
    ///
    /// # Errors
    /// When it does not start; what it has logged is in the message.
    pub fn add_replica(
        &mut self,
        command: impl FnOnce(SocketAddr) -> Command,
        log: &Path,
    ) -> Result<(), BoxError> {
        let process = Process::start(self.contender, command, log)?;
        self.processes.push(process);
        Ok(())
    }

    /// Where the connection of that number goes.
    pub fn address_of(&self, connection: usize) -> SocketAddr {
        self.processes[connection % self.processes.len()].address
    }

    /// The process id of the first.
    pub fn pid(&self) -> u32 {
        self.processes[0].child.id()
    }

    /// The processor time that it has used so far, all processes, with its database server where it has one.
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

    /// What its processes have in memory together; pages that they share are counted in each.
    ///
    /// # Errors
    /// When one has ended.
    pub fn memory(&self) -> io::Result<Memory> {
        let processes = self.processes.iter();
        let memory = processes.map(|process| process::memory(process.child.id()));
        memory.sum()
    }

    /// Lets the peak of its memory begin anew.
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
        // It may have ended by itself; there is nothing to do then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address of loopback that nobody listens on. Somebody else may take it before the contender does;
/// then the contender does not start.
pub fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}
