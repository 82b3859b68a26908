//! A credential that ends while a request is in progress must not change anything.
//!
//! The head of a request arrives while its credential is valid. Its body waits until the credential has ended. The
//! answer is that to any other request with such a credential; nothing has changed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use test_support::caller::Request;
use test_support::service::{Device, Service, Team};

use crate::people::{ORIGIN, form, signed_in};

const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

const PRODUCTS: &str = "/api/v1/products";

/// Longer than any answer takes on a busy machine.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The test's own server, and a team.
fn given() -> (Service, Team) {
    let service = Service::own(BINARY, &[]).expect("no deployment is given");
    let team = service.team().expect("it has a database");
    (service, team)
}

/// A request whose credential was checked, and whose body has not arrived.
struct Held {
    stream: TcpStream,
    body: String,
}

impl Held {
    /// Sends the head of a request, and waits until the server asks for the body, having admitted the caller.
    fn new(service: &Service, line: &str, headers: &[(&str, &str)], body: &Value) -> Held {
        Held::of_type("application/json", service, line, headers, body.to_string())
    }

    /// The same, for a body of any media type.
    fn of_type(
        media_type: &str,
        service: &Service,
        line: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Held {
        let address = service.caller.base_url().trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).unwrap();
        let mut head = format!(
            "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: {media_type}\r\n\
             Content-Length: {}\r\nExpect: 100-continue\r\n",
            body.len()
        );
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all((head + "\r\n").as_bytes()).unwrap();
        let mut go_on = *b"HTTP/1.1 100 Continue\r\n\r\n";
        stream.read_exact(&mut go_on).expect("it asks for the body");
        assert!(go_on.starts_with(b"HTTP/1.1 100"), "{go_on:?}");
        Held { stream, body }
    }

    /// Sends the body. Returns the head of the answer, and its body.
    fn finish(mut self) -> (String, String) {
        self.stream.write_all(self.body.as_bytes()).unwrap();
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.to_ascii_lowercase(), body.to_owned())
    }

    /// The same for an answer that must be that of an ended API key, and reveal no more than that.
    #[track_caller]
    fn expect_ended(self, what: &str) {
        let (head, body) = self.finish();
        assert!(head.starts_with("http/1.1 401"), "{what}: {head}\n{body}");
        assert!(
            head.contains("www-authenticate: bearer error=\"invalid_token\""),
            "{what}: {head}"
        );
        assert!(!head.contains("ratelimit"), "{what}: {head}");
        let body: Value = serde_json::from_str(&body).expect("JSON");
        let error = &body["error"];
        assert_eq!(
            (&error["type"], &error["code"]),
            (&json!("authentication_error"), &json!("invalid_token")),
            "{what}: {body}"
        );
        let message = "The API key is missing, malformed, unknown, expired or revoked";
        assert_eq!(error["message"], message, "{what}");
    }
}

fn product(name: &str) -> Value {
    json!({ "name": name, "unitPrice": 1, "currency": "EUR" })
}

/// The id of the key, from the list of the command line.
fn id_of_read_write_key(service: &Service, team: &Team) -> String {
    let keys = service
        .command(&["api-key", "list", "--team", &team.id])
        .unwrap();
    let is_it = |key: &&Value| key["mode"] == "live" && key["scope"] == "read-write";
    let key = keys
        .as_array()
        .unwrap()
        .iter()
        .find(is_it)
        .expect("the key");
    key["id"].as_str().unwrap().to_owned()
}

