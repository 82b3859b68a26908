//! Copies that are interrupted midway.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use invoicing::store::copy::TABLES;
use test_support::postgres::ask;

use super::content::dump;
use super::{copy, empty, empty_postgres, large};
use crate::place::{Place, Said};

/// Longer than anything here takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Starts a copy, waits until it has written something, and sends a signal. Returns how it ended.
fn interrupted(place: &Place, to: &str, signal: &str, begun: impl Fn() -> bool) -> Said {
    let mut command = place.command(["copy", "--from", "sqlite:large.db", "--to", to]);
    let mut process = command
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + TIMEOUT;
    while !begun() && Instant::now() < end {
        assert!(
            process.try_wait().unwrap().is_none(),
            "it ended before the signal"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(&process, signal);
    let output = process.wait_with_output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        output: String::from_utf8(output.stdout).unwrap(),
        errors: String::from_utf8(output.stderr).unwrap(),
    }
}

fn kill(process: &Child, signal: &str) {
    let mut kill = std::process::Command::new("kill");
    let kill = kill.args(["-s", signal, &process.id().to_string()]);
    assert!(kill.status().unwrap().success());
}

#[test]
fn interrupted_midway_nothing_is_left_in_postgresql() {
    let place = Place::new();
    large(&place);
    for (signal, code) in [("KILL", -1), ("INT", 1)] {
        // So that the table to look at exists.
        let to = empty_postgres(&place);
        let size = "SELECT pg_relation_size('idempotency')";
        let said = interrupted(&place, &to, signal, || ask(&to, size) != "0");
        assert_eq!(
            (said.code, said.output.as_str()),
            (code, ""),
            "{}",
            said.errors
        );
        assert!(code != 1 || said.errors.contains("interrupted; nothing was copied"));
        for table in TABLES {
            assert_eq!(
                ask(&to, &format!("SELECT count(*) FROM \"{}\"", table.name)),
                "0"
            );
        }
        copy(&place, "sqlite:large.db", &to);
    }
}

#[test]
fn interrupted_midway_nothing_is_left_in_a_file() {
    let place = Place::new();
    large(&place);
    empty(&place, "before.db");
    for (name, signal, code, left) in [
        ("killed.db", "KILL", -1, true),
        ("stopped.db", "INT", 1, false),
        ("before.db", "INT", 1, true),
    ] {
        let to = format!("sqlite:{name}");
        let log = place.path(&format!("{name}-wal"));
        let begun = || std::fs::metadata(&log).is_ok_and(|log| log.len() > 1_000_000);
        let said = interrupted(&place, &to, signal, begun);
        assert_eq!(
            (said.code, said.output.as_str()),
            (code, ""),
            "{}",
            said.errors
        );
        assert!(code != 1 || said.errors.contains("interrupted; nothing was copied"));
        // A file that it created is removed; one that existed before stays.
        assert_eq!(place.path(name).exists(), left, "{name}");
        if left {
            let rows: usize = dump(&place.path(name)).values().map(Vec::len).sum();
            assert_eq!(rows, 0, "{signal}");
        } else {
            assert!(!log.exists(), "{name}");
        }
        copy(&place, "sqlite:large.db", &to);
    }
}
