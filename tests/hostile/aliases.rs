//! Methods and paths that differ from the published spelling do not reach an operation.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use test_support::caller::{Caller, Request};
use test_support::document;
use test_support::given;
use test_support::response_validator::Received;
use test_support::service::{Service, Team};

const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

/// The other routes of the server, which need no credential.
const UNPUBLISHED: [&str; 6] = [
    "/",
    "/docs",
    "/docs/catalog",
    "/docs/page.css",
    "/api/v1/openapi.json",
    "/api/mobile/openapi.yaml",
];

/// The server, over both versions of HTTP.
fn callers(service: &Service) -> [Caller; 2] {
    let url = service.caller.base_url();
    [Caller::new(url), Caller::over_http2(url)]
}

async fn send(caller: &Caller, request: Request) -> Received {
    let sent = caller.send_unchecked(request.clone()).await;
    sent.unwrap_or_else(|error| panic!("no answer: {error:?}\n{request:?}"))
}

/// A published operation.
struct Operation {
    method: String,
    path: String,
}

fn operations() -> Vec<Operation> {
    let documents = [document::catalog(), document::mobile()];
    let operations = documents.iter().flat_map(|it| &it.operations);
    let operations = operations.map(|it| Operation {
        method: it.method.clone(),
        path: it.path.clone(),
    });
    operations.collect()
}

/// An instance of a published path.
fn instance(path: &str) -> String {
    let id = "01a1faef-295b-7c3e-9f21-6d0b8a4c5e17";
    path.replace("{id}", id).replace("{targetType}", "file")
}

/// Other spellings of a path, all of which a lenient reading of URLs would resolve to it.
fn aliases(template: &str, path: &str) -> Vec<String> {
    let mut aliases = vec![format!("/{path}"), format!("{path}/"), format!("{path}//")];
    let parts: Vec<_> = path.split('/').collect();
    for (at, literal) in template.split('/').enumerate() {
        if literal.is_empty() || literal.starts_with('{') {
            continue;
        }
        let with = |segment: String| {
            let mut parts: Vec<_> = parts.iter().map(|it| (*it).to_owned()).collect();
            parts[at] = segment;
            parts.join("/")
        };
        let (first, rest) = literal.split_at(1);
        aliases.push(with(format!("%{:02X}{rest}", first.as_bytes()[0])));
        aliases.push(with(format!("/{literal}")));
        aliases.push(with(format!("%2F{literal}")));
    }
    aliases
}

/// Asserts that it is the answer to a path without a route, which may name a published one.
fn assert_not_found(received: &Received, case: &str) {
    let mut body = received.json();
    let message = body["message"].as_str().expect("a message");
    if let Some((said, meant)) = message.split_once(": the published path closest to this one is ")
    {
        assert!(
            operations().iter().any(|it| it.path == meant),
            "{case}: {meant}"
        );
        body["message"] = json!(said);
    }
    let id = received.header("x-request-id");
    let expected = json!({ "request_id": id, "message": "Not Found" });
    assert_eq!((received.status, &body), (404, &expected), "{case}");
}

/// Asserts the framework's 405, which lists these methods in one header.
fn assert_not_allowed(received: &Received, allow: &BTreeSet<&str>, case: &str) {
    let lines: Vec<_> = received
        .headers
        .iter()
        .filter(|(name, _)| name == "allow")
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(lines.len(), 1, "{case}: {lines:?}");
    let listed: BTreeSet<_> = lines[0].split(", ").collect();
    assert_eq!((received.status, &listed), (405, allow), "{case}");
    let id = received.header("x-request-id");
    let expected = json!({ "request_id": id, "message": "Method Not Allowed" });
    assert_eq!(received.json(), expected, "{case}");
}

#[tokio::test]
async fn a_path_that_is_not_written_as_published_has_no_route() {
    let service = given!(Service::own(BINARY, &[]));
    let team: Team = given!(service.team());
    for caller in callers(&service) {
        assert_not_found(&send(&caller, Request::new("GET", "/no")).await, "/no");
        for operation in operations() {
            for alias in aliases(&operation.path, &instance(&operation.path)) {
                for method in [operation.method.as_str(), "PUT", "FOO"] {
                    let request = Request::new(method, alias.clone()).bearer(&team.live);
                    let case = format!("{method} {alias}");
                    assert_not_found(&send(&caller, request.text("{}")).await, &case);
                }
            }
        }
        for path in UNPUBLISHED.into_iter().filter(|path| *path != "/") {
            for alias in aliases(path, path) {
                for method in ["GET", "POST", "FOO"] {
                    let case = format!("{method} {alias}");
                    let request = Request::new(method, alias.clone());
                    assert_not_found(&send(&caller, request).await, &case);
                }
            }
        }
    }
}

