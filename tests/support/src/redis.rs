//! A test's own Redis: on a free loopback port, with nothing on disk, ended with the test.

use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::port;

/// Longer than startup takes on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A Redis that is running, or that the test has stopped.
pub struct Redis {
    process: Child,
    scheme: &'static str,
    port: u16,
    /// The options that set how it listens, except the port.
    options: Vec<OsString>,
    /// Its working folder: it writes nothing, and would write nothing elsewhere.
    folder: TempDir,
}

impl Redis {
    /// Starts one.
    ///
    /// # Panics
    ///
    /// When there is no `redis-server`, which `.ci/install` installs.
    pub fn start() -> Self {
        Self::with("redis", vec!["--port".into()])
    }

    /// Starts one that speaks only TLS, with these files in PEM.
    ///
    /// # Panics
    ///
    /// As [`Redis::start`].
    pub fn start_with_tls(certificate: &Path, key: &Path) -> Self {
        let options: [&OsStr; 9] = [
            "--port".as_ref(),
            "0".as_ref(),
            "--tls-cert-file".as_ref(),
            certificate.as_ref(),
            "--tls-key-file".as_ref(),
            key.as_ref(),
            "--tls-auth-clients".as_ref(),
            "no".as_ref(),
            "--tls-port".as_ref(),
        ];
        Self::with("rediss", options.map(OsStr::to_owned).to_vec())
    }

    fn with(scheme: &'static str, options: Vec<OsString>) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("invoicing-redis-")
            .tempdir()
            .expect("a temporary folder can be made");
        // Redis cannot choose a port itself, and another process may take one that was free a moment
        // ago.
        for _ in 0..10 {
            let port = port::free();
            if let Some(process) = start(port, &options, &folder) {
                return Self {
                    process,
                    scheme,
                    port,
                    options,
                    folder,
                };
            }
        }
        panic!("ten ports that were free were taken when redis-server wanted them");
    }

    /// The value of `--redis`.
    pub fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    /// Ends it at once (SIGKILL). What it had in memory is gone.
    pub fn kill(&mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it ends");
    }

    /// Starts it again on the same port after [`Redis::kill`].
    pub fn restart(&mut self) {
        let started = start(self.port, &self.options, &self.folder);
        self.process = started.expect("its port is still free");
    }

    /// Stops it from answering, with its connections open (SIGSTOP).
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

/// A server that listens on this port; `None` if it ends before that.
fn start(port: u16, options: &[OsString], folder: &TempDir) -> Option<Child> {
    let mut process = Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .arg("--dir")
        .arg(folder.path())
        .args(options)
        .arg(port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server can be run; .ci/install installs it");
    let end = Instant::now() + START_TIMEOUT;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if process.try_wait().expect("it is ours").is_some() {
            return None;
        }
        assert!(
            Instant::now() < end,
            "redis-server does not listen on port {port}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    // Another process may be listening there, so that ours could not.
    let ended = process.try_wait().expect("it is ours");
    ended.is_none().then_some(process)
}
