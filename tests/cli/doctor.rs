//! `invoicing doctor`: each check reports good, worth a warning and bad, with each thing really broken.

mod database;
mod files;
mod network;
mod services;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{Place, Said};
use crate::server::Server;

/// A doctor's exit code, and all findings.
fn examine(place: &Place, arguments: &[&str]) -> (i32, Vec<Value>) {
    by(&mut place.command([&["doctor", "--json"], arguments].concat()))
}

fn by(command: &mut Command) -> (i32, Vec<Value>) {
    let said = Said::by(command, "");
    let findings = serde_json::from_str(&said.output);
    let findings =
        findings.unwrap_or_else(|error| panic!("{error}: {} {}", said.output, said.errors));
    (said.code, findings)
}

/// The states of a check, and all of its text.
fn of(findings: &[Value], check: &str) -> (String, String) {
    let its: Vec<_> = findings.iter().filter(|it| it["check"] == check).collect();
    assert!(!its.is_empty(), "no {check} in {findings:#?}");
    let states: Vec<_> = its.iter().map(|it| it["state"].as_str().unwrap()).collect();
    for finding in &its {
        assert_eq!(
            finding["toDo"].is_null(),
            finding["state"] == "good",
            "{finding}"
        );
    }
    (states.join(" "), json!(its).to_string())
}

/// Asserts that a check has these states and this text; that bad states, and nothing else, make the exit code 1.
#[track_caller]
fn expect(place: &Place, arguments: &[&str], check: &str, states: &str, text: &str) {
    let (code, findings) = examine(place, arguments);
    let is_bad = findings.iter().any(|it| it["state"] == "bad");
    assert_eq!(code, i32::from(is_bad), "{findings:#?}");
    let (found, said) = of(&findings, check);
    assert_eq!(found, states, "{said}");
    assert!(said.contains(text), "{text:?} is not in {said}");
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A place with a database of the newest schema, without users.
fn founded() -> Place {
    let place = Place::with_database();
    place.run(&["team", "list"]);
    place
}

#[test]
fn a_server_as_it_should_be_is_good_all_through_and_nothing_changes() {
    let place = Place::new();
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let key = [
        "api-key",
        "create",
        "--team",
        &team,
        "--mode",
        "live",
        "--scope",
        "read-only",
    ];
    place.json(&key);
    place.make(&[
        "user",
        "create",
        "--email",
        "ada@example.com",
        "--name",
        "Ada",
    ]);
    place.write(
        "invoicing.toml",
        "origin = \"https://invoices.example.com\"\ntrusted_proxies = [\"127.0.0.1\"]\nmax_concurrent_requests = 10\n",
    );
    mode(&place.path("invoicing.toml"), 0o640);
    let content = || {
        let names = place
            .path("")
            .read_dir()
            .unwrap()
            .map(|it| it.unwrap().path());
        let mut files: Vec<_> = names
            .map(|it| (it.clone(), std::fs::read(it).unwrap()))
            .collect();
        files.sort();
        files
    };
    let before = content();
    let (code, findings) = examine(&place, &["--config", "invoicing.toml"]);
    let not_good: Vec<_> = findings.iter().filter(|it| it["state"] != "good").collect();
    // The disk is the real one of this machine.
    let not_good: Vec<_> = not_good
        .into_iter()
        .filter(|it| it["check"] != "disk")
        .collect();
    assert!(not_good.is_empty(), "{not_good:#?}");
    assert_eq!(code, 0);
    assert!(content() == before, "a file has changed");

    let text = place.run(&["doctor", "--config", "invoicing.toml"]);
    assert_eq!((text.code, text.errors.as_str()), (0, ""));
    for finding in findings.iter().filter(|it| it["state"] == "good") {
        let found = finding["found"].as_str().unwrap();
        let line = |it: &str| it.starts_with("good  ") && it.ends_with(found);
        assert!(
            finding["check"] == "disk" || text.output.lines().any(line),
            "{}",
            text.output
        );
    }
}

#[test]
fn it_works_while_a_server_runs_and_says_what_to_do_in_lines_for_people() {
    let place = founded();
    let _server = Server::start(&mut place.command(["serve", "--listen", "127.0.0.1:0"]));
    expect(&place, &[], "database", "good", "takes changes");
    let said = place.run(&["doctor", "--origin", "http://a.example"]);
    assert_eq!(said.code, 1);
    assert_eq!(said.errors, "error: 1 check is bad\n");
    let mut lines = said
        .output
        .lines()
        .skip_while(|line| !line.starts_with("bad   origin"));
    assert!(
        lines
            .next()
            .unwrap()
            .contains("nobody can sign in at http://a.example")
    );
    assert!(
        lines
            .next()
            .unwrap()
            .contains("to do: give an origin that begins with https://")
    );
}
