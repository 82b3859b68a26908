//! A rolling upgrade never breaks an older replica that is still running: the statements of each release are kept in
//! `tests/store/postgres/statements/VERSION.jsonl`, and must get the same answers on the newest schema as on their
//! own.
//!
//! - `scenario.rs`: the work of a replica, which sends every statement at least once.
//! - `record.rs`: how statements are recorded and replayed.
//!
//! CONTRIBUTING.md has the rule for migrations, and for when a file is written, kept and deleted. SQLite needs none
//! of this: its one server is stopped before a newer one starts.

pub mod people;
pub mod record;
mod scenario;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use invoicing::app::App;
use invoicing::domain::passkey::RelyingParty;
use invoicing::domain::time::ManualClock;
use invoicing::domain::ways_to_sign_in::SwitchedOn;
use invoicing::store::open;
use test_support::mail::{MailServer, Manner};
use test_support::postgres::ask;

use super::relay::{Relay, migrated};
use super::support::{START, mailing};
use record::{Statement, replay, statements};

/// Writes the file of this version.
const RECORD: &str = "INVOICING_RECORD_STATEMENTS=1 cargo test --test store says_is_recorded";

/// Stands for a quotation mark inside a literal.
const QUOTE: &str = "\u{1}";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/postgres/statements")
}

fn recorded(file: &Path) -> Vec<Statement> {
    let text = std::fs::read_to_string(file)
        .unwrap_or_else(|error| panic!("{}: {error}. Write it: {RECORD}", file.display()));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The statements that this binary sends in the scenario.
pub async fn said() -> Vec<Statement> {
    let database = migrated().await;
    let (relay, url) = Relay::before(&database).await;
    // Unprepared, each carries its values.
    let url = format!("{url}&prepared_statements=false");
    let store = open(&url.parse().unwrap()).await.unwrap();
    relay.take(); // Only the newest binary migrates.
    let clock = Arc::new(ManualClock::new(START));
    let on = SwitchedOn {
        relying_party: RelyingParty::of(people::ORIGIN),
        ..SwitchedOn::default()
    };
    let app = App::new(Arc::clone(&store), clock.clone(), "https://links.example")
        .await
        .unwrap()
        .signing_in_by(on);
    let mail = MailServer::start(Manner::Takes);
    let app = mailing(app, &mail);
    scenario::run(&app, &store, &database, &clock, &mail).await;
    let mut said = statements(&relay.take().concat());
    // Whether one more connection is opened is a matter of timing.
    said.retain(|statement| statement.sql != "SHOW transaction_read_only");
    said
}

/// Replays all statements to the database at `url`.
async fn answers(url: &str, statements: &[Statement]) -> Vec<String> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    let mut answers = Vec::new();
    for statement in statements {
        answers.push(replay(&client, statement).await);
    }
    answers
}

/// The statements of this binary, with the answers of the newest schema.
async fn said_and_answered() -> Vec<Statement> {
    let mut said = said().await;
    let answers = answers(&migrated().await, &said).await;
    for (statement, answer) in said.iter_mut().zip(answers) {
        assert!(!answer.starts_with("failed"), "{}: {answer}", statement.sql);
        statement.answer = answer;
    }
    said
}

/// The first statement whose answer differs from the recorded one.
async fn broken(url: &str, statements: &[Statement]) -> Option<String> {
    let answers = answers(url, statements).await;
    let (was, is) = statements
        .iter()
        .zip(answers)
        .find(|(was, is)| was.answer != *is)?;
    Some(format!(
        "{}\n  was answered: {}\n  now: {is}",
        was.sql, was.answer
    ))
}

/// The distinct statements, with their types.
fn distinct(statements: &[Statement]) -> BTreeSet<String> {
    let line = |statement: &Statement| {
        let parameters = statement.parameters.iter().flatten();
        let types: Vec<_> = parameters.map(|parameter| &parameter.0).collect();
        format!("{} {types:?}", statement.sql)
    };
    statements.iter().map(line).collect()
}

/// The statements in the store's sources: of each its literals, and the start of an insertion.
fn written() -> Vec<Vec<String>> {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let mut statements = Vec::new();
    for file in std::fs::read_dir(store).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(file).unwrap();
        let text = text.replace("\\\"", QUOTE).replace("\\\n", " ");
        for begin in ["sql!(", "lock!("] {
            let calls = text.split(begin).skip(1).flat_map(of_postgres);
            statements.extend(calls.map(|call| pieces(call, &text)));
        }
    }
    statements.retain(|pieces: &Vec<String>| !pieces.is_empty());
    statements
}

/// What a call of the macro sends to PostgreSQL: for one row, and for many at once.
fn of_postgres(text: &str) -> Vec<&str> {
    let call = before_its_end(text, '(', ')');
    let of = |begin: &str| {
        let (_, rest) = call.split_once(begin)?;
        Some(before_its_end(rest, '[', ']'))
    };
    let of_both = (!call.contains("sqlite: [")).then_some(call);
    let one = of("postgres: [").or_else(|| of("one: [")).or(of_both);
    let many = (1..=5).find_map(|key| of(&format!("many({key}): [")));
    one.into_iter().chain(many).collect()
}