/// All products of the team, listed with another key.
async fn products(service: &Service, team: &Team) -> Vec<Value> {
    let list = Request::new("GET", format!("{PRODUCTS}?status=all")).bearer(&team.live_read_only);
    let answer = service.caller.send(list).await.expect_status(200);
    answer.data()["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_key_that_is_revoked_before_the_body_came_changes_nothing_and_replays_nothing() {
    let (service, team) = given();
    let bearer = format!("Bearer {}", team.live);
    let key = [("Authorization", &bearer[..]), ("Idempotency-Key", "first")];
    let (head, made) = Held::new(
        &service,
        &format!("POST {PRODUCTS}"),
        &key,
        &product("kept"),
    )
    .finish();
    assert!(head.starts_with("http/1.1 201"), "{head}\n{made}");
    let made: Value = serde_json::from_str(&made).unwrap();
    let path = format!("{PRODUCTS}/{}", made["data"]["id"].as_str().unwrap());
    let before = products(&service, &team).await;

    let patch = json!({ "name": "renamed" });
    let held = [
        (
            "create",
            format!("POST {PRODUCTS}"),
            &key[..1],
            product("late"),
        ),
        (
            "replay",
            format!("POST {PRODUCTS}"),
            &key[..],
            product("kept"),
        ),
        (
            "reuse",
            format!("POST {PRODUCTS}"),
            &key[..],
            product("another"),
        ),
        ("update", format!("PATCH {path}"), &key[..1], patch.clone()),
        (
            "of a product that is not there",
            format!("PATCH {PRODUCTS}/{}", uuid::Uuid::new_v4()),
            &key[..1],
            patch,
        ),
    ];
    let held =
        held.map(|(what, line, headers, body)| (what, Held::new(&service, &line, headers, &body)));
    let id = id_of_read_write_key(&service, &team);
    service.command(&["api-key", "revoke", &id]).unwrap();
    for (what, held) in held {
        held.expect_ended(what);
    }
    assert_eq!(products(&service, &team).await, before);
}

#[tokio::test]
async fn a_key_that_expires_before_the_body_came_changes_nothing() {
    let (service, team) = given();
    let create = [
        "api-key",
        "create",
        "--team",
        &team.id,
        "--mode",
        "live",
        "--scope",
        "read-write",
    ];
    let key = service
        .command(&[&create[..], &["--expires-in", "3s"]].concat())
        .unwrap();
    let bearer = format!("Bearer {}", key["key"].as_str().unwrap());
    let headers = [("Authorization", &bearer[..])];
    let held = Held::new(
        &service,
        &format!("POST {PRODUCTS}"),
        &headers,
        &product("late"),
    );
    // Until the key is refused elsewhere, so that no delay has to be guessed.
    let list = || Request::new("GET", PRODUCTS).bearer(key["key"].as_str().unwrap());
    let begun = std::time::Instant::now();
    while service.caller.send(list()).await.status() != 401 {
        assert!(begun.elapsed() < ANSWER_TIMEOUT, "the key does not expire");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    held.expect_ended("create");
    assert_eq!(products(&service, &team).await, Vec::<Value>::new());
}

/// The heads of a code exchange and of a refresh, whose bodies are held back.
async fn exchanges(service: &Service, device: &Device) -> [Held; 2] {
    let code = service.authorization_code(device).unwrap();
    let token = |grant: Value| Held::new(service, "POST /api/auth/mobile/token", &[], &grant);
    [
        token(device.code_grant(&code)),
        token(device.refresh_grant(&device.refresh_token)),
    ]
}

#[track_caller]
fn expect_invalid_grant(held: Held, what: &str) {
    let (head, body) = held.finish();
    assert!(head.starts_with("http/1.1 400"), "{what}: {head}\n{body}");
    assert!(body.contains("\"invalid_grant\""), "{what}: {body}");
}

#[tokio::test]
async fn a_session_that_ends_before_the_body_came_is_not_refreshed() {
    let (service, team) = given();
    let device = service.device(&team).await.unwrap();
    let [_, refresh] = exchanges(&service, &device).await;
    let sessions = service
        .command(&["session", "list", "--user", &device.user_id])
        .unwrap();
    let session = sessions[0]["id"].as_str().unwrap();
    service.command(&["session", "revoke", session]).unwrap();
    expect_invalid_grant(refresh, "refresh");
}

#[tokio::test]
async fn a_user_who_is_removed_before_the_body_came_is_not_signed_in() {
    let (service, team) = given();
    let device = service.device(&team).await.unwrap();
    let [code, refresh] = exchanges(&service, &device).await;
    remove_user(&service, &device.user_id).await;
    expect_invalid_grant(code, "code");
    expect_invalid_grant(refresh, "refresh");
}

/// Removes a user as another process on the same database would: no command does it yet.
async fn remove_user(service: &Service, user: &str) {
    let address = service.own_database().unwrap().parse().unwrap();
    let store = invoicing::store::open(&address).await.unwrap();
    let clock = std::sync::Arc::new(invoicing::domain::time::SystemClock);
    let app = invoicing::app::App::new(store, clock, "https://links.example")
        .await
        .unwrap();
    app.delete_user(user.parse().unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_refused_form_whose_session_ended_before_the_body_came_shows_no_page() {
    let service = Service::own(BINARY, &[("INVOICING_ORIGIN", ORIGIN)]);
    let service = service.expect("no deployment is given");
    let team = service.team().expect("it has a database");
    let (user, cookie) = signed_in(&service).await.expect("it has a database");
    let user = user.to_string();
    let add = [
        "member", "add", "--team", &team.id, "--user", &user, "--role", "owner",
    ];
    service.command(&add).expect("it has a database");
    let headers = [("Cookie", &cookie[..]), ("Sec-Fetch-Site", "same-origin")];
    let line = format!("POST /teams/{}/settings/members", team.id);
    let held = || {
        let body = "email=nobody&role=viewer".to_owned();
        Held::of_type(
            "application/x-www-form-urlencoded",
            &service,
            &line,
            &headers,
            body,
        )
    };
    let (head, page) = held().finish();
    assert!(head.starts_with("http/1.1 422"), "{head}\n{page}");
    assert!(page.contains("ada@example.com"), "{page}");

    let late = held();
    let sign_out = form("/sign-out", "").header("cookie", &cookie);
    let answer = service.caller.send_unchecked(sign_out).await;
    assert_eq!(answer.expect("an answer comes").status, 303);
    let (head, page) = late.finish();
    assert!(head.starts_with("http/1.1 303"), "{head}\n{page}");
    assert!(head.contains("location: /sign-in?next="), "{head}");
}
