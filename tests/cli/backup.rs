//! `invoicing backup`: everything is restored, in either engine; any defect is found and reported, and a failed run
//! leaves nothing behind.
//! left of what failed.

mod postgres;
mod refused;
mod upgrade;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use age::secrecy::ExposeSecret as _;
use age::x25519::Identity;
use serde_json::Value;
use test_support::postgres::ask;

use crate::copy::content::{Random, dump, fill};
use crate::copy::{cluster, empty, large};
use crate::place::{Place, Said, assert_time, names};

/// A place with a database that has random rows in every table.
fn filled() -> Place {
    let place = Place::new();
    let seed = uuid::Uuid::new_v4().as_u64_pair().0;
    eprintln!("the seed of this test: {seed}");
    fill(&empty(&place, "invoicing.db"), &mut Random(seed));
    place
}

/// Makes a backup in the folder with this name, which is created if necessary, and returns the output.
fn create(place: &Place, folder: &str, more: &[&str]) -> Value {
    private(place, folder);
    place.json(&[&["backup", "create", "--to", folder], more].concat())
}

fn private(place: &Place, folder: &str) {
    let path = place.path(folder);
    std::fs::create_dir_all(&path).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
}

fn path(made: &Value) -> &str {
    made["path"].as_str().unwrap()
}

/// The names in a folder, in order.
fn files(place: &Place, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(place.path(folder)).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries.map(|it| name(it).into_string().unwrap()).collect();
    names.sort();
    names
}

/// Writes a secret key to the file with this name. Returns the public one.
fn key(place: &Place, name: &str) -> String {
    let identity = Identity::generate();
    place.write(name, identity.to_string().expose_secret());
    identity.to_public().to_string()
}

fn restore(place: &Place, backup: &str, to: &str, more: &[&str]) -> Value {
    let command = ["backup", "restore", backup, "--database", to];
    place.json(&[&command, more].concat())
}

#[test]
fn random_content_comes_back_in_either_engine() {
    let place = filled();
    let made = create(&place, "backups", &[]);
    let verified = place.json(&["backup", "verify", path(&made)]);
    assert_eq!(verified["good"], true, "{verified}");
    let second = restore(&place, path(&made), "sqlite:second.db", &[]);
    assert_eq!(
        dump(&place.path("invoicing.db")),
        dump(&place.path("second.db"))
    );

    let there = cluster().database();
    let third = restore(&place, path(&made), &there, &[]);
    assert_eq!(third["tables"], second["tables"]);
    let made = create(&place, "of-postgres", &["--database", &there]);
    assert_eq!(made["rows"], second["rows"]);
    let further = cluster().database();
    for to in ["sqlite:fourth.db", &further] {
        let back = restore(&place, path(&made), to, &[]);
        assert_eq!(back["tables"], second["tables"], "{to}");
    }
}

#[test]
fn what_is_made_is_told() {
    let place = filled();
    let made = create(&place, "backups", &[]);
    let members = [
        "id",
        "madeAt",
        "madeBy",
        "schemaVersion",
        "rows",
        "path",
        "bytes",
        "encrypted",
        "removed",
        "seconds",
        "tables",
    ];
    assert_eq!(names(&made), members);
    assert_time(&made["madeAt"]);
    let file = std::fs::metadata(place.path(path(&made))).unwrap();
    assert_eq!(made["bytes"], file.len());
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let name = made["madeAt"].as_str().unwrap().replace(':', "");
    assert_eq!(
        files(&place, "backups"),
        [format!("invoicing-{name}.db.zst")]
    );
    let tables = made["tables"].as_array().unwrap();
    let rows: u64 = tables
        .iter()
        .map(|table| table["rows"].as_u64().unwrap())
        .sum();
    assert_eq!(made["rows"], rows);
    let verified = place.json(&["backup", "verify", path(&made)]);
    for member in ["id", "madeAt", "madeBy", "schemaVersion", "rows", "tables"] {
        assert_eq!(verified[member], made[member], "{member}");
    }
    let again = create(&place, "backups", &[]);
    assert_eq!(
        again["tables"], made["tables"],
        "the same content has the same sums"
    );
}

/// Killed in the middle, so that the data it was about to encrypt stays.
#[test]
fn what_is_to_be_encrypted_is_never_in_clear_where_the_backup_goes() {
    let place = Place::new();
    large(&place);
    private(&place, "backups");
    private(&place, "trusted");
    let key = key(&place, "key");
    let create = |more: &[&'static str]| {
        let create = ["backup", "create", "--to", "backups", "--database"];
        let order = ["sqlite:large.db", "--backup-recipients", &key];
        [&create[..], &order, more].concat().join(" ")
    };
    let clear = |folder: &str| {
        let making = files(&place, folder).into_iter();
        let making = making.filter(|it| it.starts_with(".invoicing-backup-"));
        let has = |it: &String| {
            let database = place.path(folder).join(it).join("snapshot.db");
            std::fs::metadata(database).is_ok_and(|file| file.len() > 0)
        };
        making.filter(has).count()
    };
    for (more, folder) in [
        (&[][..], "."),
        (&["--temporary-folder", "trusted"], "trusted"),
    ] {
        let create = create(more);
        let create: Vec<&str> = create.split(' ').collect();
        let killed = interrupted(&place, &create, "KILL", || clear(folder) > 0);
        assert_eq!(killed.code, -1);
        assert_eq!((clear("backups"), clear(folder)), (0, 1));
    }
}

