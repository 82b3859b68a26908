//! `invoicing copy`: everything is copied, to either engine, whole or not at all.

mod clients;
pub mod content;
mod interrupted;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use invoicing::sql::schema::Kind;
use invoicing::store::copy::TABLES;
use serde_json::Value;
use test_support::postgres::{Cluster, ask};

use crate::place::{Place, Said};
use content::{Random, dump, fill};

pub fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(Cluster::start)
}

/// A database that does not sort letters by their bytes.
fn sorted_by_language() -> String {
    let name = format!("test_{}", uuid::Uuid::new_v4().simple());
    let create = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'";
    cluster().ask("postgres", &format!("CREATE DATABASE {name} {create}"));
    format!("postgres://invoicing@127.0.0.1:{}/{name}", cluster().port())
}

/// Copies, and returns the output.
fn copy(place: &Place, from: &str, to: &str) -> Value {
    place.json(&["copy", "--from", from, "--to", to])
}

fn refused(place: &Place, from: &str, to: &str) -> Said {
    place.run(&["copy", "--from", from, "--to", to])
}

/// An empty schema, in a file with this name.
pub fn empty(place: &Place, name: &str) -> std::path::PathBuf {
    let database = format!("sqlite:{name}");
    place.write(name, "");
    place.json(&["team", "list", "--database", &database]);
    let path = place.path(name);
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute("DELETE FROM secret", []).unwrap();
    path
}

/// The same in a separate PostgreSQL database.
fn empty_postgres(place: &Place) -> String {
    let url = cluster().database();
    place.json(&["team", "create", "--name", "Acme", "--database", &url]);
    ask(
        &url,
        "DELETE FROM team; DELETE FROM secret; DELETE FROM audit_event",
    );
    url
}

#[test]
fn every_column_of_postgresql_is_copied() {
    let url = empty_postgres(&Place::new());
    let columns = "SELECT table_name || ' ' || column_name || ' ' || data_type FROM information_schema.columns \
         WHERE table_schema = 'public' AND table_name <> 'schema_version' \
         AND column_name <> 'successor'";
    let there = ask(&url, columns);
    let copied: BTreeSet<String> = TABLES
        .iter()
        .flat_map(|table| {
            table.columns.iter().map(|(name, kind)| {
                let kind = match kind {
                    Kind::Boolean => "boolean",
                    Kind::Bytes => "bytea",
                    Kind::Decimal => "numeric",
                    Kind::Integer => "bigint",
                    Kind::Text => "text",
                    Kind::Uuid => "uuid",
                };
                format!("{} {name} {kind}", table.name)
            })
        })
        .collect();
    assert_eq!(
        there.lines().map(str::to_owned).collect::<BTreeSet<_>>(),
        copied,
        "src/store/copy/tables.rs follows the migrations"
    );
}

#[test]
fn random_content_is_the_same_after_every_kind_of_move() {
    let place = Place::new();
    let seed = uuid::Uuid::new_v4().as_u64_pair().0;
    eprintln!("the seed of this test: {seed}");
    let first = empty(&place, "first.db");
    fill(&first, &mut Random(seed));

    let (there, further) = (sorted_by_language(), cluster().database());
    let moves = [
        copy(&place, "sqlite:first.db", "sqlite:second.db"),
        copy(&place, "sqlite:second.db", &there),
        copy(&place, &there, &further),
        copy(&place, &further, "sqlite:back.db"),
    ];
    assert_eq!(
        dump(&first),
        dump(&place.path("second.db")),
        "from file to file"
    );
    for later in &moves[1..] {
        assert_eq!(later["id"], moves[0]["id"]);
        assert_eq!(later["tables"], moves[0]["tables"]);
        assert_eq!(later["rows"], moves[0]["rows"]);
    }
    let (before, after) = (dump(&first), dump(&place.path("back.db")));
    for (table, rows) in &before {
        // PostgreSQL writes `1e3` as `1000`: the checksums above compare prices by value.
        match table.as_str() {
            "product" => assert_eq!(rows.len(), after[table].len()),
            _ => assert!(*rows == after[table], "{table}"),
        }
    }
}

