//! Ctrl-Z suspends a command between two of its steps: within one, it would keep everybody else from writing.

use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::place::Place;
use crate::product::{export, import, lines, noting, place, signal};
use crate::server::TIMEOUT;

#[test]
fn an_import_is_suspended_between_two_steps() {
    let place = place();
    place.write("p.csv", lines(10_000));
    suspend_within_a_step(&place, noting(&place));
    assert_eq!(export(&place, &[]).lines().count(), 10_001);
}

#[test]
fn a_deletion_is_suspended_between_two_steps() {
    let place = place();
    place.write("p.csv", lines(10_000));
    place.json(&import(&[]));
    let mut delete = place.command(["team", "delete", "Acme", "--confirm", "Acme"]);
    let process = delete
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    // Its first change is no step.
    let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    let products = "SELECT count(*) FROM product";
    let end = Instant::now() + TIMEOUT;
    while file.query_one(products, [], |row| row.get(0)) == Ok(10_000) {
        assert!(Instant::now() < end, "nothing is deleted");
    }
    suspend_within_a_step(&place, process);
    assert_eq!(file.query_one(products, [], |row| row.get(0)), Ok(0));
}

/// Suspends the process while it keeps others from writing, sees that they may write once it is suspended, and lets it end.
fn suspend_within_a_step(place: &Place, mut process: Child) {
    let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    let write = || file.execute_batch("BEGIN IMMEDIATE; ROLLBACK");
    let end = Instant::now() + TIMEOUT;
    file.busy_timeout(Duration::ZERO).unwrap();
    while write().is_ok() {
        assert!(Instant::now() < end, "it is never within a step");
    }
    signal(&process, "TSTP");
    let stat = format!("/proc/{}/stat", process.id());
    while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
        assert!(Instant::now() < end, "it goes on");
        std::thread::sleep(Duration::from_millis(1));
    }
    file.busy_timeout(TIMEOUT / 10).unwrap();
    let written = write();
    signal(&process, "CONT");
    written.expect("others may write");
    assert_eq!(process.wait().unwrap().code(), Some(0));
}
