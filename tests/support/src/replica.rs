//! One of several servers on one database: a process that stops and starts again on the same ports.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::port;
use crate::service::quiet;

/// Longer than startup, or shutdown with running requests, takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A replica that is running, or that the test has stopped.
#[derive(Debug)]
pub struct Replica {
    process: Child,
    binary: PathBuf,
    settings: Vec<(String, String)>,
    listen: u16,
    operations: u16,
    log: PathBuf,
}

impl Replica {
    /// Starts a replica with these settings, `INVOICING_DATABASE` among them, and waits until it is ready.
    /// Its log is `NAME.log` in `folder`.
    ///
    /// # Panics
    ///
    /// When it does not become ready.
    pub fn start(binary: &str, name: &str, folder: &Path, settings: &[(&str, &str)]) -> Self {
        let (listen, operations) = (port::free(), port::free());
        let own = [
            ("INVOICING_LISTEN", format!("127.0.0.1:{listen}")),
            (
                "INVOICING_OPERATIONS_LISTEN",
                format!("127.0.0.1:{operations}"),
            ),
            ("INVOICING_LOG_FORMAT", "json".to_owned()),
        ];
        let given = settings
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        let settings = own
            .into_iter()
            .chain(given)
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<Vec<_>>();
        let log = folder.join(format!("{name}.log"));
        let process = spawn(binary.as_ref(), &settings, &log);
        let mut replica = Self {
            process,
            binary: binary.into(),
            settings,
            listen,
            operations,
            log,
        };
        replica.wait_until_ready();
        replica
    }

    /// The address it listens on.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.listen)
    }

    /// The base URL of requests to it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The port of its operations listener.
    pub fn operations_port(&self) -> u16 {
        self.operations
    }

    /// The answer of its operations listener, status and body; `None` if it does not answer.
    pub fn operations(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.operations)).ok()?;
        stream.set_read_timeout(Some(TIMEOUT)).ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: replica\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.get(9..12)?.parse().ok()?, body.to_owned()))
    }

    /// Asks it to stop, as a supervisor would, and waits until it has.
    ///
    /// # Panics
    ///
    /// When it does not end.
    pub fn stop(&mut self) -> ExitStatus {
        let id = self.process.id().to_string();
        let asked = Command::new("kill").args(["-s", "TERM", &id]).status();
        assert!(asked.is_ok_and(|status| status.success()), "kill {id}");
        let mut ended = None;
        self.wait("does not end", |replica| {
            ended = replica.process.try_wait().expect("it is ours");
            ended.is_some()
        });
        ended.expect("it was waited for")
    }

    /// Ends it as a crash would (SIGKILL).
    pub fn kill(&mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it ends");
    }

    /// Starts it again after [`Replica::stop`] or [`Replica::kill`], and waits until it is ready.
    pub fn start_again(&mut self) {
        self.process = spawn(&self.binary, &self.settings, &self.log);
        self.wait_until_ready();
    }

    /// Waits until it is ready for requests.
    ///
    /// # Panics
    ///
    /// When it does not become ready.
    pub fn wait_until_ready(&mut self) {
        self.wait("does not become ready", |replica| {
            let ended = replica.process.try_wait().expect("it is ours");
            assert_eq!(ended, None, "it ended: {}", replica.read_log());
            matches!(replica.operations("/readyz"), Some((200, _)))
        });
    }

    /// Waits until it has answered a request of a published operation since its start, which shows that
    /// the balancer uses it again.
    ///
    /// # Panics
    ///
    /// When no request comes.
    pub fn wait_until_used(&mut self) {
        self.wait_until_counted("invoicing_requests_total{");
    }

    /// Waits until a line of its metrics begins with this.
    ///
    /// # Panics
    ///
    /// When none comes.
    pub fn wait_until_counted(&mut self, line: &str) {
        self.wait(&format!("says nothing of {line}"), |replica| {
            let page = replica.operations("/metrics");
            page.is_some_and(|(_, page)| page.contains(&format!("\n{line}")))
        });
    }

    /// Its whole log so far.
    pub fn read_log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn wait(&mut self, otherwise: &str, mut until: impl FnMut(&mut Self) -> bool) {
        let end = Instant::now() + TIMEOUT;
        while !until(self) {
            assert!(
                Instant::now() < end,
                "a replica {otherwise}: {}",
                self.read_log()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(binary: &Path, settings: &[(String, String)], log: &Path) -> Child {
    let log = File::options().create(true).append(true).open(log);
    quiet(binary)
        .arg("serve")
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.expect("the folder can be written"))
        .spawn()
        .expect("the binary can be run")
}