#[test]
fn an_encrypted_backup_is_opened_by_each_of_its_keys_and_no_other() {
    let place = filled();
    let recipients = format!("{},{}", key(&place, "first"), key(&place, "second"));
    key(&place, "other");
    let made = create(&place, "backups", &["--backup-recipients", &recipients]);
    assert!(path(&made).ends_with(".db.zst.age"));
    assert_eq!(made["encrypted"], true);
    let bytes = std::fs::read(place.path(path(&made))).unwrap();
    assert!(bytes.starts_with(b"age-encryption.org/v1\n"));
    for identity in ["first", "second"] {
        let verify = ["backup", "verify", path(&made), "--identity", identity];
        assert_eq!(place.json(&verify)["good"], true);
    }
    restore(
        &place,
        path(&made),
        "sqlite:new.db",
        &["--identity", "second"],
    );
    assert_eq!(
        dump(&place.path("invoicing.db")),
        dump(&place.path("new.db"))
    );
    let verify = |more: &[&str]| place.run(&[&["backup", "verify", path(&made)], more].concat());
    verify(&["--identity", "other"]).failed(1, "none of the secret keys opens");
    verify(&["--identity", "missing"]).failed(1, "cannot read a secret key from missing");
    verify(&["--identity", "invoicing.db"]).failed(1, "cannot read a secret key from invoicing.db");
    verify(&[]).failed(1, "--identity FILE");
}

#[test]
fn the_settings_say_who_may_open_it() {
    let place = filled();
    let recipients = format!("backup_recipients = [{:?}]\n", key(&place, "first"));
    place.write("invoicing.toml", recipients);
    let made = create(&place, "backups", &["--config", "invoicing.toml"]);
    assert_eq!(made["encrypted"], true);
    place.write(
        "invoicing.toml",
        std::fs::read(place.path("first")).unwrap(),
    );
    let secret = std::fs::read_to_string(place.path("first")).unwrap();
    let wrong = ["backup", "create", "--backup-recipients", secret.trim()];
    let said = place.run(&wrong);
    said.failed(2, "age-keygen");
    assert!(!said.errors.contains(secret.trim()), "{}", said.errors);
}

#[test]
fn strangers_tools_open_it() {
    let place = filled();
    let made = create(&place, "backups", &[]);
    let packed = std::fs::read(place.path(path(&made))).unwrap();
    place.write("new.db", zstd::decode_all(&packed[..]).unwrap());
    assert_eq!(
        dump(&place.path("invoicing.db")),
        dump(&place.path("new.db"))
    );
    let teams = place.json(&["team", "list", "--database", "sqlite:new.db"]);
    assert!(!teams.as_array().unwrap().is_empty());
}

#[test]
fn only_older_backups_are_removed_and_never_the_new_one() {
    let place = Place::new();
    place.json(&["team", "create", "--name", "Acme"]);
    let first = create(&place, "backups", &[]);
    let valid = std::fs::read(place.path(path(&first))).unwrap();
    // Judging by its name, it is newer than the one that will be made.
    place.write("backups/invoicing-2999-01-01T000000.000Z.db.zst", &valid);
    let others = [
        "invoicing-2020-01-01T000000.000Z.db.zst.part",
        "invoicing-2020-01-01T000000.000Z.db.zst",
        "notes.txt",
        "other.db.zst",
    ];
    for other in others {
        place.write(&format!("backups/{other}"), "Dear Sir or Madam");
    }
    std::os::unix::fs::symlink(
        "notes.txt",
        place.path("backups/invoicing-2020-01-01T000000.000Z.db.zst.age"),
    )
    .unwrap();
    let before = files(&place, "backups").len();
    let second = create(&place, "backups", &["--keep", "3"]);
    assert_eq!(
        (&second["removed"], files(&place, "backups").len()),
        (&0.into(), before + 1)
    );
    let third = create(&place, "backups", &["--keep", "2"]);
    assert_eq!(third["removed"], 2);
    let fourth = create(&place, "backups", &["--keep", "1"]);
    assert_eq!(fourth["removed"], 2);
    let left = files(&place, "backups");
    assert_eq!(left.len(), others.len() + 2, "{left:?}");
    assert!(
        left.contains(&path(&fourth).replace("backups/", "")),
        "{left:?}"
    );
    place
        .run(&["backup", "create", "--keep", "0"])
        .failed(2, "--keep");
}

