//! A test's own haproxy in front of replicas, configured as in `tests/replicas/haproxy.cfg`.

use std::fmt::Write as _;
use std::fs::File;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::port;
use crate::replica::Replica;

/// Longer than startup takes on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running balancer.
#[derive(Debug)]
pub struct Balancer {
    process: Child,
    address: String,
}

impl Balancer {
    /// Starts one in front of these replicas. Its log is `haproxy.log` in `folder`.
    ///
    /// # Panics
    ///
    /// When there is no `haproxy`, which `.ci/install` installs.
    pub fn start<'a>(replicas: impl IntoIterator<Item = &'a Replica>, folder: &Path) -> Self {
        Self::speaking(replicas, folder, "", "")
    }

    /// The same, but clients and replicas speak HTTP/2.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    pub fn start_with_http2<'a>(
        replicas: impl IntoIterator<Item = &'a Replica>,
        folder: &Path,
    ) -> Self {
        // The operations listener is asked as before.
        Self::speaking(replicas, folder, " proto h2", " proto h2 check-proto h1")
    }

    fn speaking<'a>(
        replicas: impl IntoIterator<Item = &'a Replica>,
        folder: &Path,
        to_clients: &str,
        to_replicas: &str,
    ) -> Self {
        let address = format!("127.0.0.1:{}", port::free());
        let listen = format!("{address}{to_clients}");
        let mut text = include_str!("../../replicas/haproxy.cfg").replace("LISTEN", &listen);
        for (number, replica) in replicas.into_iter().enumerate() {
            let (address, operations) = (replica.address(), replica.operations_port());
            let _ = writeln!(
                text,
                "    server replica-{number} {address} check port {operations}{to_replicas}"
            );
        }
        let file = folder.join("haproxy.cfg");
        std::fs::write(&file, text).expect("the folder can be written");
        let log = File::create(folder.join("haproxy.log")).expect("the folder can be written");
        let mut process = Command::new("haproxy")
            .args(["-db", "-f"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("haproxy can be run; .ci/install installs it");
        let end = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(&address).is_err() {
            let ended = process.try_wait().expect("it is ours");
            assert!(
                ended.is_none() && Instant::now() < end,
                "haproxy does not start"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { process, address }
    }

    /// The base URL of requests.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
