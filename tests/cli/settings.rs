use serde_json::json;

use crate::place::{Place, Said};

#[test]
fn the_command_line_wins_over_a_variable_and_that_over_the_file() {
    let place = Place::new();
    place.write("invoicing.toml", "database = \"sqlite:file.db\"\n");
    let made = |arguments: &[&str], variable: Option<&str>, database: &str| {
        let mut command =
            place.command([&["team", "create", "--name", "Acme"], arguments].concat());
        command.envs(variable.map(|value| ("INVOICING_DATABASE", value)));
        assert_eq!(Said::by(&mut command, "").code, 0);
        assert!(place.path(database).exists(), "{database}");
    };
    made(&[], None, "invoicing.db");
    let config = ["--config", "invoicing.toml"];
    made(&config, None, "file.db");
    made(&config, Some("sqlite:variable.db"), "variable.db");
    made(
        &["--config", "invoicing.toml", "--database", "sqlite:line.db"],
        Some("sqlite:x.db"),
        "line.db",
    );
    assert!(!place.path("x.db").exists());
}

#[test]
fn a_variable_may_name_the_file() {
    let place = Place::new();
    place.write("invoicing.toml", "database = \"sqlite:file.db\"\n");
    let mut command = place.command(["team", "create", "--name", "Acme"]);
    Said::by(command.env("INVOICING_CONFIG", "invoicing.toml"), "");
    assert!(place.path("file.db").exists());
}

#[test]
fn an_unknown_key_in_the_file_is_refused_with_2() {
    let place = Place::new();
    place.write("invoicing.toml", "\ndatabse = \"sqlite:x.db\"\n");
    let said = place.run(&["team", "list", "--config", "invoicing.toml"]);
    said.failed(
        2,
        "error: invoicing.toml:2: `databse` is no setting; did you mean `database`?",
    );
    assert!(!place.path("invoicing.db").exists());
}

#[test]
fn an_unknown_variable_is_warned_about_on_standard_error() {
    let place = Place::with_database();
    let mut command = place.command(["team", "list", "--json"]);
    let said = Said::by(command.env("INVOICING_DATABSE", "sqlite:x.db"), "");
    assert_eq!((said.code, said.output.as_str()), (0, "[]\n"));
    assert_eq!(
        said.errors,
        "warning: INVOICING_DATABSE is no setting and is ignored; did you mean `INVOICING_DATABASE`?\n"
    );
}

#[test]
fn a_postgresql_that_cannot_be_reached_fails_with_1_and_shows_no_password() {
    let place = Place::new();
    let mut command = place.command(["team", "list"]);
    // Nothing listens on port 1.
    let url = "postgres://ada:secret@127.0.0.1:1,127.0.0.1:1/invoicing";
    let said = Said::by(command.env("INVOICING_DATABASE", url), "");
    said.failed(
        1,
        "error: cannot connect to postgres://ada@127.0.0.1:1,127.0.0.1:1/invoicing: ",
    );
    assert!(!said.errors.contains("secret"), "{}", said.errors);
}

#[test]
fn a_database_of_no_known_kind_is_refused_with_2() {
    let place = Place::new();
    let said = place.run(&["team", "list", "--database", "mysql://localhost/invoicing"]);
    said.failed(2, "write sqlite:PATH");
}

#[test]
fn a_database_that_cannot_be_opened_fails_with_1() {
    let place = Place::new();
    let create = ["team", "create", "--name", "Acme"];
    let said = place.run(&[&create[..], &["--database", "sqlite:no/such/folder.db"]].concat());
    said.failed(1, "error: cannot open the database no/such/folder.db");
    place.write(
        "other.db",
        "not a database, but some text that is long enough to have a header",
    );
    let said = place.run(&["team", "list", "--json", "--database", "sqlite:other.db"]);
    assert_eq!((said.code, said.output.as_str()), (1, ""));
}

#[test]
fn every_problem_is_on_a_line_of_its_own() {
    let place = Place::new();
    place.write("invoicing.toml", "listen = 8080\nlog_level = \"all\"\n");
    let mut command = place.command(["team", "list", "--config", "invoicing.toml"]);
    let said = Said::by(command.env("INVOICING_RATE_LIMIT", "no"), "");
    let lines: Vec<_> = said
        .errors
        .lines()
        .map(|line| line.split(':').nth(1).unwrap().trim())
        .collect();
    assert_eq!(
        json!(lines),
        json!(["invoicing.toml", "invoicing.toml", "INVOICING_RATE_LIMIT"])
    );
}

#[test]
fn origins_are_read_from_everywhere_and_a_wrong_one_is_refused_with_2() {
    let place = Place::new();
    let wrong = |arguments: &[&str], variable: Option<&str>, told: &str| {
        let mut command =
            place.command([&["serve", "--listen", "127.0.0.1:0"], arguments].concat());
        command.envs(variable.map(|value| ("INVOICING_CORS_ORIGINS", value)));
        let said = Said::by(&mut command, "");
        assert_eq!(said.code, 2, "{}", said.errors);
        assert!(said.errors.contains(told), "{}", said.errors);
    };
    let path = "https://app.example.com/";
    let told = "is no scheme, host and port alone; write something like https://app.example.com";
    wrong(&["--cors-origins", path], None, told);
    wrong(&[], Some(path), "INVOICING_CORS_ORIGINS: ");
    place.write("invoicing.toml", "cors_origins = [\"https://A.example\"]\n");
    wrong(
        &["--config", "invoicing.toml"],
        None,
        "invoicing.toml:1: cors_origins: ",
    );
}

#[test]
fn a_mail_server_and_a_sender_go_together_and_a_password_is_not_repeated() {
    let place = Place::new();
    let url = "smtps://ada:hunter2@mail.example";
    for (variable, value) in [
        ("INVOICING_SMTP_URL", url),
        ("INVOICING_MAIL_FROM", "a@b.example"),
    ] {
        let mut command = place.command(["serve"]);
        let said = Said::by(command.env(variable, value), "");
        said.failed(2, "smtp_url and mail_from go together");
    }
    for (name, value, why) in [
        (
            "INVOICING_SMTP_URL",
            "smtp://ada:hunter2@mail.example",
            "would travel in clear",
        ),
        (
            "INVOICING_SMTP_URL",
            "imap://ada:hunter2@mail.example",
            "write something like smtps://",
        ),
        (
            "INVOICING_MAIL_FROM",
            "nobody",
            "write something like invoices@example.com",
        ),
    ] {
        let mut command = place.command(["serve"]);
        let said = Said::by(command.env(name, value), "");
        assert!(!said.errors.contains("hunter2"), "{}", said.errors);
        said.failed(2, why);
    }
    let said = place.run(&["serve", "--smtp-url", "imap://ada:hunter2@mail.example"]);
    assert!(!said.errors.contains("hunter2"), "{}", said.errors);
    said.failed(2, "smtps://");
    assert!(!place.path("invoicing.db").exists());
}