#[tokio::test]
async fn an_alias_makes_changes_and_shows_nothing() {
    let service = given!(Service::own(BINARY, &[]));
    let team = given!(service.team());
    let product = json!({ "name": "n", "unitPrice": 1, "currency": "EUR" });
    let made = Request::new("POST", "/api/v1/products").bearer(&team.live);
    let made = service.caller.send(made.json(&product)).await;
    let made = made.expect_status(201).data();
    let path = format!("/api/v1/products/{}", made["id"].as_str().unwrap());
    for caller in callers(&service) {
        for (method, target) in [
            ("delete", path.clone()),
            ("Delete", path.clone()),
            ("DELETE", format!("{path}/")),
            ("DELETE", path.replace("/products/", "/products//")),
            ("DELETE", path.replace("v1", "%761")),
            ("patch", path.clone()),
            ("PATCH", format!("/{path}")),
            ("post", "/api/v1/products".to_owned()),
            ("POST", "/api/v1/products/".to_owned()),
            ("POST", "/api/v1/%70roducts".to_owned()),
        ] {
            let body = match method.to_ascii_uppercase().as_str() {
                "POST" => product.to_string(),
                _ => json!({ "name": "changed" }).to_string(),
            };
            let request = Request::new(method, target.clone()).bearer(&team.live);
            let received = send(&caller, request.text(body)).await;
            assert!(
                [404, 405].contains(&received.status),
                "{method} {target}: {} {:?}",
                received.status,
                received.json()
            );
        }
    }
    let all = Request::new("GET", "/api/v1/products?status=all").bearer(&team.live);
    let all = service.caller.send(all).await.expect_status(200).data();
    assert_eq!(all["data"], json!([made]));
}

#[tokio::test]
async fn a_variable_may_be_percent_encoded() {
    let service = given!(Service::own(BINARY, &[]));
    let team = given!(service.team());
    let product = json!({ "name": "n", "unitPrice": 1, "currency": "EUR" });
    let made = Request::new("POST", "/api/v1/products").bearer(&team.live);
    let made = service.caller.send(made.json(&product)).await;
    let id = made.expect_status(201).data()["id"].clone();
    let id = id.as_str().unwrap();
    let encoded: String = id.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let read = Request::new("GET", format!("/api/v1/products/{encoded}")).bearer(&team.live);
    let read = service.caller.send_unchecked(read).await.unwrap();
    assert_eq!((read.status, &read.json()["data"]["id"]), (200, &json!(id)));
}

#[tokio::test]
async fn a_method_that_nobody_knows_is_told_the_published_ones_in_one_header() {
    let service = given!(Service::own(BINARY, &[]));
    for caller in callers(&service) {
        for operation in operations() {
            let all = operations();
            let of_path = all.iter().filter(|it| it.path == operation.path);
            let allow: BTreeSet<_> = of_path.map(|it| it.method.as_str()).collect();
            let path = instance(&operation.path);
            let lower = operation.method.to_ascii_lowercase();
            for method in ["FOO", "PROPFIND", "head", "options", &lower] {
                let received = send(&caller, Request::new(method, path.clone())).await;
                let case = format!("{method} {path}");
                assert_not_allowed(&received, &allow, &case);
                if path.ends_with("/token") {
                    let stored = received.header("cache-control");
                    assert_eq!(stored, Some("no-store"), "{case}");
                }
            }
        }
    }
}

#[tokio::test]
async fn what_is_not_published_has_get_and_head_and_says_so_in_one_header() {
    let service = given!(Service::own(BINARY, &[]));
    let allow = BTreeSet::from(["GET", "HEAD"]);
    for caller in callers(&service) {
        for path in UNPUBLISHED {
            for method in [
                "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "FOO", "get", "Head",
            ] {
                let received = send(&caller, Request::new(method, path)).await;
                assert_not_allowed(&received, &allow, &format!("{method} {path}"));
            }
        }
    }
}

#[tokio::test]
async fn what_cannot_be_decoded_is_still_400() {
    let service = given!(Service::own(BINARY, &[]));
    for path in ["/api/v1/products/%ff", "/api/v1/%ff", "/%ff"] {
        let received = send(&service.caller, Request::new("GET", path)).await;
        let message = Value::from("invalid path encoding");
        let told = (received.status, &received.json()["message"]);
        assert_eq!(told, (400, &message), "{path}");
    }
}
