//! The database, its users, and the clock.

use std::fs::File;
use std::time::{Duration, Instant, SystemTime};

use test_support::postgres::{Cluster, shared};

use super::services::Provider;
use super::{examine, expect, founded, of};
use crate::place::Place;

#[test]
fn a_database_that_is_not_there_old_new_locked_damaged_or_no_database_is_told_apart() {
    let place = Place::new();
    expect(&place, &[], "database", "warn", "there is no database");
    assert!(!place.path("invoicing.db").exists());

    let place = founded();
    expect(&place, &[], "schema", "good", "version");
    let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    let version: i64 = file
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    file.pragma_update(None, "user_version", version - 1)
        .unwrap();
    expect(
        &place,
        &[],
        "schema",
        "warn",
        "`invoicing serve` then brings it up to date",
    );
    file.pragma_update(None, "user_version", version + 1)
        .unwrap();
    expect(&place, &[], "database", "bad", "Use the newer program");
    file.pragma_update(None, "user_version", version).unwrap();

    file.execute_batch("BEGIN IMMEDIATE").unwrap();
    expect(&place, &[], "database", "bad", "takes no changes");
    file.execute_batch("ROLLBACK").unwrap();
    drop(file);

    expect(&place, &[], "content", "good", "whole");
    let mut bytes = std::fs::read(place.path("invoicing.db")).unwrap();
    // The last pages: none of them has the schema, without which the file could not be opened.
    let end = bytes.len();
    bytes[end - 40_960..].fill(0x5a);
    place.write("invoicing.db", bytes);
    expect(&place, &[], "content", "bad", "damaged");

    place.write(
        "invoicing.db",
        "some text that is long enough to pass for the header of a file of SQLite",
    );
    expect(&place, &[], "database", "bad", "of another program");
}

#[test]
fn postgresql_that_is_well_small_or_away_is_told_apart_and_its_password_is_not_shown() {
    let place = Place::new();
    let url = shared().database();
    expect(&place, &["--database", &url], "database", "warn", "empty");
    place.run(&["team", "create", "--name", "Acme", "--database", &url]);
    let with = |pool: usize| format!("{url}?pool_size={pool}");
    expect(
        &place,
        &["--database", &with(4)],
        "database",
        "good",
        "takes changes",
    );
    expect(
        &place,
        &["--database", &with(4)],
        "connections",
        "good",
        "pool_size is 4",
    );
    expect(
        &place,
        &["--database", &with(4)],
        "clock",
        "good",
        "PostgreSQL",
    );

    let small = Cluster::start_with("-c max_connections=13 -c superuser_reserved_connections=3");
    let url = small.database();
    place.run(&[
        "team",
        "create",
        "--name",
        "Acme",
        "--database",
        &format!("{url}?pool_size=2"),
    ]);
    let with = |pool: usize| format!("{url}?pool_size={pool}");
    expect(
        &place,
        &["--database", &with(7)],
        "connections",
        "warn",
        "upgrade",
    );
    expect(
        &place,
        &["--database", &with(11)],
        "connections",
        "bad",
        "lower pool_size",
    );

    small.ask(
        "postgres",
        "ALTER SYSTEM SET default_transaction_read_only = on",
    );
    small.ask("postgres", "SELECT pg_reload_conf()");
    let end = Instant::now() + Duration::from_secs(60);
    while of(&examine(&place, &["--database", &with(2)]).1, "database").0 != "bad" {
        assert!(Instant::now() < end, "it is never read only");
    }

    small.ask(
        "postgres",
        "ALTER SYSTEM SET default_transaction_read_only = off",
    );
    small.ask("postgres", "SELECT pg_reload_conf()");
    let ordered =
        "CREATE DATABASE ordered TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'";
    small.ask("postgres", ordered);
    let name = url.rsplit('/').next().unwrap();
    let url = url.replace(name, "ordered");
    let with = format!("{url}?pool_size=2");
    place.run(&["team", "create", "--name", "Acme", "--database", &with]);
    let found = examine(&place, &["--database", &with]).1;
    assert!(
        found.iter().all(|it| it["check"] != "collation"),
        "{found:?}"
    );
    small.ask(
        "postgres",
        "UPDATE pg_database SET datcollversion = '1.2' WHERE datname = 'ordered'",
    );
    expect(
        &place,
        &["--database", &with],
        "collation",
        "bad",
        "REINDEX",
    );

    let away = "postgres://ada:hunter2@127.0.0.1:1/invoicing";
    let said = place.run(&["doctor", "--database", away]);
    assert!(said.output.contains("bad   database") && said.output.contains("good  content"));
    assert!(!said.output.contains("hunter2"), "{}", said.output);
}

#[test]
fn a_file_from_times_to_come_and_a_provider_with_another_clock_show_a_clock_that_is_wrong() {
    let place = founded();
    expect(&place, &[], "clock", "good", "the database file");
    let ahead = |seconds| {
        let file = File::options()
            .append(true)
            .open(place.path("invoicing.db"))
            .unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(seconds))
            .unwrap();
    };
    ahead(60);
    expect(&place, &[], "clock", "warn", "59 seconds");
    ahead(600);
    expect(&place, &[], "clock", "bad", "599 seconds");
    let provider = Provider::start("Sun, 06 Nov 1994 08:49:37 GMT");
    expect(
        &place,
        &provider.settings(),
        "clock",
        "bad bad",
        "the OpenID provider",
    );
}

#[test]
fn nobody_to_use_it_and_passkeys_of_another_host_are_warned_about() {
    let place = founded();
    expect(&place, &[], "people", "warn", "setup-link");
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
    expect(&place, &[], "people", "good", "there is a team");
    let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    let insert = "INSERT INTO passkey SELECT id, id, 'Phone', 'old.example', zeroblob(16), 1, 0, x'', x'', 0, NULL FROM user";
    file.execute(insert, []).unwrap();
    drop(file);
    expect(
        &place,
        &["--origin", "https://new.example"],
        "passkeys",
        "warn",
        "1 were made at another host",
    );
    expect(
        &place,
        &["--origin", "https://old.example"],
        "passkeys",
        "good",
        "all of them",
    );
}
