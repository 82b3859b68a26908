//! Which commands create a database, and the messages about an existing one.

use test_support::postgres::{Cluster, ask};

use crate::place::{Place, Said};
use crate::server::Server;

#[test]
fn a_command_in_the_wrong_folder_makes_no_database_and_says_where_it_looked() {
    let place = Place::new();
    for command in [
        "team list",
        "user list",
        "session list",
        "user create --email ada@example.com --name Ada",
        "oauth-client create --id mobile --name App --redirect-uri com.a:/",
        "copy --to sqlite:other.db",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        place.run(&words).failed(1, "invoicing.db");
        assert_eq!(
            std::fs::read_dir(place.path("")).unwrap().count(),
            0,
            "{command}"
        );
    }
    let said = place.run(&["team", "list"]);
    let path = std::fs::canonicalize(place.path(""))
        .unwrap()
        .join("invoicing.db");
    said.failed(1, &format!("there is no database {}", path.display()));
    said.failed(1, "--database sqlite:PATH");
    said.failed(1, "`invoicing team create`");
}

/// After a crash the log holds what was acknowledged last; SQLite deletes the log of an empty file.
#[test]
fn a_log_whose_file_was_moved_away_is_left_as_it_is_by_whatever_would_make_a_new_one() {
    let place = Place::with_database();
    place.make(&["team", "create", "--name", "Acme"]);
    let made = place.json(&["backup", "create", "--to", "."]);
    let backup = made["path"].as_str().unwrap();
    let log = |name: &str| std::fs::read(place.path(name)).unwrap();
    // An open file keeps its log.
    let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    file.execute("UPDATE team SET name = 'Last'", []).unwrap();
    for end in ["", "-wal"] {
        let from = place.path(&format!("invoicing.db{end}"));
        std::fs::copy(from, place.path(&format!("left.db{end}"))).unwrap();
    }
    std::fs::rename(place.path("left.db"), place.path("broken.db")).unwrap();
    let left = log("left.db-wal");
    assert!(!left.is_empty());
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, place.path(name)).unwrap();
    link("left.db", "link.db");
    for is_empty in [false, true] {
        if is_empty {
            place.write("left.db", "");
        }
        for name in ["sqlite:left.db", "sqlite:link.db"] {
            for command in [
                &["team", "create", "--name", "New"][..],
                &["team", "list"],
                &["setup-link"],
                &["backup", "restore", backup],
                &["serve"],
            ] {
                let command = [command, &["--database", name]].concat();
                place.run(&command).failed(1, "left.db-wal");
            }
            for (from, to) in [("sqlite:broken.db", name), (name, "sqlite:other.db")] {
                place.run(&["copy", "--from", from, "--to", to]);
            }
            place.run(&["backup", "create", "--to", ".", "--database", name]);
            let doctor = place.run(&["doctor", "--database", name]);
            assert!(doctor.output.contains("left.db-wal"), "{}", doctor.output);
            assert_eq!(log("left.db-wal"), left, "{name}, {is_empty}");
        }
        assert_eq!(place.path("left.db").exists(), is_empty);
    }
    std::fs::rename(place.path("left.db-wal"), place.path("broken.db-wal")).unwrap();
    let teams = place.json(&["team", "list", "--database", "sqlite:broken.db"]);
    assert_eq!(teams[0]["name"], "Last", "{teams}");
}

#[test]
fn an_empty_postgresql_stays_empty_until_a_command_may_begin_there() {
    let place = Place::new();
    let cluster = Cluster::start();
    let url = cluster.database();
    let tables = || {
        ask(
            &url,
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'",
        )
    };
    for command in [
        "team list",
        "user create --email ada@example.com --name Ada",
        "copy --to sqlite:other.db",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let said = place.run(&[&words[..], &["--database", &url]].concat());
        said.failed(1, &url);
        assert_eq!(tables(), "0", "{command}");
    }
    let said = place.run(&["team", "list", "--database", &url]);
    said.failed(1, "is empty");
    said.failed(1, "--database postgres://...");
    said.failed(1, "`invoicing team create`");

    let said = place.run(&["team", "create", "--name", "Acme", "--database", &url]);
    assert_eq!(said.code, 0, "{}", said.errors);
    assert_eq!(said.errors, format!("note: made a new database, {url}\n"));
    let teams = place.json(&["team", "list", "--database", &url]);
    assert_eq!(teams.as_array().map(Vec::len), Some(1));
}

