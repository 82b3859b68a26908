//! A disk that takes seconds to confirm a change: who waits for it, and who does not.

use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::document::repository;

use super::ask_over;
use crate::operations::Operated;
use crate::place::Place;

/// Longer than a change waits (`WRITE_TIMEOUT`, 5 s).
const DELAY: &str = "7000";

/// Starts a server whose disk is as slow as the file `slow` in its folder says.
fn start(place: &Place) -> Operated {
    let library = place.path("slow.so");
    let source = repository().join("tests/cli/disk/slow.c");
    let mut compiler = Command::new("cc");
    let options = ["-shared", "-fPIC", "-Wall", "-Werror", "-o"];
    let made = compiler.args(options).arg(&library).arg(source).arg("-ldl");
    assert!(made.status().unwrap().success());
    Operated::start_with(place, &["--rate-limit", "off"], |command| {
        command
            .env("LD_PRELOAD", &library)
            .env("SLOW_DISK", place.path("slow"));
    })
}

#[test]
fn a_slow_disk_refuses_changes_in_time_and_hinders_no_reader() {
    let place = Place::new();
    let operated = start(&place);
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let create = ["api-key", "create", "--team", &team, "--mode", "live"];
    let key = place.json(&[&create[..], &["--scope", "read-write"]].concat());
    let key = key["key"].as_str().unwrap();
    let product = json!({ "name": "A", "unitPrice": 1, "currency": "EUR" }).to_string();
    let connect = || operated.server.connect();
    let post = |stream: TcpStream, idempotency_key: &str| {
        let line = format!("Idempotency-Key: {idempotency_key}\r\n");
        ask_over(stream, "POST", "/api/v1/products", key, &line, &product)
    };
    let list = || {
        let begun = Instant::now();
        let (status, page) = ask_over(connect(), "GET", "/api/v1/products", key, "", "");
        assert_eq!(status, 200, "{page}");
        let page: Value = serde_json::from_str(&page).unwrap();
        (
            page["data"]["data"].as_array().unwrap().len(),
            begun.elapsed(),
        )
    };
    assert_eq!(
        post(connect(), "b3a1c1f0-0000-4000-8000-000000000001").0,
        201
    );

    place.write("slow", DELAY);
    let late = "b3a1c1f0-0000-4000-8000-000000000002";
    std::thread::scope(|scope| {
        let begun = Instant::now();
        let stream = connect();
        let change = scope.spawn(|| post(stream, late));
        while !change.is_finished() {
            let (_, took) = list();
            assert!(took < Duration::from_secs(2), "a reader waited {took:?}");
        }
        let (status, said) = change.join().unwrap();
        assert_eq!(status, 503, "{said}");
        let took = begun.elapsed();
        assert!((4..12).contains(&took.as_secs()), "{took:?}");
    });
    // This is left to monitoring: a server that still serves reads is more useful than none.
    assert_eq!(operated.get("/readyz").0, 200);

    std::fs::remove_file(place.path("slow")).unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while post(connect(), late).0 == 503 {
        assert!(Instant::now() < end, "changes are refused for ever");
        std::thread::sleep(Duration::from_millis(100));
    }
    // A refused caller does not know the outcome, and may ask again: in any case, the change is made once.
    assert_eq!(post(connect(), late).0, 201);
    assert_eq!(list().0, 2);
    let slow = operated.number("invoicing_write_transaction_duration_seconds_sum");
    assert!(slow > 5.0, "{slow}");
}
