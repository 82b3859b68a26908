//! The upgrade of an SQLite file from an older release.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use serde_json::Value;
use test_support::document::repository;

use super::{create, files, key, private, restore};
use crate::copy::content::dump;
use crate::place::Place;
use crate::server::Server;

/// The migrations, in order.
fn migrations() -> Vec<String> {
    let folder = repository().join("src/sqlite/migrations");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let text = |path: &std::path::PathBuf| std::fs::read_to_string(path).unwrap();
    paths.iter().map(text).collect()
}

/// A file as left by the release with this schema, with a team.
fn older(place: &Place, name: &str, version: usize) {
    let file = Connection::open(place.path(name)).unwrap();
    // Migrations of rows name them, and there are no rows yet.
    for (function, arguments) in [("hash_key", 3), ("wrap_pair", 2), ("new_grace_key", 0)] {
        let flags = FunctionFlags::SQLITE_UTF8;
        file.create_scalar_function(function, arguments, flags, |_| Ok(0_i64))
            .unwrap();
    }
    file.pragma_update(None, "application_id", 0x494e_564f)
        .unwrap();
    for migration in &migrations()[..version] {
        file.execute_batch(migration).unwrap();
    }
    file.pragma_update(None, "user_version", version as i64)
        .unwrap();
    let team = "INSERT INTO team (id, name, created_at) VALUES (randomblob(16), 'Acme', 0)";
    file.execute(team, []).unwrap();
    private(place, "");
}

fn version(place: &Place, name: &str) -> usize {
    let file = Connection::open(place.path(name)).unwrap();
    file.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
        .unwrap() as usize
}

fn before() -> usize {
    migrations().len() - 1
}

/// The only backup beside the database.
fn beside(place: &Place) -> String {
    let name = format!("invoicing.db.schema-{}.zst", before());
    let found: Vec<_> = files(place, "")
        .into_iter()
        .filter(|it| it.starts_with(&name))
        .collect();
    assert_eq!(found.len(), 1, "{:?}", files(place, ""));
    found[0].clone()
}

#[test]
fn serve_makes_a_backup_before_it_brings_a_file_up_to_date() {
    let place = Place::new();
    older(&place, "invoicing.db", before());
    let old = dump(&place.path("invoicing.db"));
    let mut server = Server::start(&mut place.command(["serve", "--listen", "127.0.0.1:0"]));
    server.signal("TERM");
    server.wait();
    let log = server.whole_log();
    let told = |line: &&Value| {
        line["msg"]
            .as_str()
            .unwrap()
            .starts_with("a backup was made before")
    };
    let told = log.iter().find(told).expect("a line of the log");
    assert_eq!(told["file"], beside(&place));
    assert_eq!(told["schema_version"], before());
    assert_eq!(version(&place, "invoicing.db"), migrations().len());

    // The way back: `zstd -d` restores the file as it was.
    let packed = std::fs::read(place.path(&beside(&place))).unwrap();
    place.write("back.db", zstd::decode_all(&packed[..]).unwrap());
    assert_eq!(version(&place, "back.db"), before());
    assert_eq!(dump(&place.path("back.db")), old);
}

#[test]
fn a_command_that_brings_a_file_up_to_date_makes_a_backup_too() {
    let place = Place::new();
    older(&place, "invoicing.db", before());
    let said = place.run(&["team", "list", "--json"]);
    assert_eq!(said.code, 0, "{}", said.errors);
    assert!(said.errors.contains(&beside(&place)), "{}", said.errors);
    std::fs::remove_file(place.path(&beside(&place))).unwrap();
    let again = place.run(&["team", "list", "--json"]);
    assert_eq!(
        (again.code, again.errors.as_str()),
        (0, ""),
        "it is up to date"
    );
}

#[test]
fn the_backup_is_encrypted_to_those_of_the_settings() {
    let place = Place::new();
    older(&place, "invoicing.db", before());
    let recipient = key(&place, "key");
    place.write(
        "invoicing.toml",
        format!("backup_recipients = [{recipient:?}]\n"),
    );
    let list = ["team", "list", "--config", "invoicing.toml"];
    assert_eq!(place.run(&list).code, 0);
    let name = beside(&place);
    assert!(name.ends_with(".zst.age"), "{name}");
    let verify = ["backup", "verify", &name, "--identity", "key"];
    assert_eq!(place.json(&verify)["schemaVersion"], before());
}

#[test]
fn without_a_backup_the_file_stays_as_it_is() {
    let place = Place::new();
    older(&place, "invoicing.db", before());
    // A folder that is not empty takes its name.
    let name = format!("invoicing.db.schema-{}.zst", before());
    std::fs::create_dir_all(place.path(&name).join("x")).unwrap();
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["team", "list"]] {
        place.run(command).failed(1, "backup_before_upgrade");
        assert_eq!(version(&place, "invoicing.db"), before());
    }
    let list = ["team", "list", "--backup-before-upgrade", "off"];
    assert_eq!(place.run(&list).code, 0);
    assert_eq!(version(&place, "invoicing.db"), migrations().len());
}

#[test]
fn a_backup_of_an_older_schema_is_restored_up_to_date() {
    let place = Place::new();
    older(&place, "old.db", before());
    let made = create(&place, "backups", &["--database", "sqlite:old.db"]);
    assert_eq!(made["schemaVersion"], before());
    assert_eq!(version(&place, "old.db"), before(), "it was only read");
    let backup = super::path(&made);
    assert_eq!(place.json(&["backup", "verify", backup])["good"], true);
    let there = crate::copy::cluster().database();
    for to in ["sqlite:new.db", &there] {
        restore(&place, backup, to, &[]);
        let teams = place.json(&["team", "list", "--database", to]);
        assert_eq!(teams[0]["name"], "Acme", "{to}");
    }
    assert_eq!(version(&place, "new.db"), migrations().len());
}
