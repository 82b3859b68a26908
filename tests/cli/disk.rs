//! A disk that accepts no more writes: the answers meanwhile, and afterwards.
//!
//! The server may write files up to some size and no further (`RLIMIT_FSIZE`, its signal ignored), which needs no
//! permission to mount anything. To SQLite it looks like a failing disk. The limit is lifted while the server runs
//! (`prlimit`).

mod slow;

use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::postgres::Cluster;

use crate::place::Place;
use crate::server::{Server, read_all};

/// The limit in KiB for each file: more than the files of a new database, and less than the log of changes grows
/// between two checkpoints.
const LIMIT: u32 = 3_000;

/// Longer than it takes to find out that a disk accepts changes again.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Starts a server with this limit. Also returns the address of its operations listener.
fn start(place: &Place) -> (Server, String) {
    let serve = place.command([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--operations-listen",
        "127.0.0.1:0",
        "--rate-limit",
        "off",
    ]);
    let mut limited = Command::new("bash");
    let script = format!("trap '' XFSZ; ulimit -S -f {LIMIT}; exec \"$0\" \"$@\"");
    limited
        .args(["-c", &script])
        .arg(serve.get_program())
        .args(serve.get_args())
        .current_dir(place.path(""))
        .stdin(Stdio::null());
    for (name, _) in serve.get_envs() {
        limited.env_remove(name);
    }
    let mut server = Server::start(&mut limited);
    let line = server.wait_for("listening for operators");
    let operations = line["url"].as_str().unwrap().to_owned();
    (server, operations)
}

fn ready(operations: &str) -> (u16, Value) {
    let address = operations.strip_prefix("http://").unwrap_or(operations);
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(b"GET /readyz HTTP/1.1\r\nHost: test\r\n\r\n")
        .unwrap();
    let answer = read_all(&mut stream);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (
        head[9..12].parse().unwrap(),
        serde_json::from_str(body).unwrap(),
    )
}

