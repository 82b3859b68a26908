//! A Redis of a test's own: on a free port of loopback, with nothing on disk, ended with the test.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::port;

/// Longer than a start takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A Redis that runs, or that the test has stopped.
pub struct Redis {
    process: Child,
    port: u16,
    /// Where it runs: it writes nothing, and would write nothing elsewhere.
    folder: TempDir,
}

impl Redis {
    /// Starts one.
    ///
    /// # Panics
    ///
    /// When there is no `redis-server`, which `.ci/install` installs.
    pub fn start() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("invoicing-redis-")
            .tempdir()
            .expect("a temporary folder can be made");
        // Redis cannot choose a port, and somebody else may take the one that was free a moment ago.
        for _ in 0..10 {
            let port = port::free();
            if let Some(process) = start(port, &folder) {
                return Self {
                    process,
                    port,
                    folder,
                };
            }
        }
        panic!("ten ports that were free were taken when redis-server wanted them");
    }

    /// What `--redis` takes.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Ends it without a farewell (SIGKILL). What it had in memory is gone.
    pub fn kill(&mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it ends");
    }

    /// Starts it again on the same port after [`Redis::kill`].
    pub fn restart(&mut self) {
        let started = start(self.port, &self.folder);
        self.process = started.expect("its port is still free");
    }

    /// Lets it answer nothing any more, with its connections open (SIGSTOP).
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Ends [`Redis::freeze`].
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "kill -s {name}"
        );
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A server that answers on this port; none when it ends before that.
fn start(port: u16, folder: &TempDir) -> Option<Child> {
    let mut process = Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
        .args(["--save", "", "--appendonly", "no", "--dir"])
        .arg(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server can be run; .ci/install installs it");
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if process.try_wait().expect("it is ours").is_some() {
            return None;
        }
        if answers(port) {
            return Some(process);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = process.kill();
    let _ = process.wait();
    panic!("redis-server does not answer on port {port}");
}

fn answers(port: u16) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 7];
        stream.read_exact(&mut answer)?;
        Ok::<_, std::io::Error>(&answer == b"+PONG\r\n")
    };
    ask().unwrap_or(false)
}
