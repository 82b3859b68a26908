//! `/demo/authorize`: an app can sign in at `invoicing demo --fixed` over HTTP alone, and nowhere
//! else.

use reqwest::Url;
use serde_json::{Value, json};
use test_support::caller::{Caller, Request};
use test_support::response_validator::Received;

use crate::demo::Demo;
use crate::place::Place;
use crate::server::Server;

/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const REDIRECT_URI: &str = "com.example.demo:/signed-in";

const AUTHORIZATION_REQUEST: [(&str, &str); 6] = [
    ("response_type", "code"),
    ("client_id", "demo-app"),
    ("redirect_uri", REDIRECT_URI),
    ("code_challenge", CHALLENGE),
    ("code_challenge_method", "S256"),
    ("scope", "whatever"),
];

/// Sends a browser to the page.
async fn authorize(caller: &Caller, parameters: &[(&str, &str)]) -> Received {
    let url = Url::parse_with_params("http://demo/demo/authorize", parameters).unwrap();
    let target = format!("{}?{}", url.path(), url.query().unwrap());
    let sent = caller.send_unchecked(Request::new("GET", target)).await;
    sent.unwrap()
}

/// Where the browser is redirected, and with which parameters.
fn redirection(answer: &Received) -> (String, Vec<(String, String)>) {
    assert_eq!(answer.status, 302, "{answer:?}");
    let mut location = Url::parse(answer.header("location").unwrap()).unwrap();
    let parameters = location.query_pairs().into_owned().collect();
    location.set_query(None);
    (location.into(), parameters)
}

async fn exchange(caller: &Caller, code: &str, verifier: &str) -> test_support::caller::Answer {
    let exchange = Request::new("POST", "/api/auth/mobile/token").json(&json!({
        "grant_type": "authorization_code", "code": code, "code_verifier": verifier,
        "redirect_uri": REDIRECT_URI, "client_id": "demo-app", "install_id": "demo-tablet",
    }));
    caller.send(exchange).await
}

#[tokio::test]
async fn an_app_signs_in_as_often_as_it_likes_and_gets_its_state_back() {
    let place = Place::new();
    let demo = Demo::start_with(&place, &["--fixed"]);
    let caller = Caller::new(&demo.server.url);
    for state in ["first", "a&b=c d/ä"] {
        let with_state = [&AUTHORIZATION_REQUEST[..], &[("state", state)]].concat();
        let answer = authorize(&caller, &with_state).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let (target, parameters) = redirection(&answer);
        assert_eq!(target, REDIRECT_URI);
        assert_eq!(parameters[1], ("state".to_owned(), state.to_owned()));
        assert_eq!((parameters.len(), &*parameters[0].0), (2, "code"));

        let tokens = exchange(&caller, &parameters[0].1, VERIFIER).await;
        let tokens = tokens.expect_status(200).json();
        assert_eq!(tokens["user_id"], "01900000-0000-7000-8000-000000000002");
        let links = "/api/mobile/items/file/01900000-0000-7000-8000-000000000003/links";
        let links = Request::new("GET", links)
            .bearer(tokens["access_token"].as_str().unwrap())
            .header("X-Team-Id", "01900000-0000-7000-8000-000000000001");
        caller.send(links).await.expect_status(200);
    }
}

#[tokio::test]
async fn a_code_of_the_page_is_bound_to_its_challenge() {
    let place = Place::new();
    let demo = Demo::start_with(&place, &["--fixed"]);
    let caller = Caller::new(&demo.server.url);
    let (_, parameters) = redirection(&authorize(&caller, &AUTHORIZATION_REQUEST).await);
    assert_eq!(parameters.len(), 1, "no state was sent");
    let refused = exchange(&caller, &parameters[0].1, &VERIFIER.replace('d', "e")).await;
    assert_eq!(refused.expect_status(400).json()["error"], "invalid_grant");
}

#[tokio::test]
async fn an_app_of_its_own_is_registered_in_the_database_of_the_demo() {
    let place = Place::new();
    let demo = Demo::start_with(&place, &["--fixed"]);
    let database = demo.word_after("--database");
    let uri = "http://127.0.0.1:3000/signed-in?tenant=1";
    let create = ["oauth-client", "create", "--id", "mine", "--name", "Mine"];
    place.make(
        &[
            &create[..],
            &["--redirect-uri", uri, "--database", database],
        ]
        .concat(),
    );

    let mut request = AUTHORIZATION_REQUEST;
    request[1] = ("client_id", "mine");
    request[2] = ("redirect_uri", uri);
    let answer = authorize(&Caller::new(&demo.server.url), &request).await;
    let (target, parameters) = redirection(&answer);
    assert_eq!(target, "http://127.0.0.1:3000/signed-in");
    assert_eq!(parameters[0], ("tenant".to_owned(), "1".to_owned()));
    assert_eq!((parameters.len(), &*parameters[1].0), (2, "code"));
}

#[tokio::test]
async fn a_request_that_is_wrong_is_told_why_and_goes_nowhere() {
    let place = Place::new();
    let demo = Demo::start_with(&place, &["--fixed"]);
    let caller = Caller::new(&demo.server.url);
    for (name, value, why) in [
        ("response_type", "token", "expected `code`"),
        ("client_id", "other", "no OAuth client"),
        (
            "redirect_uri",
            "https://elsewhere.example/",
            "no redirect URI",
        ),
        (
            "code_challenge",
            &VERIFIER[1..],
            "BASE64URL(SHA256(verifier))",
        ),
        ("code_challenge_method", "plain", "expected `S256`"),
    ] {
        let mut wrong = AUTHORIZATION_REQUEST.to_vec();
        wrong.retain(|(other, _)| *other != name);
        let missing = authorize(&caller, &wrong).await;
        wrong.push((name, value));
        let wrong = authorize(&caller, &wrong).await;
        for (answer, why) in [(missing, name), (wrong, why)] {
            assert_eq!((answer.status, answer.header("location")), (400, None));
            let message = answer.json()["message"].take();
            assert!(message.as_str().unwrap().contains(why), "{message}");
        }
    }
}

#[tokio::test]
async fn the_sign_in_page_exists_only_in_a_demo_with_fixed_credentials() {
    let place = Place::new();
    let demo = Demo::start_with(&place, &[]);
    let server = Server::start(&mut place.command(["serve", "--listen", "127.0.0.1:0"]));
    for url in [&demo.server.url, &server.url] {
        let answer = authorize(&Caller::new(url), &AUTHORIZATION_REQUEST).await;
        assert_eq!((answer.status, answer.header("location")), (404, None));
        assert_ne!(answer.json(), Value::Null);
    }
}