#[test]
fn prices_keep_every_digit() {
    let place = Place::new();
    let path = empty(&place, "first.db");
    let forty = "1234567890.123456789012345678901234567890";
    let tiny = format!("0.{}1", "0".repeat(29));
    let written = ["0.10", "7.700", forty, "1e-30"];
    let team = "INSERT INTO team (id, name, created_at) VALUES (zeroblob(16), 'Acme', 0)";
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute(team, []).unwrap();
    for (number, price) in written.iter().enumerate() {
        let insert = "INSERT INTO product (team_id, mode, id, name, unit_price, currency, status, created_at, \
             updated_at) VALUES (zeroblob(16), 'live', ?1, 'x', ?2, 'EUR', 'active', 0, 0)";
        let id = uuid::Uuid::from_u128(number as u128);
        file.execute(insert, (id.as_bytes(), price)).unwrap();
    }
    let there = cluster().database();
    copy(&place, "sqlite:first.db", &there);
    copy(&place, &there, "sqlite:back.db");
    let file = rusqlite::Connection::open(place.path("back.db")).unwrap();
    let mut prices = file
        .prepare("SELECT unit_price FROM product ORDER BY id")
        .unwrap();
    let prices: Result<Vec<String>, _> = prices.query_map([], |row| row.get(0)).unwrap().collect();
    assert_eq!(prices.unwrap(), ["0.10", "7.700", forty, &tiny]);
}

/// A file that takes a while to copy.
pub fn large(place: &Place) {
    let path = empty(place, "large.db");
    let rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) \
         INSERT INTO idempotency SELECT randomblob(16), zeroblob(16), 'live', i, zeroblob(32), hex(randomblob(200)), 0 FROM n";
    let file = rusqlite::Connection::open(path).unwrap();
    file.execute(
        "INSERT INTO team (id, name, created_at) VALUES (zeroblob(16), 'Acme', 0)",
        [],
    )
    .unwrap();
    file.execute(rows, []).unwrap();
}

#[test]
fn what_was_written_after_the_copy_began_is_not_in_it_and_it_says_so() {
    let place = Place::new();
    place.json(&["team", "create", "--name", "Acme"]);
    let said = place.run(&["copy", "--to", "sqlite:new.db"]);
    assert_eq!(said.code, 0, "{}", said.errors);
    assert!(
        said.errors
            .contains("since the copy began is not in the new one")
    );
    for part in [
        "sqlite:invoicing.db",
        "sqlite:new.db",
        "rowsPerSecond",
        "\nteam  ",
    ] {
        assert!(said.output.contains(part), "{part:?} in {}", said.output);
    }
    let teams = place.json(&["team", "list", "--database", "sqlite:new.db"]);
    assert_eq!(teams[0]["name"], "Acme");
}

/// Keeps writing, each time with a new id, while `copying` runs.
fn beside(write: impl Fn(&str), copying: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let copying = scope.spawn(copying);
        while !copying.is_finished() {
            write(&uuid::Uuid::new_v4().simple().to_string());
        }
    });
}

/// How many teams and how many folders the copy has.
fn teams_and_folders(place: &Place, name: &str) -> (usize, usize) {
    let there = dump(&place.path(name));
    (there["team"].len(), there["folder"].len())
}

#[test]
fn a_copy_is_one_moment_of_a_source_that_is_written_to() {
    let place = Place::new();
    large(&place);
    let source = rusqlite::Connection::open(place.path("large.db")).unwrap();
    let write = |id: &str| {
        let team = format!("INSERT INTO team (id, name, created_at) VALUES (x'{id}', 'x', 0)");
        let folder = format!("INSERT INTO folder VALUES (x'{id}', x'{id}', 'x', 0)");
        let both = format!("BEGIN IMMEDIATE; {team}; {folder}; COMMIT");
        source.execute_batch(&both).unwrap();
    };
    beside(write, || {
        drop(copy(&place, "sqlite:large.db", "sqlite:first.db"))
    });
    let (teams, folders) = teams_and_folders(&place, "first.db");
    assert_eq!(teams, folders + 1);
    assert!(
        folders < teams_and_folders(&place, "large.db").1,
        "somebody wrote meanwhile"
    );

    let there = cluster().database();
    copy(&place, "sqlite:first.db", &there);
    let write = |id: &str| {
        let team = format!("INSERT INTO team (id, name, created_at) VALUES ('{id}', 'x', 0)");
        let folder = format!("INSERT INTO folder VALUES ('{id}', '{id}', 'x', 0)");
        ask(&there, &format!("{team}; {folder}"));
    };
    beside(write, || drop(copy(&place, &there, "sqlite:second.db")));
    let (teams, folders) = teams_and_folders(&place, "second.db");
    assert_eq!(teams, folders + 1);
    let written: usize = ask(&there, "SELECT count(*) FROM folder").parse().unwrap();
    assert!(folders < written, "somebody wrote meanwhile");
}

