//! Requests of strangers are counted instead of filling the log.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use futures::future::join_all;
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::caller::{Caller, Request};

#[path = "../cli/server.rs"]
#[expect(dead_code, reason = "the tests of the command line ask more of it")]
mod server;

use server::Server;

const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

/// Lines that one address gets per minute.
const IN_FULL: usize = 20;

/// A server whose log is read.
struct Noisy {
    server: Server,
    caller: Caller,
    folder: TempDir,
}

impl Noisy {
    /// Starts a server without rate limits.
    fn start(options: &[&str]) -> Self {
        Self::start_limited(&[&["--rate-limit", "off"], options].concat())
    }

    fn start_limited(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let server = Server::start(&mut command(&folder, &[&serve, options].concat()));
        let caller = Caller::new(server.url.as_str());
        Self {
            server,
            caller,
            folder,
        }
    }

    /// The output of a command.
    fn run(&self, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--json"]].concat();
        let output = command(&self.folder, &arguments).output();
        let output = output.expect("the binary can be run");
        serde_json::from_slice(&output.stdout).expect("a command prints JSON")
    }

    async fn send(&self, request: Request) -> u16 {
        let sent = self.caller.send_unchecked(request.clone()).await;
        sent.unwrap_or_else(|error| panic!("no answer: {error:?}\n{request:?}"))
            .status
    }

    /// A read-write key of a new team, and its id.
    fn new_key(&self) -> (String, Value) {
        let team = self.run(&["team", "create", "--name", "noise"]);
        let team = team["id"].as_str().expect("an id");
        let make = ["api-key", "create", "--team", team, "--mode", "live"];
        let key = self.run(&[&make[..], &["--scope", "read-write"]].concat());
        let text = key["key"].as_str().expect("a key");
        (text.to_owned(), key["id"].clone())
    }

    /// Stops the server, and returns its whole log.
    fn log(mut self) -> Vec<Value> {
        self.server.signal("TERM");
        assert!(self.server.wait().success());
        self.server.whole_log()
    }

    /// Stops the server, and returns its lines about requests, then those that count other requests.
    fn lines(self) -> (Vec<Value>, Vec<Value>) {
        let log = self.log();
        let of = |message: &str| {
            let lines = log.iter().filter(|line| line["msg"] == message);
            lines.cloned().collect()
        };
        let lines = (of("request"), of("requests without a line of their own"));
        assert!(
            log.iter().all(|line| line["level"] != "error"),
            "a stranger causes no error: {log:#?}"
        );
        lines
    }
}

fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("INVOICING_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).current_dir(folder.path());
    command
}

/// How many lines an address has, and how many of its requests are counted.
fn of(lines: &(Vec<Value>, Vec<Value>), address: &str) -> (usize, u64) {
    let is_its = |line: &&Value| line["client_address"] == address;
    let told = lines.0.iter().filter(is_its).count();
    let counted = lines.1.iter().filter(is_its);
    (
        told,
        counted.filter_map(|line| line["count"].as_u64()).sum(),
    )
}

#[tokio::test]
async fn an_address_that_is_refused_again_and_again_has_few_lines_and_a_count() {
    let noisy = Noisy::start(&["--operations-listen", "127.0.0.1:0"]);
    let mut noisy = noisy;
    let operators = noisy.server.wait_for("listening for operators")["url"].clone();
    let refused = [
        (401, Request::new("GET", "/api/v1/products")),
        (
            401,
            Request::new("GET", "/api/v1/products").bearer("inv_live_none"),
        ),
        (404, Request::new("GET", "/nothing")),
        (404, Request::new("GET", "//api/v1/products")),
        (405, Request::new("PUT", "/api/v1/products")),
        (405, Request::new("FOO", "/api/v1/products")),
        (
            400,
            Request::new("POST", "/api/auth/mobile/token").text("{"),
        ),
        (200, Request::new("GET", "/docs/page.css")),
    ];
    for _ in 0..50 {
        for (status, request) in &refused {
            assert_eq!(noisy.send(request.clone()).await, *status, "{request:?}");
        }
    }
    let metrics = Caller::new(operators.as_str().expect("a url"));
    let page = metrics
        .send_unchecked(Request::new("GET", "/metrics"))
        .await;
    let page = String::from_utf8(page.expect("an answer comes").body).expect("text");
    // Each of them twice: 401, 404 and 405.
    for operation in ["list_products", "no_route", "no_method"] {
        let counted =
            format!("invoicing_requests_total{{operation=\"{operation}\",status=\"4xx\"}} 100");
        assert!(
            page.lines().any(|line| line == counted),
            "{counted}: {page}"
        );
    }

    let lines = noisy.lines();
    // For wrong credentials, for unknown paths, and for the rest.
    let written = 3 * IN_FULL;
    assert_eq!(lines.0.len(), written, "{:#?}", lines.0);
    assert_eq!(of(&lines, "127.0.0.1"), (written, 400 - written as u64));
    assert_eq!(lines.1.len(), 1, "{:#?}", lines.1);
}

