//! `invoicing demo --fixed`: a server for consumers' tests, with the credentials and the headers that
//! `src/cli/demo/testing.md` documents. Every answer goes through the response validator.

use std::time::{Duration, Instant};

use serde_json::json;
use test_support::caller::{Caller, Request};

use crate::demo::Demo;
use crate::place::Place;
use crate::server::Server;

const KEY: &str = "inv_live_DemoReadWrite00000000000000000000000000000041Ct8q";
const READ_ONLY_KEY: &str = "inv_live_DemoReadOnly00000000000000000000000000000001OqafQ";
const TEST_KEY: &str = "inv_test_DemoReadWrite0000000000000000000000000000003YI6KG";
const TEAM: &str = "01900000-0000-7000-8000-000000000001";
const FILE: &str = "01900000-0000-7000-8000-000000000003";
const PRODUCTS: &str = "/api/v1/products";
const TOKEN: &str = "/api/auth/mobile/token";

fn fixed(place: &Place) -> (Demo, Caller) {
    let demo = Demo::start_with(place, &["--fixed"]);
    let caller = Caller::new(&demo.server.url);
    (demo, caller)
}

fn links() -> Request {
    Request::new("GET", format!("/api/mobile/items/file/{FILE}/links"))
        .bearer("demo-access-token-0000000000000000000000000")
        .header("X-Team-Id", TEAM)
}

fn refresh() -> Request {
    Request::new("POST", TOKEN).json(&json!({
        "grant_type": "refresh_token", "refresh_token": "demo-refresh-token",
        "client_id": "demo-app", "install_id": "demo-phone",
    }))
}

/// A request to every operation, each of which would succeed.
fn operations(product: &str) -> Vec<Request> {
    let body = json!({ "name": "Workshop", "unitPrice": 1490, "currency": "EUR" });
    let one = format!("{PRODUCTS}/{product}");
    vec![
        Request::new("GET", PRODUCTS).bearer(KEY),
        Request::new("POST", PRODUCTS).bearer(KEY).json(&body),
        Request::new("GET", &one).bearer(KEY),
        Request::new("PATCH", &one)
            .bearer(KEY)
            .json(&json!({ "name": "Other" })),
        Request::new("DELETE", &one).bearer(KEY),
        links(),
        refresh(),
    ]
}