#[test]
fn a_backup_is_one_moment_of_a_database_that_is_written_to() {
    let place = Place::new();
    large(&place);
    let source = rusqlite::Connection::open(place.path("large.db")).unwrap();
    let count = |name: &str| {
        let there = dump(&place.path(name));
        (there["team"].len(), there["folder"].len())
    };
    std::thread::scope(|scope| {
        let making = scope.spawn(|| create(&place, "backups", &["--database", "sqlite:large.db"]));
        while !making.is_finished() {
            let id = uuid::Uuid::new_v4().simple();
            let team = format!("INSERT INTO team (id, name, created_at) VALUES (x'{id}', 'x', 0)");
            let folder = format!("INSERT INTO folder VALUES (x'{id}', x'{id}', 'x', 0)");
            let both = format!("BEGIN IMMEDIATE; {team}; {folder}; COMMIT");
            source.execute_batch(&both).unwrap();
        }
        let made = making.join().unwrap();
        restore(&place, path(&made), "sqlite:new.db", &[]);
    });
    let (teams, folders) = count("new.db");
    assert_eq!(teams, folders + 1);
    assert!(folders < count("large.db").1, "somebody wrote meanwhile");
}

#[test]
fn a_database_that_has_rows_is_refused_untouched() {
    let place = Place::new();
    place.json(&["team", "create", "--name", "Acme"]);
    let made = create(&place, "backups", &[]);
    let postgres = cluster().database();
    for to in ["sqlite:other.db", &postgres] {
        place.json(&["team", "create", "--name", "Bolt", "--database", to]);
        let restore = ["backup", "restore", path(&made), "--database", to];
        place
            .run(&restore)
            .failed(1, "is not empty (there are rows in");
        let teams = place.json(&["team", "list", "--database", to]);
        assert_eq!(teams[0]["name"], "Bolt");
    }
    assert_eq!(files(&place, "backups").len(), 1);
}

/// Runs a command until `begun`, sends SIGINT or SIGKILL, and returns how it ended.
fn interrupted(place: &Place, arguments: &[&str], signal: &str, begun: impl Fn() -> bool) -> Said {
    let mut command = place.command(arguments);
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut process = command.spawn().unwrap();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !begun() && std::time::Instant::now() < end {
        assert!(
            process.try_wait().unwrap().is_none(),
            "it ended before the signal"
        );
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let id = process.id().to_string();
    let kill = std::process::Command::new("kill")
        .args(["-s", signal, &id])
        .status();
    assert!(kill.unwrap().success());
    let output = process.wait_with_output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        output: String::from_utf8(output.stdout).unwrap(),
        errors: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn interrupted_nothing_is_left_and_what_is_killed_is_swept_up_by_the_next() {
    let place = Place::new();
    large(&place);
    private(&place, "backups");
    let create = [
        "backup",
        "create",
        "--to",
        "backups",
        "--database",
        "sqlite:large.db",
    ];
    let begun = || !files(&place, "backups").is_empty();
    for signal in ["INT", "TERM"] {
        interrupted(&place, &create, signal, begun).failed(1, "interrupted; nothing was made");
        assert_eq!(files(&place, "backups"), Vec::<String>::new());
    }
    let killed = interrupted(&place, &create, "KILL", begun);
    assert_eq!((killed.code, killed.output.as_str()), (-1, ""));
    let left = files(&place, "backups");
    let is_making = |it: &String| it.starts_with(".invoicing-backup-");
    assert!(!left.is_empty() && left.iter().all(is_making), "{left:?}");
    let made = place.json(&create);
    assert_eq!(
        files(&place, "backups"),
        [path(&made).replace("backups/", "")]
    );

    let to = cluster().database();
    let restore = ["backup", "restore", path(&made), "--database", &to];
    let writing = || {
        let there = ask(
            &to,
            "SELECT count(*) FROM pg_tables WHERE tablename = 'idempotency'",
        ) == "1";
        there && ask(&to, "SELECT pg_relation_size('idempotency')") != "0"
    };
    interrupted(&place, &restore, "INT", writing).failed(1, "interrupted; nothing was made");
    assert_eq!(ask(&to, "SELECT count(*) FROM idempotency"), "0");
    assert_eq!(files(&place, "backups").len(), 1);
    place.json(&restore);
}

/// S20: neither sealed pairs nor the keys that wrap them.
#[test]
fn no_sealed_pair_is_in_a_backup() {
    let place = filled();
    let (key, pair) = ([0xA7; 32], [0xB9; 90]);
    let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    file.execute("INSERT INTO grace_key VALUES (1, ?1)", [key])
        .unwrap();
    let spend = "UPDATE refresh_token SET spent_at = 1, successor = ?1";
    assert!(file.execute(spend, [pair]).unwrap() > 0);
    let made = create(&place, "backups", &[]);
    let packed = std::fs::read(backup_path(&place, &made)).unwrap();
    let database = zstd::decode_all(&packed[..]).unwrap();
    let has = |bytes: &[u8]| database.windows(bytes.len()).any(|window| window == bytes);
    assert!(!has(&key) && !has(&pair[..8]));
    let name = |table: &Value| table["table"] == "grace_key";
    let keys = made["tables"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| name(it))
        .unwrap();
    assert_eq!(keys["rows"], 0);
}

fn backup_path(place: &Place, made: &Value) -> PathBuf {
    place.path(path(made))
}