#[tokio::test]
async fn preflights_have_no_more_lines_than_other_requests_of_a_stranger() {
    const PAGE: &str = "https://app.example.com";
    let noisy = Noisy::start(&["--cors-origins", PAGE]);
    for _ in 0..3 * IN_FULL {
        let preflight = Request::new("OPTIONS", "/api/v1/products").header("origin", PAGE);
        let preflight = preflight.header("access-control-request-method", "POST");
        assert_eq!(noisy.send(preflight).await, 204);
    }
    let lines = noisy.lines();
    assert_eq!(of(&lines, "127.0.0.1"), (IN_FULL, 2 * IN_FULL as u64));
}

fn revoke(token: &str) -> Request {
    Request::new("POST", "/api/auth/mobile/revoke")
        .text(format!("token={token}&client_id=app"))
        .without_header("content-type")
        .header("content-type", "application/x-www-form-urlencoded")
}

/// An unknown token gets 200 from any caller (RFC 7009, section 2.2); a revocation that ends a session still has its
/// line.
#[tokio::test]
async fn revocations_of_nothing_have_no_more_lines_than_other_requests_of_a_stranger() {
    const BACK: &str = "https://app.example.com/back";
    // The pair of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    let noisy = Noisy::start(&[]);
    let client = ["oauth-client", "create", "--id", "app", "--name", "App"];
    noisy.run(&[&client[..], &["--redirect-uri", BACK]].concat());
    let user = noisy.run(&["user", "create", "--email", "a@example.com", "--name", "A"]);
    let user = user["id"].as_str().expect("an id");
    let issue = ["auth-code", "issue", "--user", user, "--client", "app"];
    let code = ["--redirect-uri", BACK, "--code-challenge", CHALLENGE];
    let code = noisy.run(&[&issue[..], &code].concat());
    let exchange = json!({
        "grant_type": "authorization_code", "code": code["code"], "code_verifier": VERIFIER,
        "redirect_uri": BACK, "client_id": "app",
    });
    let exchange = Request::new("POST", "/api/auth/mobile/token").json(&exchange);
    let tokens = noisy.caller.send_unchecked(exchange).await;
    let tokens: Value = serde_json::from_slice(&tokens.expect("an answer").body).expect("JSON");

    for _ in 0..3 * IN_FULL {
        assert_eq!(noisy.send(revoke("unknown")).await, 200);
    }
    let token = tokens["refresh_token"].as_str().expect("a token");
    for _ in 0..2 {
        assert_eq!(noisy.send(revoke(token)).await, 200);
    }
    let lines = noisy.lines();
    // The exchange and the first revocation of the token add to the lines that strangers get; the second changed
    // nothing.
    let counted = 2 * IN_FULL as u64 + 1;
    assert_eq!(of(&lines, "127.0.0.1"), (IN_FULL + 2, counted));
}

/// Signing out works without being signed in, and reveals nothing.
#[tokio::test]
async fn forms_that_change_nothing_have_no_more_lines_than_other_requests_of_a_stranger() {
    let noisy = Noisy::start(&[]);
    for _ in 0..3 * IN_FULL {
        let sign_out = crate::people::form("/sign-out", "");
        assert_eq!(noisy.send(sign_out).await, 303);
    }
    let lines = noisy.lines();
    assert_eq!(of(&lines, "127.0.0.1"), (IN_FULL, 2 * IN_FULL as u64));
}

#[tokio::test]
async fn a_method_as_long_as_hyper_takes_makes_no_long_line() {
    let noisy = Noisy::start(&[]);
    let long = "A".repeat(60_000);
    for path in ["/api/v1/products", "/nothing"] {
        noisy.send(Request::new(&long, path)).await;
    }
    let (lines, _) = noisy.lines();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    for line in lines {
        // The line itself would fill the screen.
        assert!(line["method"] == "other", "it is the method that was sent");
    }
}

#[tokio::test]
async fn every_request_of_a_known_caller_has_its_line_whatever_strangers_at_its_address_do() {
    let noisy = Noisy::start(&[]);
    let (key, id) = noisy.new_key();
    for _ in 0..3 * IN_FULL {
        let list = Request::new("GET", "/api/v1/products");
        assert_eq!(noisy.send(list.clone().bearer(&key)).await, 200);
        assert_eq!(noisy.send(list).await, 401);
    }
    let lines = noisy.lines();
    let known = lines.0.iter().filter(|line| line["key_id"] == id);
    assert_eq!(known.count(), 3 * IN_FULL);
    // The lines of the key add to those that the stranger gets.
    assert_eq!(of(&lines, "127.0.0.1"), (4 * IN_FULL, 2 * IN_FULL as u64));
}

