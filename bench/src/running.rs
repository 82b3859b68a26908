//! A contender that runs: a process of its own on a port of loopback, ready once it accepts connections.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::contender::Contender;
use crate::dataset::{BoxError, RefreshTokens};
use crate::postgres::Cluster;
use crate::process;

/// How long a contender may take to start on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How often it is tried: a small part of the time in which the fastest of them starts.
const INTERVAL: Duration = Duration::from_millis(2);

/// A contender that runs. It is ended when this is dropped.
#[derive(Debug)]
pub struct Running {
    /// What runs.
    pub contender: Contender,
    /// Where it listens.
    pub address: SocketAddr,
    /// Those that its devices present next.
    pub refresh_tokens: RefreshTokens,
    process: Child,
    /// What it stores in, where that is a server of its own.
    cluster: Option<Cluster>,
}

impl Running {
    /// Starts a process that listens on the address that `command` is given, and waits until it can be connected
    /// to. It stores in the `cluster`, if there is one, which ends with it. Its standard error goes to the file `log`, as a service manager would take it.
    ///
    /// # Errors
    /// When it does not start; what it has logged is in the message.
    pub fn start(
        contender: Contender,
        command: impl FnOnce(SocketAddr) -> Command,
        log: &Path,
        refresh_tokens: RefreshTokens,
        cluster: Option<Cluster>,
    ) -> Result<Self, BoxError> {
        let address = free_address()?;
        let process = command(address)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(log)?)
            .spawn()?;
        let mut running = Self {
            contender,
            address,
            refresh_tokens,
            process,
            cluster,
        };
        running.wait(log)?;
        Ok(running)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The processor time that it has used so far, with its database server where it has one.
    ///
    /// # Errors
    /// When it has ended.
    pub fn processor_time(&self) -> Result<Duration, BoxError> {
        let of_database = self.cluster.as_ref().map(Cluster::processor_time);
        let of_database = of_database.transpose()?.unwrap_or_default();
        Ok(process::processor_time(self.pid())? + of_database)
    }

    fn wait(&mut self, log: &Path) -> Result<(), BoxError> {
        let begin = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            if self.process.try_wait()?.is_some() || begin.elapsed() > START_TIMEOUT {
                let name = self.contender.name();
                let log = std::fs::read_to_string(log).unwrap_or_default();
                return Err(format!("{name} does not start: {log}").into());
            }
            sleep(INTERVAL);
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing to do then.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An address of loopback that nobody listens on. Somebody else may take it before the contender does;
/// then the contender does not start.
pub fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}
