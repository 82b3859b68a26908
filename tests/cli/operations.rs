//! The listener for operators, and how a server leaves its balancer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::Place;
use crate::server::{Server, read_all};

/// A server with a known operations listener.
pub(crate) struct Operated {
    pub(crate) server: Server,
    pub(crate) operations: String,
}

impl Operated {
    pub(crate) fn start(place: &Place, options: &[&str]) -> Self {
        Self::start_with(place, options, |_| ())
    }

    /// Starts one after changing its command.
    pub(crate) fn start_with(
        place: &Place,
        options: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let serve = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--operations-listen",
            "127.0.0.1:0",
        ];
        let mut command = place.command([&serve, options].concat());
        change(&mut command);
        let mut server = Server::start(&mut command);
        let line = server.wait_for("listening for operators");
        let url = line["url"].as_str().unwrap();
        Self {
            server,
            operations: url.strip_prefix("http://").unwrap().to_owned(),
        }
    }

    /// The listener's answer: the status and the body.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let (head, body) = self.answer("GET", path);
        (head[9..12].parse().unwrap(), body)
    }

    /// The listener's answer: the head, in lower case, and the body.
    fn answer(&self, method: &str, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.operations).unwrap();
        let request = format!("{method} {path} HTTP/1.1\r\nHost: test\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let answer = read_all(&mut stream);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), body.to_owned())
    }

    /// The value of a series without labels.
    pub(crate) fn number(&self, series: &str) -> f64 {
        let page = self.get("/metrics").1;
        let mut numbers = page.lines().filter_map(|it| it.strip_prefix(series));
        let number = numbers.find_map(|it| it.strip_prefix(' '));
        number
            .unwrap_or_else(|| panic!("{series} is not among: {page}"))
            .parse()
            .unwrap()
    }

    /// Whether requests should be sent to the server, and its reasons.
    fn ready(&self) -> (u16, Value) {
        let (status, body) = self.get("/readyz");
        (status, serde_json::from_str(&body).unwrap())
    }
}

/// A request on a connection that the client wants to keep. Returns the head of its answer, in lower case.
fn list_products(stream: &mut BufReader<TcpStream>) -> String {
    let request = b"GET /api/v1/products HTTP/1.1\r\nHost: test\r\n\r\n";
    stream.get_mut().write_all(request).unwrap();
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(
            stream.read_line(&mut head).unwrap(),
            0,
            "closed after {head:?}"
        );
    }
    let head = head.to_ascii_lowercase();
    let (_, length) = head.split_once("content-length: ").unwrap();
    let length = length.split_once('\r').unwrap().0.parse().unwrap();
    stream.read_exact(&mut vec![0; length]).unwrap();
    head
}

#[test]
fn there_is_no_listener_for_operators_unless_it_is_asked_for() {
    let place = Place::new();
    let mut server = Server::start(&mut place.command(["serve", "--listen", "127.0.0.1:0"]));
    server.signal("TERM");
    server.wait();
    let log = server.whole_log();
    assert!(
        log.iter()
            .all(|line| line["msg"] != "listening for operators"),
        "{log:#?}"
    );
}

#[test]
fn a_server_that_is_well_is_alive_and_ready_and_counts() {
    let place = Place::new();
    let operated = Operated::start(&place, &[]);
    assert_eq!(
        operated.get("/healthz"),
        (200, json!({ "alive": true }).to_string())
    );
    assert_eq!(operated.ready(), (200, json!({ "ready": true })));
    list_products(&mut BufReader::new(operated.server.connect()));
    let (status, page) = operated.get("/metrics");
    let counted = "invoicing_requests_total{operation=\"list_products\",status=\"4xx\"} 1";
    assert!(
        status == 200 && page.lines().any(|line| line == counted),
        "{page}"
    );
}