#[tokio::test]
async fn a_key_beyond_its_limit_has_few_lines_of_that_and_a_count() {
    let noisy = Noisy::start_limited(&["--rate-limit-per-second", "1", "--rate-limit-burst", "30"]);
    let (key, id) = noisy.new_key();
    let mut statuses = Vec::new();
    for _ in 0..200 {
        let list = Request::new("GET", "/api/v1/products").bearer(&key);
        statuses.push(noisy.send(list).await);
    }
    let answered = |status: u16| statuses.iter().filter(|it| **it == status).count();
    let (lines, counts) = noisy.lines();
    let of = |status: u16| lines.iter().filter(|line| line["status"] == status).count();
    assert!(answered(200) >= 30 && answered(429) > 2 * IN_FULL);
    assert_eq!((of(200), of(429)), (answered(200), IN_FULL));
    let [count] = &counts[..] else {
        panic!("{counts:#?}");
    };
    let unwritten = u64::try_from(answered(429) - IN_FULL).expect("it is small");
    assert_eq!(
        (&count["key_id"], &count["count"]),
        (&id, &json!(unwritten))
    );
}

#[tokio::test]
async fn a_database_that_does_not_answer_has_few_lines_and_a_count() {
    let noisy = Noisy::start(&[]);
    let (key, _) = noisy.new_key();
    let file = noisy.folder.path().join("invoicing.db");
    let database = Connection::open(file).expect("it is a database");
    let locked = database.execute_batch("BEGIN IMMEDIATE");
    locked.expect("no request holds a lock for long");
    let create = || {
        let product = json!({ "name": "noise", "unitPrice": 1, "currency": "EUR" });
        let create = Request::new("POST", "/api/v1/products").bearer(&key);
        noisy.send(create.json(&product))
    };
    let answers = join_all((0..2 * IN_FULL).map(|_| create())).await;
    assert_eq!(answers, [503; 2 * IN_FULL]);
    let log = noisy.log();
    let unavailable = "the service cannot answer right now; try again";
    let failures = log.iter().filter(|line| line["msg"] == unavailable);
    assert_eq!(failures.count(), IN_FULL, "{log:#?}");
    let count = |line: &&Value| line["msg"] == "failures without a line of their own";
    let counts: Vec<_> = log.iter().filter(count).collect();
    assert_eq!(counts.len(), 1, "{log:#?}");
    assert_eq!(counts[0]["count"], IN_FULL);
}

#[tokio::test]
async fn the_line_of_a_401_and_of_no_route_behind_a_proxy_names_the_client_and_never_the_proxy() {
    let noisy = Noisy::start(&["--trusted-proxies", "127.0.0.1"]);
    let through = |request: Request, client: &str| {
        // An entry written by the client itself stands on the left, and does not count.
        request.header("x-forwarded-for", format!("203.0.113.9, {client}"))
    };
    for client in ["198.51.100.1", "198.51.100.2"] {
        for _ in 0..2 * IN_FULL {
            let request = Request::new("GET", "/api/v1/products");
            assert_eq!(noisy.send(through(request, client)).await, 401);
        }
    }
    for (status, request) in [
        (404, Request::new("GET", "/nothing")),
        (404, Request::new("GET", "/api/v1/product")),
        (405, Request::new("FOO", "/docs")),
    ] {
        assert_eq!(noisy.send(through(request, "198.51.100.3")).await, status);
    }
    let lines = noisy.lines();
    assert_eq!(of(&lines, "198.51.100.3"), (3, 0));
    for client in ["198.51.100.1", "198.51.100.2"] {
        assert_eq!(of(&lines, client), (IN_FULL, IN_FULL as u64), "{client}");
    }
    for absent in ["127.0.0.1", "203.0.113.9"] {
        assert_eq!(of(&lines, absent), (0, 0), "{absent}");
    }
}

/// The response waits for it for a moment, but nothing that the request has.
#[tokio::test]
async fn a_body_that_does_not_come_is_no_part_of_the_latency_of_its_request() {
    let noisy = Noisy::start(&[]);
    let address = noisy.server.url.trim_start_matches("http://").to_owned();
    for _ in 0..10 {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let head = "POST /api/v1/products HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n";
        stream.write_all(head.as_bytes()).expect("the head is read");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).expect("an answer comes");
        assert_eq!(&answer, b"HTTP/1.1 401");
    }
    let (lines, _) = noisy.lines();
    let latencies = lines.iter().map(|line| line["latency_us"].as_u64());
    let least = latencies.min().flatten().expect("a request has a line");
    assert!(least < 15_000, "{lines:#?}");
}