#[test]
fn a_target_with_anything_in_it_is_refused_untouched() {
    let place = Place::new();
    place.json(&["team", "create", "--name", "Acme"]);
    let postgres = cluster().database();
    for to in ["sqlite:other.db", &postgres] {
        place.json(&["team", "create", "--name", "Bolt", "--database", to]);
        refused(&place, "sqlite:invoicing.db", to).failed(1, "is not empty (there are rows in");
        let teams = place.json(&["team", "list", "--database", to]);
        assert_eq!(teams.as_array().map(Vec::len), Some(1));
    }
    place.write("letter.txt", "Dear Sir or Madam, ".repeat(500));
    refused(&place, "sqlite:invoicing.db", "sqlite:letter.txt")
        .failed(1, "file of another program");
    let letter = std::fs::read_to_string(place.path("letter.txt")).unwrap();
    assert_eq!(letter, "Dear Sir or Madam, ".repeat(500));
}

#[test]
fn a_target_that_keeps_something_else_than_it_was_given_gets_nothing() {
    let place = Place::new();
    place.json(&["team", "create", "--name", "Acme"]);
    let file = rusqlite::Connection::open(empty(&place, "other.db")).unwrap();
    let trigger =
        "CREATE TRIGGER other AFTER INSERT ON team BEGIN UPDATE team SET name = 'acme'; END";
    file.execute_batch(trigger).unwrap();
    refused(&place, "sqlite:invoicing.db", "sqlite:other.db").failed(1, "the rows of team in");
    let count: i64 = file
        .query_row("SELECT count(*) FROM team", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 0);

    let to = empty_postgres(&place);
    // It accepts every row and keeps none.
    ask(
        &to,
        "CREATE RULE other AS ON INSERT TO team DO INSTEAD NOTHING",
    );
    refused(&place, "sqlite:invoicing.db", &to).failed(1, "the rows of team in");
    assert_eq!(ask(&to, "SELECT count(*) FROM secret"), "0");
}

#[test]
fn addresses_that_cannot_be_meant_are_refused() {
    let place = Place::new();
    place.json(&["team", "create", "--name", "Acme"]);
    let new = "sqlite:new.db";
    refused(&place, "sqlite:invoicing.db", "sqlite:invoicing.db").failed(2, "are both");
    refused(&place, "sqlite:missing.db", new).failed(1, "sqlite:missing.db is no database");
    refused(&place, &cluster().database(), new).failed(1, "is no database of this program");
    refused(&place, "postgres://ada@127.0.0.1:1/x", new).failed(1, "cannot connect to");
    refused(
        &place,
        "sqlite:invoicing.db",
        "postgres://ada@127.0.0.1:1/x",
    )
    .failed(1, "cannot connect to");
    let both = [
        "copy",
        "--from",
        "sqlite:a",
        "--database",
        "sqlite:b",
        "--to",
        new,
    ];
    place.run(&both).failed(2, "--database");
    place.run(&["copy"]).failed(2, "--to");
    for name in ["missing.db", "new.db"] {
        assert!(!place.path(name).exists(), "{name}");
    }
}

#[test]
fn a_schema_of_another_version_is_refused_untouched_on_both_sides() {
    let place = Place::new();
    place.json(&["team", "create", "--name", "Acme"]);
    for (name, version) in [("older.db", 1), ("newer.db", 99)] {
        let path = empty(&place, name);
        let file = rusqlite::Connection::open(&path).unwrap();
        file.pragma_update(None, "user_version", version).unwrap();
        drop(file);
        let before = std::fs::read(&path).unwrap();
        let address = format!("sqlite:{name}");
        let message = format!("{address} has schema version {version}");
        refused(&place, &address, "sqlite:new.db").failed(1, &message);
        refused(&place, "sqlite:invoicing.db", &address).failed(1, &message);
        assert!(
            std::fs::read(&path).unwrap() == before,
            "{name} has changed"
        );
    }
}