/// Asks until this is the answer.
fn wait_until_ready_is(operations: &str, expected: (u16, Value)) {
    let end = Instant::now() + TIMEOUT;
    while ready(operations) != expected {
        assert!(Instant::now() < end, "{:?}", ready(operations));
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The status of the answer, and its body.
fn ask(server: &Server, method: &str, path: &str, key: &str, body: &str) -> (u16, String) {
    ask_over(server.connect(), method, path, key, "", body)
}

/// The same for a request over this connection, with more lines in its head.
fn ask_over(
    mut stream: TcpStream,
    method: &str,
    path: &str,
    key: &str,
    lines: &str,
    body: &str,
) -> (u16, String) {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         {lines}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let answer = read_all(&mut stream);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

#[test]
fn a_disk_that_takes_nothing_more_refuses_changes_reads_on_and_is_told_by_readyz_until_it_takes_them()
 {
    let place = Place::new();
    let (server, operations) = start(&place);
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let create = ["api-key", "create", "--team", &team, "--mode", "live"];
    let key = place.json(&[&create[..], &["--scope", "read-write"]].concat());
    let key = key["key"].as_str().unwrap();
    assert_eq!(ready(&operations), (200, json!({ "ready": true })));

    let description = "x".repeat(1_000);
    let product =
        json!({ "name": "A", "unitPrice": 1, "currency": "EUR", "description": description })
            .to_string();
    let mut ids = Vec::new();
    let refused = loop {
        let (status, body) = ask(&server, "POST", "/api/v1/products", key, &product);
        if status != 201 {
            break (status, body);
        }
        let made: Value = serde_json::from_str(&body).unwrap();
        ids.push(made["data"]["id"].as_str().unwrap().to_owned());
        assert!(ids.len() < 5_000, "the disk is never full");
    };
    assert_eq!(refused.0, 503, "{}", refused.1);

    let not_ready = json!({ "ready": false, "failing": ["writes"] });
    wait_until_ready_is(&operations, (503, not_ready));
    let path = format!("/api/v1/products/{}", ids[0]);
    for (method, path, body, status) in [
        ("GET", "/api/v1/products", "", 200),
        ("GET", &path, "", 200),
        ("POST", "/api/v1/products", &product, 503),
        ("PATCH", &path, "{\"name\":\"B\"}", 503),
        ("DELETE", &path, "", 503),
    ] {
        let (found, said) = ask(&server, method, path, key, body);
        assert_eq!(found, status, "{method} {path}: {said}");
        assert!(status == 200 || said.contains("\"unavailable\""), "{said}");
    }

    let lifted = Command::new("prlimit")
        .args(["--pid", &server.id(), "--fsize=unlimited:unlimited"])
        .status();
    assert!(lifted.unwrap().success());
    wait_until_ready_is(&operations, (200, json!({ "ready": true })));
    assert_eq!(
        ask(&server, "POST", "/api/v1/products", key, &product).0,
        201
    );
    for id in &ids {
        let path = format!("/api/v1/products/{id}");
        assert_eq!(
            ask(&server, "GET", &path, key, "").0,
            200,
            "an acknowledged product is lost"
        );
    }
}

#[test]
fn probes_of_a_server_that_does_nothing_else_write_a_page_every_ten_seconds_at_most() {
    let place = Place::new();
    let (_server, operations) = start(&place);
    assert_eq!(ready(&operations).0, 200);
    let length = || place.path("invoicing.db-wal").metadata().unwrap().len();
    let (before, begun) = (length(), Instant::now());
    for _ in 0..200 {
        assert_eq!(ready(&operations).0, 200);
    }
    let probes = 1 + begun.elapsed().as_secs() / 10;
    // A page with its frame header.
    assert!(
        length() <= before + probes * (4_096 + 24),
        "{} more",
        length() - before
    );
}

#[test]
fn postgresql_that_is_read_only_makes_a_replica_not_ready_until_it_takes_changes_again() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let place = Place::new();
    let on = ["--database", &url];
    let team = place.make(&[&["team", "create", "--name", "Acme"], &on[..]].concat());
    let create = ["api-key", "create", "--team", &team, "--mode", "live"];
    let key = place.json(&[&create[..], &["--scope", "read-write"], &on].concat());
    let key = key["key"].as_str().unwrap();
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--operations-listen",
        "127.0.0.1:0",
        "--database",
        &url,
    ];
    let mut server = Server::start(&mut place.command(serve));
    let line = server.wait_for("listening for operators");
    let operations = line["url"].as_str().unwrap();
    wait_until_ready_is(operations, (200, json!({ "ready": true })));
    let set = |value: &str| {
        cluster.ask(
            "postgres",
            &format!("ALTER SYSTEM SET default_transaction_read_only = {value}"),
        );
        cluster.ask("postgres", "SELECT pg_reload_conf()");
    };
    let product = json!({ "name": "A", "unitPrice": 1, "currency": "EUR" }).to_string();
    let asks = |method: &str, body: &str| ask(&server, method, "/api/v1/products", key, body);
    assert_eq!(asks("POST", &product).0, 201);
    set("on");
    let not_ready = (503, json!({ "ready": false, "failing": ["writes"] }));
    wait_until_ready_is(operations, not_ready.clone());
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE application_name = 'invoicing'";
    // Through the connections from before, and through new ones.
    for _ in 0..2 {
        for _ in 0..3 {
            let (status, said) = asks("POST", &product);
            assert_eq!(status, 503, "{said}");
            assert!(said.contains("\"unavailable\""), "{said}");
            let (status, said) = asks("GET", "");
            assert_eq!(
                (status, said.matches("\"sku\"").count()),
                (200, 1),
                "{said}"
            );
        }
        cluster.ask("postgres", cut);
        wait_until_ready_is(operations, not_ready.clone());
    }
    set("off");
    wait_until_ready_is(operations, (200, json!({ "ready": true })));
    assert_eq!(asks("POST", &product).0, 201);

    // Sessions that start meanwhile stay read-only for as long as they last.
    let name = url.rsplit('/').next().unwrap().split('?').next().unwrap();
    let of_database = |setting: &str| {
        cluster.ask("postgres", &format!("ALTER DATABASE {name} {setting}"));
    };
    of_database("SET default_transaction_read_only = on");
    cluster.ask("postgres", cut);
    wait_until_ready_is(operations, not_ready);
    assert_eq!((asks("POST", &product).0, asks("GET", "").0), (503, 200));
    of_database("RESET default_transaction_read_only");
    wait_until_ready_is(operations, (200, json!({ "ready": true })));
    let end = Instant::now() + TIMEOUT;
    while asks("POST", &product).0 != 201 {
        assert!(Instant::now() < end, "a change is refused for ever");
    }
}
