//! The contents of a server's log, and how they change while the server runs.

use std::io::{Read as _, Write as _};
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{Place, names};
use crate::server::{Server, read_all};

const SERVE: [&str; 5] = [
    "serve",
    "--listen",
    "127.0.0.1:0",
    "--config",
    "invoicing.toml",
];

/// A server whose settings are in a file.
fn serve(place: &Place, settings: &str) -> Command {
    place.write("invoicing.toml", settings);
    place.command(SERVE)
}

/// The whole answer to a request.
fn answer(server: &Server, request: &str) -> String {
    let mut stream = server.connect();
    stream.write_all(request.as_bytes()).unwrap();
    read_all(&mut stream)
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: test\r\n{headers}Connection: close\r\n\r\n")
}

#[test]
fn a_line_of_a_request_says_who_from_where_why_not_and_how_much() {
    let place = Place::new();
    let mut server = Server::start(&mut serve(&place, "trusted_proxies = [\"127.0.0.1\"]"));
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let create = ["api-key", "create", "--team", &team, "--mode", "live"];
    let key = place.json(&[&create[..], &["--scope", "read-only"]].concat());
    let bearer = format!("Authorization: Bearer {}\r\n", key["key"].as_str().unwrap());
    let known = format!("{bearer}X-Forwarded-For: 203.0.113.9, 198.51.100.7\r\n");

    let body = |answer: &str| answer.split_once("\r\n\r\n").unwrap().1.len();
    let listed = answer(&server, &get("/api/v1/products", &known));
    let line = server.wait_for("request");
    let shown = |name: &str| line[name].clone();
    assert_eq!(shown("client_address"), "198.51.100.7");
    assert_eq!(
        (shown("team_id"), shown("key_id")),
        (json!(team), key["id"].clone())
    );
    assert_eq!(
        (shown("bytes"), shown("error_code")),
        (json!(body(&listed)), Value::Null)
    );

    for (path, headers, code) in [
        ("/api/v1/products?limit=x", known.as_str(), "invalid_query"),
        (
            "/api/v1/products/0190a000-0000-7000-8000-000000000000",
            &known,
            "product_not_found",
        ),
        (
            "/api/v1/products",
            "Authorization: Bearer x\r\n",
            "invalid_token",
        ),
    ] {
        let refused = answer(&server, &get(path, headers));
        assert!(refused.contains(code), "{refused}");
        let line = server.wait_for("request");
        assert_eq!(line["error_code"], code, "{line}");
        assert_eq!(line["bytes"], body(&refused), "{line}");
    }
    // Distinguished only in the log: a caller that sends none has guessed nothing.
    let refused = answer(&server, &get("/api/v1/products", ""));
    assert!(refused.contains("invalid_token"), "{refused}");
    assert_eq!(server.wait_for("request")["error_code"], "no_credential");
    let line = answer(
        &server,
        &get("/wp-login.php?x", "X-Forwarded-For: 198.51.100.8\r\n"),
    );
    assert!(line.starts_with("HTTP/1.1 404 "));
    let line = server.wait_for("request");
    let expected = [
        "time",
        "level",
        "msg",
        "method",
        "route",
        "path",
        "status",
        "latency_us",
        "request_id",
        "client_address",
    ];
    assert_eq!(names(&line), expected);
    assert_eq!(
        (&line["path"], &line["client_address"]),
        (&json!("/wp-login.php"), &json!("198.51.100.8"))
    );
}

#[test]
fn sighup_reads_the_level_and_the_format_of_the_log_again() {
    let place = Place::new();
    let mut server = Server::start(&mut serve(&place, "log_level = \"info\""));
    answer(&server, &get("/nothing/1", ""));
    server.wait_for("request");

    place.write(
        "invoicing.toml",
        "log_level = \"warn\"\nrate_limit_burst = 7\nhsts = 1\n",
    );
    server.signal("HUP");
    let line = server.wait_for("settings that have changed need a restart");
    assert_eq!(
        (&line["level"], &line["settings"]),
        (&json!("warn"), &json!("hsts, rate_limit_burst"))
    );
    answer(&server, &get("/nothing/2", ""));

    place.write(
        "invoicing.toml",
        "log_level = \"debug\"\nrate_limit_burst = 0\n",
    );
    server.signal("HUP");
    let line = server.wait_for("the settings stay as they are");
    let why = "invoicing.toml:2: rate_limit_burst: write a whole number from 1 to 1000000";
    assert_eq!(
        (&line["level"], &line["error"]),
        (&json!("error"), &json!(why))
    );
    answer(&server, &get("/nothing/3", ""));

    place.write("invoicing.toml", "log_level = \"info\"\n");
    server.signal("HUP");
    let line = server.wait_for("settings read again");
    assert_eq!(
        (&line["log_level"], &line["log_format"]),
        (&json!("info"), &json!("auto"))
    );
    answer(&server, &get("/nothing/4", ""));
    server.wait_for("request");
    server.signal("TERM");
    let log = server.whole_log();
    let paths: Vec<_> = log
        .iter()
        .filter(|it| it["msg"] == "request")
        .map(|it| &it["path"])
        .collect();
    assert_eq!(paths, ["/nothing/1", "/nothing/4"]);
}

#[test]
fn sighup_turns_lines_for_programs_into_lines_for_people_and_back() {
    let place = Place::new();
    let log = std::fs::File::create(place.path("log")).unwrap();
    let mut command = serve(&place, "log_format = \"json\"");
    let process = command.stderr(log).spawn().unwrap();
    let server = Server::of(process);
    let wait_for = |text: &str| {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            let mut log = String::new();
            let mut file = std::fs::File::open(place.path("log")).unwrap();
            file.read_to_string(&mut log).unwrap();
            if let Some(line) = log.lines().rev().find(|line| line.contains(text)) {
                return line.to_owned();
            }
            assert!(std::time::Instant::now() < end, "no {text:?} in {log}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    assert!(wait_for("in the database").starts_with('{'));
    place.write("invoicing.toml", "log_format = \"terminal\"");
    server.signal("HUP");
    let line = wait_for("log_format: terminal");
    assert!(
        !line.starts_with('{') && line.contains("settings read again"),
        "{line}"
    );
    place.write("invoicing.toml", "log_format = \"json\"");
    server.signal("HUP");
    assert!(wait_for("\"log_format\":\"json\"").starts_with('{'));
}
