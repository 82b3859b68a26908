//! A server as a process, and its log.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than anything here takes on a busy machine, so that a hanging server fails a test.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A running server; killed if the test ends before it does.
pub struct Server {
    process: Child,
    lines: Receiver<String>,
    log: Vec<Value>,
    pub url: String,
}

impl Server {
    /// Starts `command` and waits until it listens.
    pub fn start(command: &mut Command) -> Self {
        let (process, lines) = spawn(command);
        let mut server = Self {
            process,
            lines,
            log: Vec::new(),
            url: String::new(),
        };
        server.url = server.wait_for("listening")["url"]
            .as_str()
            .expect("a url")
            .to_owned();
        server
    }

    /// A server that was started elsewhere, whose log is read there.
    pub fn of(process: Child) -> Self {
        let (_, lines) = channel();
        Self {
            process,
            lines,
            log: Vec::new(),
            url: String::new(),
        }
    }

    /// Waits for the next line with this message.
    pub fn wait_for(&mut self, message: &str) -> Value {
        let end = Instant::now() + TIMEOUT;
        loop {
            let line = match self
                .lines
                .recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(line) => line,
                Err(error) => panic!("no line {message:?} ({error}) after {:#?}", self.log),
            };
            let line: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            self.log.push(line.clone());
            if line["msg"] == message {
                return line;
            }
        }
    }

    /// The first line with this message, whether it has been read or not.
    pub fn line(&mut self, message: &str) -> Value {
        let mut log = self.log.iter();
        match log.find(|line| line["msg"] == message).cloned() {
            Some(line) => line,
            None => self.wait_for(message),
        }
    }

    /// Every line until the log is closed, including those that were already read.
    pub fn whole_log(&mut self) -> Vec<Value> {
        loop {
            match self.lines.recv_timeout(TIMEOUT) {
                Ok(line) => self
                    .log
                    .push(serde_json::from_str(&line).expect("a line of JSON")),
                Err(RecvTimeoutError::Disconnected) => return self.log.clone(),
                Err(RecvTimeoutError::Timeout) => panic!("the log does not end: {:#?}", self.log),
            }
        }
    }

    /// The process id.
    pub fn id(&self) -> String {
        self.process.id().to_string()
    }

    /// Sends a signal, by its name without `SIG`.
    pub fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", name, &id])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Waits for the process to end.
    pub fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + TIMEOUT;
        while Instant::now() < end {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not end: {:#?}", self.log);
    }

    /// A connection to it, without TLS.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.url.strip_prefix("http://").unwrap()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(command: &mut Command) -> (Child, Receiver<String>) {
    let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
    let log = BufReader::new(process.stderr.take().unwrap());
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        log.lines()
            .map_while(Result::ok)
            .all(|line| sender.send(line).is_ok())
    });
    (process, lines)
}

/// Reads until the other side closes.
pub fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that is reset has ended too.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
