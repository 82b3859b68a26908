//! `/api/auth/mobile/authorize`: apps sign people in, and no other site gains anything from it.

mod consent;
mod flow;
mod markup;
mod request;

use std::collections::BTreeMap;

use form_urlencoded::Serializer;
use reqwest::Url;
use serde_json::{Value, json};
use test_support::caller::Request;
use test_support::service::{CODE_CHALLENGE, CODE_VERIFIER, Service};

use crate::BINARY;
use crate::browser::{Browser, ORIGIN, Shown, form, server};
use crate::team::{PASSWORD, person, team};

const PATH: &str = "/api/auth/mobile/authorize";
const METADATA: &str = "/.well-known/oauth-authorization-server";
const URI: &str = "com.example.app:/signed-in";
const LOOPBACK: &str = "http://127.0.0.1/signed-in";
const ADA: &str = "ada@example.com";
const EVE: &str = "eve@example.com";

const GOOD: [(&str, &str); 6] = [
    ("response_type", "code"),
    ("client_id", "app"),
    ("redirect_uri", URI),
    ("code_challenge", CODE_CHALLENGE),
    ("code_challenge_method", "S256"),
    ("state", "s"),
];

/// A server with pages and an app.
fn with_an_app() -> Option<Service> {
    let service = server()?;
    let app = ["oauth-client", "create", "--id", "app", "--name", "<App>"];
    let uris = [
        "--redirect-uri",
        URI,
        "--redirect-uri",
        LOOPBACK,
        "--redirect-uri",
        "https://app.example.com/cb?tenant=1",
    ];
    command(&service, &[&app[..], &uris].concat());
    Some(service)
}

/// A browser in which a new user is signed in.
async fn browser_of<'a>(service: &'a Service, email: &str) -> Browser<'a> {
    person(service, email).await;
    let mut browser = Browser::new(service);
    browser.sign_in(email, PASSWORD).await;
    browser
}

/// Signs in on the sign-in page. Returns where that leads.
async fn sign_in(browser: &mut Browser<'_>, email: &str, page: &Shown) -> String {
    let next = field(page, "next");
    let fields = [("email", email), ("password", PASSWORD), ("next", &next)];
    location(&browser.post("/sign-in", &fields).await)
}

/// Runs a command on the database of the service.
fn command(service: &Service, arguments: &[&str]) -> Value {
    service.command(arguments).expect("an own server")
}

/// Encodes pairs as a query.
fn query(pairs: &[(&str, &str)]) -> String {
    let mut query = Serializer::new(String::new());
    query.extend_pairs(pairs).finish()
}

/// The value of a hidden field, decoded.
fn field(page: &Shown, name: &str) -> String {
    attribute(page, &format!("name=\"{name}\" value=\""))
}

/// The text after `behind`, up to the next quote, decoded.
fn attribute(page: &Shown, behind: &str) -> String {
    let text = page.text();
    let (_, rest) = text
        .split_once(behind)
        .unwrap_or_else(|| panic!("no {behind} in {text}"));
    let value = rest.split('"').next().unwrap_or_default();
    let marks = [
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#38;", "&"),
    ];
    let plain = |text: String, (mark, char): &(&str, &str)| text.replace(mark, char);
    marks.iter().fold(value.to_owned(), plain)
}

/// The target of a redirect.
#[track_caller]
fn location(answer: &Shown) -> String {
    assert_eq!(answer.status(), 303, "{answer:?}");
    answer.location()
}

/// The valid request, with these parameters replacing those of the same name; an empty one is left out.
fn target(changes: &[(&str, &str)]) -> String {
    let is_changed = |name: &str| changes.iter().any(|it| it.0 == name);
    let mut pairs: Vec<_> = GOOD
        .iter()
        .copied()
        .filter(|it| !is_changed(it.0))
        .collect();
    pairs.extend(changes.iter().filter(|it| !it.1.is_empty()));
    format!("{PATH}?{}", query(&pairs))
}

/// The fields that the form of the consent page would send.
fn answered<'a>(request: &'a str, user: &'a str, answer: &'a str) -> [(&'static str, &'a str); 3] {
    [("request", request), ("user", user), ("answer", answer)]
}

/// Approves on the page for this request. Returns where that leads.
async fn approve(browser: &mut Browser<'_>, target: &str) -> String {
    let page = browser.get(target).await;
    assert_eq!(page.status(), 200, "{}", page.text());
    let (request, user) = (field(&page, "request"), field(&page, "user"));
    location(
        &browser
            .post(PATH, &answered(&request, &user, "approve"))
            .await,
    )
}

/// The parameters sent to an app; each occurs once.
fn told(location: &str) -> BTreeMap<String, String> {
    let pairs: Vec<_> = Url::parse(location)
        .unwrap()
        .query_pairs()
        .into_owned()
        .collect();
    let told: BTreeMap<_, _> = pairs.iter().cloned().collect();
    assert_eq!(told.len(), pairs.len(), "{location}");
    told
}

fn grant(code: &str, redirect_uri: &str) -> Value {
    json!({
        "grant_type": "authorization_code", "code": code, "code_verifier": CODE_VERIFIER,
        "redirect_uri": redirect_uri, "client_id": "app", "user_agent": "App/1 (Phone)",
    })
}