#[test]
fn the_listener_for_operators_answers_head_as_get_without_a_body_and_nothing_else() {
    let place = Place::new();
    let operated = Operated::start(&place, &[]);
    for path in ["/healthz", "/readyz", "/metrics", "/elsewhere"] {
        let (got, _) = operated.answer("GET", path);
        let (head, body) = operated.answer("HEAD", path);
        // Each page of metrics has different numbers, and so its own length.
        let comparable = |head: String| -> Vec<String> {
            let lines = head.lines().filter(|line| !line.starts_with("date:"));
            let lines = lines.map(|line| match line.split_once("content-length: ") {
                Some(("", length)) if path == "/metrics" => {
                    assert!(length.parse::<usize>().unwrap() > 10_000, "{line}");
                    "content-length".to_owned()
                }
                _ => line.to_owned(),
            });
            lines.collect()
        };
        assert_eq!((comparable(head), body.as_str()), (comparable(got), ""));
    }
    let (head, _) = operated.answer("POST", "/healthz");
    assert!(head.starts_with("http/1.1 405 "), "{head}");
    assert!(head.contains("\r\nallow: get, head\r\n"), "{head}");
    assert!(head.contains("\r\ncache-control: no-store\r\n"), "{head}");
    assert_eq!(operated.get("/elsewhere").0, 404);
}

#[test]
fn the_published_listener_knows_nothing_of_operations() {
    let place = Place::new();
    let operated = Operated::start(&place, &[]);
    for path in ["/healthz", "/readyz", "/metrics"] {
        let mut stream = operated.server.connect();
        let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        assert!(read_all(&mut stream).starts_with("HTTP/1.1 404 "), "{path}");
    }
}

#[test]
fn a_server_whose_database_lacks_a_migration_is_alive_and_not_ready() {
    let place = Place::new();
    let operated = Operated::start(&place, &[]);
    let database = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    database.pragma_update(None, "user_version", 1).unwrap();
    let not_ready = json!({ "ready": false, "failing": ["migrations"] });
    assert_eq!(operated.ready(), (503, not_ready));
    assert_eq!(operated.get("/healthz").0, 200);
}

#[test]
fn a_server_that_drains_is_not_ready_and_answers_every_kept_connection_once_more() {
    let place = Place::new();
    let mut operated = Operated::start(&place, &["--drain-delay", "600"]);
    let mut kept: Vec<_> = (0..3)
        .map(|_| BufReader::new(operated.server.connect()))
        .collect();
    for stream in &mut kept {
        assert!(!list_products(stream).contains("connection: close"));
    }
    operated.server.signal("TERM");
    operated.server.wait_for("draining");
    // At once, without asking the database, which may be slow.
    let database = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    database.pragma_update(None, "user_version", 1).unwrap();
    let not_ready = json!({ "ready": false, "failing": ["draining"] });
    assert_eq!(operated.ready(), (503, not_ready));
    assert_eq!(operated.get("/healthz").0, 200);

    kept.push(BufReader::new(operated.server.connect()));
    for stream in &mut kept {
        let head = list_products(stream);
        assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the server closes it");
    }
    operated.server.signal("TERM");
    operated
        .server
        .wait_for("stopped at once, as a second signal asked");
    assert_eq!(operated.server.wait().code(), Some(0));
}

#[test]
fn a_server_that_has_drained_finishes_what_runs() {
    let place = Place::new();
    let mut operated = Operated::start(&place, &["--drain-delay", "1"]);
    let mut running = operated.server.connect();
    let head = "POST /api/auth/mobile/token HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n";
    running.write_all(head.as_bytes()).unwrap();
    // The server has the request once it has answered a later one on another connection.
    list_products(&mut BufReader::new(operated.server.connect()));
    operated.server.signal("TERM");
    operated.server.wait_for("stopping: finishing what runs");
    let not_ready = json!({ "ready": false, "failing": ["draining"] });
    assert_eq!(
        operated.ready(),
        (503, not_ready),
        "the listener stays until the end"
    );
    running.write_all(b"{}").unwrap();
    assert!(read_all(&mut running).starts_with("HTTP/1.1 400 "));
    operated.server.wait_for("stopped");
    assert_eq!(operated.server.wait().code(), Some(0));
}

#[test]
fn a_listener_for_operators_on_a_taken_port_fails_with_1() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = place.run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--operations-listen",
        &address,
    ]);
    said.failed(1, "Choose another with --operations-listen");
}