#[test]
fn the_first_team_makes_the_database_and_says_so_once() {
    let place = Place::new();
    let create = ["team", "create", "--name", "Acme", "--json"];
    let said = place.run(&create);
    assert_eq!(said.code, 0, "{}", said.errors);
    assert_eq!(
        said.errors,
        "note: made a new database, sqlite:invoicing.db\n"
    );
    assert_eq!(place.run(&create).errors, "");
}

#[test]
fn a_damaged_file_says_that_a_backup_is_to_be_restored() {
    let place = Place::new();
    place.make(&["team", "create", "--name", "Acme"]);
    let file = place.path("invoicing.db");
    let mut bytes = std::fs::read(&file).unwrap();
    // Everything except the header, which marks it as a database, and ours.
    bytes[100..].fill(0xa5);
    std::fs::write(&file, bytes).unwrap();
    let said = place.run(&["team", "list"]);
    said.failed(1, "is damaged");
    said.failed(1, "estore a backup");
}

#[test]
fn a_server_says_what_it_runs_on_and_what_is_to_do_next() {
    let place = Place::new();
    let start = |place: &Place| {
        let mut server = Server::start(&mut place.command(["serve", "--listen", "127.0.0.1:0"]));
        let found = server.wait_for("in the database");
        server.signal("TERM");
        server.wait();
        (found, server.whole_log())
    };
    let (found, log) = start(&place);
    let version = format!("invoicing {}", env!("CARGO_PKG_VERSION"));
    let first = |log: &[serde_json::Value]| {
        let mut lines = log.iter();
        let line = lines.find(|line| line["msg"].as_str().unwrap().starts_with(&version));
        line.expect("a line with the version").clone()
    };
    let line = first(&log);
    assert_eq!(
        (&line["database"], &line["new"]),
        (&"sqlite:invoicing.db".into(), &true.into())
    );
    assert!(line["schema_version"].as_i64() >= Some(4), "{line}");
    assert_eq!(
        [&found["team"], &found["api_key"], &found["user"]],
        [false; 3]
    );
    let next = |log: &[serde_json::Value]| {
        let mut lines = log.iter().filter_map(|line| line["msg"].as_str());
        lines
            .find(|line| line.starts_with("to do next"))
            .map(str::to_owned)
    };
    assert!(
        next(&log).unwrap().contains("`invoicing team create"),
        "{log:#?}"
    );

    place.make(&["team", "create", "--name", "Acme"]);
    let (found, log) = start(&place);
    assert_eq!(
        (&found["team"], &first(&log)["new"]),
        (&true.into(), &false.into())
    );
    assert!(
        next(&log).unwrap().contains("`invoicing api-key create"),
        "{log:#?}"
    );

    place.make(&[
        "api-key",
        "create",
        "--team",
        "Acme",
        "--mode",
        "live",
        "--scope",
        "read-only",
    ]);
    let (found, log) = start(&place);
    assert_eq!(found["api_key"], true);
    assert!(
        next(&log).unwrap().contains("`invoicing setup-link`"),
        "{log:#?}"
    );
    place.make(&["user", "create", "--email", "a@b.example", "--name", "Ada"]);
    let (found, log) = start(&place);
    assert_eq!((&found["user"], next(&log)), (&true.into(), None));
}

#[test]
fn the_version_says_what_it_was_built_from_and_help_is_a_command() {
    let place = Place::new();
    let version = place.run(&["--version"]).output;
    let begin = format!("invoicing {} (", env!("CARGO_PKG_VERSION"));
    assert!(version.starts_with(&begin), "{version}");
    let (asked, told) = (["help", "team", "create"], ["team", "create", "--help"]);
    let said: Said = place.run(&asked);
    assert_eq!((said.code, said.output), (0, place.run(&told).output));
    assert!(place.run(&["help"]).output.contains("Usage: invoicing"));
}