async fn products(caller: &Caller, key: &str) -> Vec<serde_json::Value> {
    let answer = caller.send(Request::new("GET", PRODUCTS).bearer(key)).await;
    let page = answer.expect_status(200).data();
    page["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn the_published_credentials_work_at_each_start_on_a_clean_database() {
    let place = Place::new();
    for _ in 0..2 {
        let (_demo, caller) = fixed(&place);
        assert_eq!(products(&caller, KEY).await.len(), 3);
        assert_eq!(products(&caller, TEST_KEY).await.len(), 1);
        let body = json!({ "name": "Workshop", "unitPrice": 1490, "currency": "EUR" });
        let create = Request::new("POST", PRODUCTS).json(&body);
        let refused = caller.send(create.clone().bearer(READ_ONLY_KEY)).await;
        refused.expect(403, "scope_insufficient");
        caller.send(create.bearer(KEY)).await.expect_status(201);
        assert_eq!(products(&caller, READ_ONLY_KEY).await.len(), 4);

        let page = caller.send(links()).await.expect_status(200).data();
        assert_eq!(page["data"].as_array().unwrap().len(), 2);
        caller.send(refresh()).await.expect_status(200);
    }
}

#[tokio::test]
async fn fixed_credentials_open_nothing_unless_they_are_asked_for() {
    let place = Place::new();
    let demo = Demo::start_with(&place, &[]);
    let caller = Caller::new(&demo.server.url);
    for request in [Request::new("GET", PRODUCTS).bearer(KEY), links()] {
        caller.send(request).await.expect(401, "invalid_token");
    }
    assert_eq!(
        caller.send(refresh()).await.expect_status(400).json()["error"],
        "invalid_grant"
    );
}

#[tokio::test]
async fn every_operation_gives_every_answer_that_is_asked_for_and_does_nothing() {
    let place = Place::new();
    let (_demo, caller) = fixed(&place);
    let before = products(&caller, KEY).await;
    for request in operations(before[0]["id"].as_str().unwrap()) {
        for (status, code, oauth) in [
            (429, "rate_limit_exceeded", "rate_limit_exceeded"),
            (500, "internal_error", "server_error"),
            (503, "unavailable", "temporarily_unavailable"),
        ] {
            let asking = request.clone().header("Demo-Answer", status.to_string());
            let answer = caller.send(asking).await.expect_status(status);
            let error = answer.json()["error"].take();
            match request.path() {
                TOKEN => assert_eq!(error, oauth),
                _ => assert_eq!(error["code"], code),
            }
            assert_eq!(answer.header("retry-after").is_some(), status != 500);
            assert!(answer.header("ratelimit-policy").is_some(), "{status}");
            let used_up = answer.header("ratelimit").unwrap().contains(";r=0;");
            assert_eq!(used_up, status == 429);
        }
    }
    assert_eq!(products(&caller, KEY).await, before);
    caller.send(refresh()).await.expect_status(200);
}

#[tokio::test]
async fn a_client_that_tries_again_gets_the_real_answer_in_the_end() {
    let place = Place::new();
    let (_demo, caller) = fixed(&place);
    for test in ["one", "two"] {
        let create = Request::new("POST", PRODUCTS)
            .bearer(KEY)
            .header("Idempotency-Key", test)
            .header("Demo-Answer", format!("503; times=2; test={test}"))
            .json(&json!({ "name": test, "unitPrice": 1, "currency": "EUR" }));
        for status in [503, 503, 201, 201] {
            caller.send(create.clone()).await.expect_status(status);
        }
    }
}

#[tokio::test]
async fn an_answer_is_as_slow_as_was_asked_for() {
    let place = Place::new();
    let (_demo, caller) = fixed(&place);
    for (request, status) in [
        (Request::new("GET", PRODUCTS).bearer(KEY), 200),
        (links().header("Demo-Answer", "503"), 503),
    ] {
        let start = Instant::now();
        let slow = request.header("Demo-Latency", "300");
        caller.send(slow).await.expect_status(status);
        assert!(start.elapsed() >= Duration::from_millis(300));
    }
}

#[tokio::test]
async fn a_good_credential_comes_first_and_what_is_not_understood_goes_to_the_log() {
    let place = Place::new();
    let (mut demo, caller) = fixed(&place);
    let asking = |value| Request::new("GET", PRODUCTS).header("Demo-Answer", value);
    caller
        .send(asking("503"))
        .await
        .expect(401, "invalid_token");
    let stranger = asking("503").bearer(&KEY.replace("41Ct8q", "41Ct8r"));
    caller.send(stranger).await.expect(401, "invalid_token");

    let mistaken = caller.send(asking("418").bearer(KEY)).await;
    mistaken.expect_status(200);
    let line = demo
        .server
        .wait_for("a request asks for nothing that is known");
    assert_eq!(
        line["mistake"],
        "Demo-Answer does not begin with 429, 500 or 503"
    );
}

#[tokio::test]
async fn a_429_can_be_asked_for_without_rate_limits() {
    let place = Place::new();
    let demo = Demo::start_with(&place, &["--fixed", "--rate-limit", "off"]);
    let caller = Caller::new(&demo.server.url);
    let request = Request::new("GET", PRODUCTS).bearer(KEY);
    let answer = caller.send(request.clone()).await.expect_status(200);
    assert_eq!(answer.header("ratelimit"), None);
    let answer = caller.send(request.header("Demo-Answer", "429")).await;
    let answer = answer.expect(429, "rate_limit_exceeded");
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(answer.header("ratelimit"), Some("\"default\";r=0;t=2"));
}

/// The same database, served by `invoicing serve`: the headers do nothing there, however they are spelled.
#[tokio::test]
async fn invoicing_serve_knows_nothing_of_the_demos_headers() {
    let place = Place::new();
    let demo = Demo::start_with(&place, &["--fixed"]);
    let database = demo.word_after("--database");
    let mut serve = place.command(["serve", "--listen", "127.0.0.1:0", "--database", database]);
    let server = Server::start(&mut serve);
    let caller = Caller::new(&server.url);
    let product = products(&caller, KEY).await[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    for (request, status) in operations(&product)
        .into_iter()
        .zip([200, 201, 200, 200, 204, 200, 200])
    {
        let asking = request
            .header("Demo-Answer", "503")
            .header("demo-answer", "nonsense")
            .header("Demo-Latency", "60000");
        let start = Instant::now();
        caller.send(asking).await.expect_status(status);
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}

/// Keeps it that way: the headers are read in a module that is private to the demo, and code that gave it to
/// a server would have to name it. Nowhere else, either, are known ids and secrets made, or people signed in
/// without being asked.
#[test]
fn only_the_demo_can_name_its_fault_injection() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let demo = std::fs::read_to_string(format!("{source}/cli/demo/mod.rs")).unwrap();
    assert!(
        demo.contains("\nmod fault_injection;\n"),
        "a private module"
    );
    let mut folders = vec![std::path::PathBuf::from(source)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_demo = path.ends_with("cli/demo");
            if path.is_dir() && !is_demo {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = std::fs::read_to_string(&path).unwrap().to_lowercase();
                let of_the_demo = [
                    "demo-answer",
                    "demo-latency",
                    "/demo/authorize",
                    ".intercepted_by(",
                ];
                let of_the_app = [".add_api_key(", ".carry_out_exchange("];
                let may = path.strip_prefix(source).unwrap().starts_with("app");
                let named = of_the_demo.iter().chain(of_the_app.iter().filter(|_| !may));
                let named: Vec<_> = named.filter(|it| text.contains(**it)).collect();
                assert!(named.is_empty(), "{}: {named:?}", path.display());
            }
        }
    }
}
