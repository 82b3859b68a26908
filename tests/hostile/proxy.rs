//! A proxy in front of a service, with the configuration from `packaging/`: that file itself except for addresses,
//! certificate and places to write to, so that it runs on a free loopback port without privileges.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use test_support::caller::Caller;
use test_support::port;
use test_support::service::Service;

use crate::attack::Target;
use crate::certificate::Certificate;

/// Longer than startup takes on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Which proxy.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Haproxy,
    Nginx,
}

/// A running proxy.
pub struct Proxy {
    process: Child,
    address: SocketAddr,
    certificate: Certificate,
    /// The folder it writes to.
    _folder: TempDir,
}

impl Proxy {
    /// Starts one in front of this service.
    pub fn start(kind: Kind, service: &Service) -> Self {
        Self::start_with(kind, service, "")
    }

    /// The same, with more in its configuration: behind the `http` of nginx, or the end for haproxy.
    pub fn start_with(kind: Kind, service: &Service, more: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("invoicing-proxy-")
            .tempdir()
            .expect("a temporary folder can be made");
        let certificate = Certificate::new();
        let (pem, key) = (&certificate.pem, &certificate.key);
        write(folder.path(), "cert.pem", pem);
        write(folder.path(), "key.pem", key);
        write(folder.path(), "both.pem", &format!("{pem}{key}"));
        let address = SocketAddr::from(([127, 0, 0, 1], port::free()));
        let upstream = service.caller.base_url().replace("http://", "");
        let process = match kind {
            Kind::Haproxy => haproxy(folder.path(), address, &upstream, more),
            Kind::Nginx => nginx(folder.path(), address, &upstream, more),
        };
        let mut proxy = Self {
            process,
            address,
            certificate,
            _folder: folder,
        };
        proxy.wait_until_it_listens(kind);
        proxy
    }

    /// Calls the service through it.
    pub fn caller(&self) -> Caller {
        Caller::through_proxy(format!("https://{}", self.address), &self.certificate.pem)
    }

    /// The target of attackers.
    pub fn target(&self) -> Target {
        Target::over_tls(self.address, self.certificate.client())
    }

    fn wait_until_it_listens(&mut self, kind: Kind) {
        let end = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(self.address).is_err() {
            let ended = self.process.try_wait().expect("it is ours");
            assert!(
                ended.is_none() && Instant::now() < end,
                "{kind:?} does not start"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // nginx ends its workers on TERM, and cannot on KILL.
        let id = self.process.id().to_string();
        let _ = Command::new("kill").args(["-s", "TERM", &id]).status();
        let _ = self.process.wait();
    }
}

fn haproxy(folder: &Path, address: SocketAddr, upstream: &str, more: &str) -> Child {
    let text = replaced(
        include_str!("../../packaging/haproxy.cfg"),
        &[
            ("*:443", &address.to_string()),
            ("/etc/haproxy/invoicing.pem", &path(folder, "both.pem")),
            (
                "server service 127.0.0.1:8080",
                &format!("server service {upstream}"),
            ),
            (
                "server documentation 127.0.0.1:8080",
                &format!("server documentation {upstream}"),
            ),
        ],
    );
    let file = write(folder, "haproxy.cfg", &(text + more));
    spawn(Command::new("haproxy").args(["-db", "-f", &file]), folder)
}

fn nginx(folder: &Path, address: SocketAddr, upstream: &str, more: &str) -> Child {
    let own_places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("\n    {name}_temp_path {};", path(folder, name)))
        .concat();
    let text = replaced(
        include_str!("../../packaging/nginx.conf"),
        &[
            ("listen 443", &format!("listen {address}")),
            ("/etc/nginx/invoicing.crt", &path(folder, "cert.pem")),
            ("/etc/nginx/invoicing.key", &path(folder, "key.pem")),
            // Two servers, as in front of replicas.
            (
                "server 127.0.0.1:8080 max_fails=0;",
                &format!("server {upstream} max_fails=0; server {upstream} max_fails=0;"),
            ),
            (
                "server 127.0.0.1:8080 max_conns",
                &format!("server {upstream} max_conns"),
            ),
            ("/run/nginx.pid", &path(folder, "nginx.pid")),
            ("/var/log/nginx/error.log", &path(folder, "error.log")),
            ("http {", &format!("http {{{own_places}\n{more}")),
        ],
    );
    let file = write(folder, "nginx.conf", &text);
    let log = path(folder, "error.log");
    let binary = ["/usr/sbin/nginx", "nginx"];
    let binary = binary.into_iter().find(|binary| Path::new(binary).exists());
    spawn(
        Command::new(binary.unwrap_or("nginx"))
            .args(["-c", &file, "-e", &log])
            // If root runs the tests, the folder is not readable for other users.
            .args(["-g", "daemon off; user root;"]),
        folder,
    )
}

fn spawn(command: &mut Command, folder: &Path) -> Child {
    let log = std::fs::File::create(folder.join("output.log")).expect("the folder can be written");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("the proxy can be run; .ci/install installs it")
}

/// Replaces each of these in the text, which must contain it exactly once.
fn replaced(text: &str, replacements: &[(&str, &str)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (from, to) in replacements {
        let mut found = lines
            .iter_mut()
            .filter(|line| !line.trim_start().starts_with('#') && line.contains(from));
        let line = found
            .next()
            .unwrap_or_else(|| panic!("no line has {from:?}"));
        *line = line.replace(from, to);
        assert!(found.next().is_none(), "more than one line has {from:?}");
    }
    lines.join("\n") + "\n"
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    std::fs::write(folder.join(name), text).expect("the folder can be written");
    path(folder, name)
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}
