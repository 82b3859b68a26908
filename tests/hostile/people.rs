//! A user who is signed in, in a browser.

use std::time::Duration;

use rusqlite::Connection;
use test_support::caller::Request;
use test_support::deployment::Skip;
use test_support::service::Service;
use uuid::Uuid;

/// The origin under which people reach the servers of these tests.
pub const ORIGIN: &str = "http://localhost:8080";

/// A form from a page of the server.
pub fn form(path: &str, text: &str) -> Request {
    Request::new("POST", path)
        .text(text)
        .without_header("content-type")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin")
}

/// A user, and the cookie of their session.
///
/// # Errors
/// When the database of a deployment cannot be reached.
pub async fn signed_in(service: &Service) -> Result<(Uuid, String), Skip> {
    signed_in_as(service, "ada@example.com").await
}

/// The same, with that email.
///
/// # Errors
/// When the database of a deployment cannot be reached.
pub async fn signed_in_as(service: &Service, email: &str) -> Result<(Uuid, String), Skip> {
    let user = service.command(&["user", "create", "--email", email, "--name", "Ada"])?;
    let link = service.command(&["user", "reset-link", email, "--origin", ORIGIN])?;
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    let url = text(&link["url"]);
    let path = url.strip_prefix(ORIGIN).expect("a page");
    let reset = form(path, "password=lantern+harbour+tulip+nine");
    let answer = service.caller.send_unchecked(reset).await;
    let answer = answer.expect("an answer comes");
    assert_eq!(answer.status, 303);
    let cookie = answer.header("set-cookie").expect("a cookie");
    let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
    Ok((text(&user["id"]).parse().expect("an id"), cookie))
}

/// Changes rows of the service's own database.
///
/// # Errors
/// For a deployment.
pub fn change_rows(service: &Service, statement: &str) -> Result<(), Skip> {
    let database = service.own_database()?;
    match database.strip_prefix("sqlite:") {
        Some(path) => {
            let file = Connection::open(path).expect("it is there");
            file.busy_timeout(Duration::from_secs(5)).expect("a number");
            file.execute_batch(statement).expect("it is changed");
        }
        None => _ = test_support::postgres::ask(database, statement),
    }
    Ok(())
}

/// Writes this many events of a user into the audit, as if they had happened.
///
/// # Errors
/// When the database of a deployment cannot be reached.
pub fn has_done(service: &Service, user: &Uuid, count: u32) -> Result<(), Skip> {
    let user_agent = "x".repeat(300);
    let event = format!("'change-name', '{user_agent}', 1795211340123");
    let columns = "audit_event (id, actor, action, user_agent, created_at)";
    pile_up(
        service,
        columns,
        count,
        &[Piled::New, Piled::Id(user)],
        &event,
    )
}

/// The first columns of a row in a pile.
#[derive(Clone, Copy)]
pub enum Piled<'a> {
    /// An id that no other row has.
    New,
    /// The id of something.
    Id(&'a Uuid),
    /// 32 bytes that no other row has.
    Digest,
    /// A text that no other row has.
    Text,
}

/// Inserts `count` rows, which begin with some `ids` and are alike after them.
///
/// # Errors
/// When the database of a deployment cannot be reached.
pub fn pile_up(
    service: &Service,
    table: &str,
    count: u32,
    ids: &[Piled<'_>],
    rest: &str,
) -> Result<(), Skip> {
    let database = service.own_database()?;
    let path = database.strip_prefix("sqlite:");
    let id = |it: &Piled<'_>| match (it, path) {
        (Piled::New, Some(_)) => "randomblob(16)".to_owned(),
        (Piled::New, None) => "gen_random_uuid()".to_owned(),
        (Piled::Id(id), Some(_)) => format!("x'{}'", id.simple()),
        (Piled::Id(id), None) => format!("'{id}'::uuid"),
        (Piled::Digest, Some(_)) => "randomblob(32)".to_owned(),
        (Piled::Text, Some(_)) => "hex(randomblob(16))".to_owned(),
        (Piled::Text, None) => "gen_random_uuid()::text".to_owned(),
        (Piled::Digest, None) => "sha256(gen_random_uuid()::text::bytea)".to_owned(),
    };
    let ids: Vec<_> = ids.iter().map(id).collect();
    let row = format!("INSERT INTO {table} SELECT {}, {rest}", ids.join(", "));
    let Some(path) = path else {
        let all = format!("{row} FROM generate_series(1, {count})");
        test_support::postgres::ask(database, &all);
        return Ok(());
    };
    let numbers = format!(
        "WITH RECURSIVE number (it) AS (SELECT 1 UNION ALL SELECT it + 1 FROM number WHERE it < {count})"
    );
    let file = Connection::open(path).expect("it is there");
    file.busy_timeout(Duration::from_secs(10))
        .expect("it is set");
    file.execute(&format!("{numbers} {row} FROM number"), [])
        .expect("they are written");
    Ok(())
}