/// The text up to the end of a bracket that is open at its start; brackets in literals do not count.
fn before_its_end(text: &str, open: char, close: char) -> &str {
    let (mut depth, mut literal) = (1, false);
    for (at, character) in text.char_indices() {
        match character {
            '"' => literal = !literal,
            _ if literal => {}
            _ if character == open => depth += 1,
            _ if character == close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// The literals of a statement, and its start if it is an insertion into the table of the file.
fn pieces(call: &str, file: &str) -> Vec<String> {
    let mut pieces: Vec<_> = call
        .split('"')
        .skip(1)
        .step_by(2)
        .map(|literal| spaced(&literal.replace(QUOTE, "\"")))
        .collect();
    if let Some((module, _)) = call.split_once("::INSERT") {
        let table = file
            .split_once(&format!("mod {} = \"", module.trim()))
            .unwrap()
            .1;
        let (table, _) = table.split_once('"').unwrap();
        pieces.push(format!("INSERT INTO \"{table}\""));
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// With each run of white space as one space.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn what_this_version_says_is_recorded() {
    let file = folder().join(concat!(env!("CARGO_PKG_VERSION"), ".jsonl"));
    let said = said_and_answered().await;
    if std::env::var_os("INVOICING_RECORD_STATEMENTS").is_some() {
        let lines = said
            .iter()
            .map(|line| serde_json::to_string(line).unwrap() + "\n");
        std::fs::write(&file, lines.collect::<String>()).unwrap();
    }
    let (said, recorded) = (distinct(&said), distinct(&recorded(&file)));
    let stale: Vec<_> = said.symmetric_difference(&recorded).collect();
    let file = file.display();
    assert!(
        stale.is_empty(),
        "{file} is stale. Write it again: {RECORD}\n{stale:#?}"
    );
}

#[tokio::test]
async fn the_story_says_every_statement_that_is_written_in_the_store() {
    let said: Vec<String> = said().await.iter().map(|said| spaced(&said.sql)).collect();
    let written = written();
    assert!(written.len() > 50, "{written:?}");
    let missing: Vec<_> = written
        .iter()
        .filter(|pieces| {
            !said
                .iter()
                .any(|sql| pieces.iter().all(|piece| sql.contains(piece)))
        })
        .collect();
    assert!(
        missing.is_empty(),
        "scenario.rs leads nobody to {missing:#?}"
    );
}

#[tokio::test]
async fn every_release_is_answered_on_the_newest_schema_as_on_its_own() {
    for file in std::fs::read_dir(folder()).unwrap() {
        let file = file.unwrap().path();
        let broken = broken(&migrated().await, &recorded(&file)).await;
        if let Some(broken) = broken {
            panic!("a replica of {} would break: {broken}", file.display());
        }
    }
}

#[tokio::test]
async fn a_migration_that_breaks_older_replicas_is_found() {
    let statements = said_and_answered().await;
    for (migration, found) in [
        ("ALTER TABLE product DROP COLUMN tax_rate", "\"tax_rate\" "),
        (
            "ALTER TABLE session RENAME COLUMN user_agent TO agent",
            "\"user_agent\" ",
        ),
        (
            "ALTER TABLE member RENAME TO membership",
            "\"member\" does not exist",
        ),
        ("ALTER TABLE team ADD region TEXT NOT NULL", "\"region\" "),
        (
            "ALTER TABLE product ADD CHECK (sku IS NULL)",
            "refused by product_",
        ),
        (
            "ALTER TABLE product ALTER created_at TYPE NUMERIC",
            "created_at numeric",
        ),
        (
            "DROP INDEX product_sku",
            "no unique or exclusion constraint",
        ),
        ("ALTER INDEX product_sku RENAME TO sku", "refused by sku"),
        ("DROP INDEX user_email", "no unique or exclusion constraint"),
        (
            "CREATE UNIQUE INDEX one ON auth_code (user_id)",
            "refused by one",
        ),
    ] {
        let url = migrated().await;
        ask(&url, migration);
        let broken = broken(&url, &statements).await.unwrap_or_default();
        assert!(broken.contains(found), "{migration}: {broken:?}");
    }
}

#[tokio::test]
async fn a_migration_that_only_adds_breaks_nobody() {
    let url = migrated().await;
    ask(
        &url,
        "DO $$ DECLARE name TEXT; BEGIN \
             FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP \
                 EXECUTE format('ALTER TABLE %I ADD later TEXT, ADD more BIGINT NOT NULL DEFAULT 0', name); \
                 EXECUTE format('CREATE INDEX ON %I (later)', name); \
             END LOOP; \
         END $$; CREATE TABLE invoice (id UUID NOT NULL PRIMARY KEY)",
    );
    assert_eq!(broken(&url, &said_and_answered().await).await, None);
}
