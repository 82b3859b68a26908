//! `/api/auth/mobile/authorize`: apps sign people in, and nobody else gets anything by it.

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

/// Signs in on the page that leads there. Where it leads on comes back.
async fn sign_in(browser: &mut Browser<'_>, email: &str, page: &Shown) -> String {
    let next = field(page, "next");
    let fields = [("email", email), ("password", PASSWORD), ("next", &next)];
    location(&browser.post("/sign-in", &fields).await)
}

/// Runs a command on the database of the service.
fn command(service: &Service, arguments: &[&str]) -> Value {
    service.command(arguments).expect("an own server")
}

/// Pairs, as queries have them.
fn query(pairs: &[(&str, &str)]) -> String {
    let mut query = Serializer::new(String::new());
    query.extend_pairs(pairs).finish()
}

/// The value of a hidden field, as it is meant.
fn field(page: &Shown, name: &str) -> String {
    attribute(page, &format!("name=\"{name}\" value=\""))
}

/// What stands behind this, up to the next quote, as it is meant.
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

/// Where an answer leads.
#[track_caller]
fn location(answer: &Shown) -> String {
    assert_eq!(answer.status(), 303, "{answer:?}");
    answer.location()
}

/// The good request with these parameters in place of those of the same name; one that is empty is left out.
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

/// What the page that asks would send.
fn answered<'a>(request: &'a str, user: &'a str, answer: &'a str) -> [(&'static str, &'a str); 3] {
    [("request", request), ("user", user), ("answer", answer)]
}

/// Approves on the page that is shown for this request. Where that leads comes back.
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

/// The parameters that an app is sent; each is there once.
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

#[tokio::test]
async fn an_app_signs_somebody_in_until_it_is_signed_out_on_the_page() {
    let Some(service) = with_an_app() else { return };
    let mut browser = Browser::new(&service);
    person(&service, ADA).await;
    let team = team(&service, "Acme");
    let add = [
        "member", "add", "--team", &team, "--user", ADA, "--role", "viewer",
    ];
    command(&service, &add);
    let file = command(
        &service,
        &["file", "create", "--team", &team, "--name", "a"],
    );

    let hinted = target(&[("login_hint", ADA), ("resource", "x"), ("prompt", "none")]);
    let to_sign_in = location(&browser.get(&hinted).await);
    let page = browser.get(&to_sign_in).await;
    assert_eq!(attribute(&page, "maxlength=\"254\" value=\""), ADA);
    let back = sign_in(&mut browser, ADA, &page).await;
    let sent_to = approve(&mut browser, &back).await;
    assert!(sent_to.starts_with(&format!("{URI}?")), "{sent_to}");
    let told = told(&sent_to);
    assert_eq!(
        (&told["state"][..], &told["iss"][..], told.len()),
        ("s", ORIGIN, 3)
    );

    let tokens = service.exchange(&grant(&told["code"], URI)).await;
    let tokens = tokens.expect_status(200).json();
    let links = format!(
        "/api/mobile/items/file/{}/links",
        file["id"].as_str().unwrap()
    );
    let links = Request::new("GET", links)
        .bearer(tokens["access_token"].as_str().unwrap())
        .header("x-team-id", &team);
    service.caller.send(links.clone()).await.expect_status(200);

    let devices = browser.get("/account/devices").await;
    assert!(devices.text().contains("App/1 (Phone)"));
    let apps = devices.text();
    let (_, apps) = apps.split_once("end-session\">").unwrap();
    let (_, id) = apps.split_once("name=\"id\" value=\"").unwrap();
    let id = id.split('"').next().unwrap();
    let ended = browser
        .post("/account/devices/end-session", &[("id", id)])
        .await;
    assert_eq!(location(&ended), "/account/devices");
    service.caller.send(links).await.expect_status(401);
}

#[tokio::test]
async fn a_code_is_good_once_at_the_port_that_it_was_sent_to() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    let there = "http://127.0.0.1:53121/signed-in";
    let asked = target(&[("redirect_uri", there)]);
    let sent_to = approve(&mut browser, &asked).await;
    assert!(sent_to.starts_with(&format!("{there}?")), "{sent_to}");
    let code = &told(&sent_to)["code"];
    for other in [LOOPBACK, "http://127.0.0.1:53122/signed-in", URI] {
        let refused = service.exchange(&grant(code, other)).await;
        assert_eq!(refused.expect_status(400).json()["error"], "invalid_grant");
    }
    service
        .exchange(&grant(code, there))
        .await
        .expect_status(200);
    service
        .exchange(&grant(code, there))
        .await
        .expect_status(400);
    // The query of a URI stays, and each approval is a code of its own.
    let queried = target(&[("redirect_uri", "https://app.example.com/cb?tenant=1")]);
    let (first, second) = (
        approve(&mut browser, &queried).await,
        approve(&mut browser, &queried).await,
    );
    assert!(
        first.starts_with("https://app.example.com/cb?tenant=1&code="),
        "{first}"
    );
    assert_ne!(told(&first)["code"], told(&second)["code"]);
}

/// Whoever is told so on a page, and is sent nowhere.
fn assert_stopped(answer: &Shown, what: &str) {
    assert_eq!(
        (answer.status(), answer.0.header("location")),
        (400, None),
        "{what}"
    );
    let policy = answer.0.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action 'self'"), "{policy}");
}

#[tokio::test]
async fn nothing_is_sent_anywhere_if_it_is_not_certain_where_to() {
    let Some(service) = with_an_app() else { return };
    let (mut nobody, mut ada) = (Browser::new(&service), browser_of(&service, ADA).await);
    let user = field(&ada.get(&target(&[])).await, "user");
    let uris = [
        "",
        "https://evil.example/",
        "//evil.example/",
        "javascript:alert(1)",
        "com.example.app:/signed-in/../x",
        "com.example.app:/signed-in#",
        "COM.example.app:/signed-in",
        "http://127.0.0.1:80@evil.example/signed-in",
        "http://127.0.0.1.evil.example/signed-in",
        "http://localhost/signed-in",
        "https://app.example.com/cb",
        "https://app.example.com/cb?tenant=1&x",
        "com.example.app:/signed-in\r\nset-cookie: a=b",
    ];
    let uris = uris.map(|uri| target(&[("redirect_uri", uri)]));
    let clients = ["", "other", "APP", "app\0", "ä"].map(|id| target(&[("client_id", id)]));
    let twice = [
        "redirect_uri=com.example.app%3A%2Fsigned-in",
        "client_id=app",
    ]
    .map(|again| format!("{}&{again}", target(&[])));
    for target in uris.iter().chain(&clients).chain(&twice) {
        for browser in [&mut nobody, &mut ada] {
            assert_stopped(&browser.get(target).await, target);
            let request = target.split_once('?').unwrap().1;
            for answer in ["approve", "cancel", "x"] {
                let answer = browser.post(PATH, &answered(request, &user, answer)).await;
                assert_stopped(&answer, target);
            }
        }
    }
    assert_stopped(&nobody.get(PATH).await, "nothing");
}

#[tokio::test]
async fn every_other_mistake_is_told_to_the_app_before_anybody_signs_in() {
    let Some(service) = with_an_app() else { return };
    let (mut nobody, mut ada) = (Browser::new(&service), browser_of(&service, ADA).await);
    let long = "x".repeat(2_049);
    for (name, value, error) in [
        ("response_type", "", "invalid_request"),
        ("response_type", "token", "unsupported_response_type"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", "short", "invalid_request"),
        ("code_challenge_method", "", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("state", &long, "invalid_request"),
    ] {
        let asked = target(&[(name, value)]);
        let request = asked.split_once('?').unwrap().1;
        let form = answered(request, "x", "approve");
        for answer in [
            nobody.get(&asked).await,
            ada.get(&asked).await,
            nobody.post(PATH, &form).await,
            ada.post(PATH, &form).await,
        ] {
            let location = location(&answer);
            assert!(
                location.starts_with(&format!("{URI}?error={error}&")),
                "{location}"
            );
            let mut told = told(&location);
            assert!(told.remove("error_description").is_some());
            assert_eq!(told["iss"], ORIGIN);
            assert_eq!(
                told.get("state").map_or("", |it| it),
                if name == "state" { "" } else { "s" }
            );
        }
    }
    for (name, _) in &GOOD[3..] {
        let twice = format!("{}&{name}=x", target(&[]));
        let told = told(&location(&nobody.get(&twice).await));
        assert_eq!(told["error"], "invalid_request", "{name}");
    }
    // With all that is right, the sign-in page comes first.
    let location = location(&nobody.get(&target(&[])).await);
    assert!(location.starts_with("/sign-in?next="), "{location}");
}

#[tokio::test]
async fn a_page_always_says_for_which_app_to_where_and_as_whom() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    for (uri, shown) in [
        (URI, "the app on this device <code>com.example.app</code>"),
        (
            "http://127.0.0.1:53121/signed-in",
            "<code>127.0.0.1:53121</code>",
        ),
        (
            "https://app.example.com/cb?tenant=1",
            "<code>app.example.com</code>",
        ),
    ] {
        let asked = target(&[("redirect_uri", uri)]);
        for _ in 0..2 {
            // Once it was approved, it is asked as before.
            let page = (browser.get(&asked).await).text();
            for part in [
                shown,
                "&#60;App&#62;",
                "<code>app</code>",
                ADA,
                "&#60;App&#62;",
            ] {
                assert!(page.contains(part), "{part} in {page}");
            }
            approve(&mut browser, &asked).await;
        }
    }
    let page = browser.get(&target(&[])).await;
    let (request, user) = (field(&page, "request"), field(&page, "user"));
    let cancelled = browser
        .post(PATH, &answered(&request, &user, "cancel"))
        .await;
    let told = told(&location(&cancelled));
    assert_eq!(
        (&told["error"][..], &told["state"][..], &told["iss"][..]),
        ("access_denied", "s", ORIGIN)
    );
    assert!(!told.contains_key("code"));
}

#[tokio::test]
async fn a_form_counts_for_the_user_that_it_shows_and_from_a_page_of_ours() {
    let Some(service) = with_an_app() else { return };
    let mut ada = browser_of(&service, ADA).await;
    let mut eve = browser_of(&service, EVE).await;
    let page = ada.get(&target(&[])).await;
    let (request, user) = (field(&page, "request"), field(&page, "user"));
    let approval = answered(&request, &user, "approve");
    let anew = format!("{PATH}?{request}");
    assert_eq!(location(&eve.post(PATH, &approval).await), anew);
    assert_eq!(
        location(&Browser::new(&service).post(PATH, &approval).await),
        anew
    );
    for (user, answer) in [("", "approve"), (&user, ""), ("x", "approve")] {
        let answer = ada.post(PATH, &answered(&request, user, answer)).await;
        assert_eq!(location(&answer), anew);
    }
    for site in ["cross-site", "same-site", "none"] {
        let form = form(PATH, &approval).header("sec-fetch-site", site);
        assert_eq!(ada.send(form).await.status(), 403, "{site}");
    }
    assert_eq!(ada.send(form(PATH, &approval)).await.status(), 403);
    let other = form(PATH, &approval).header("origin", "https://evil.example");
    assert_eq!(ada.send(other).await.status(), 403);
    assert!(location(&ada.post(PATH, &approval).await).starts_with(URI));

    // Whoever uses another account is asked as that one.
    let another = attribute(&page, "<p><a href=\"");
    let page = ada.get(&another).await;
    let back = sign_in(&mut ada, EVE, &page).await;
    assert!((ada.get(&back).await).text().contains(EVE));
    assert_eq!(location(&ada.post(PATH, &approval).await), anew);
    ada.post("/sign-out", &[]).await;
    assert_eq!(location(&ada.post(PATH, &approval).await), anew);
}

#[tokio::test]
async fn a_new_sign_in_is_asked_for_once_and_done_by_signing_in() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    let asked = target(&[("prompt", "login"), ("login_hint", ADA)]);
    let to_sign_in = location(&browser.get(&asked).await);
    let page = browser.get(&to_sign_in).await;
    assert_eq!(page.status(), 200);
    assert_eq!(attribute(&page, "maxlength=\"254\" value=\""), ADA);
    let back = field(&page, "next");
    // Who comes back as before is asked as before, also by the form.
    let request = back.split_once('?').unwrap().1;
    assert!(location(&browser.get(&back).await).starts_with("/sign-in?anew=1&"));
    let user = field(&browser.get(&target(&[])).await, "user");
    let answer = browser
        .post(PATH, &answered(request, &user, "approve"))
        .await;
    assert_eq!(location(&answer), back);
    assert_eq!(sign_in(&mut browser, ADA, &page).await, back);
    assert!(approve(&mut browser, &back).await.starts_with(URI));
    // Where nobody is signed in, one sign-in is enough.
    let mut nobody = Browser::new(&service);
    let to_sign_in = location(&nobody.get(&asked).await);
    let page = nobody.get(&to_sign_in).await;
    let back = sign_in(&mut nobody, ADA, &page).await;
    assert!(approve(&mut nobody, &back).await.starts_with(URI));
    for ignored in ["none", "consent", "x"] {
        let page = browser.get(&target(&[("prompt", ignored)])).await;
        assert_eq!(page.status(), 200, "{ignored}");
    }
}

#[tokio::test]
async fn the_page_that_asks_alone_is_without_form_action() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    let policy = |answer: Shown| {
        answer
            .0
            .header("content-security-policy")
            .unwrap()
            .to_owned()
    };
    let asking = policy(browser.get(&target(&[])).await);
    let usual = policy(browser.get("/account/devices").await);
    assert!(!asking.contains("form-action"), "{asking}");
    assert_eq!(usual.replace("form-action 'self'; ", ""), asking);
    assert!(usual.contains("form-action 'self'") && asking.contains("frame-ancestors 'none'"));
    for path in ["/", "/sign-in?anew=1", PATH] {
        assert_eq!(policy(browser.get(path).await), usual, "{path}");
    }
    let answer = browser.get(&target(&[("response_type", "x")])).await;
    assert_eq!(answer.0.header("cache-control"), Some("no-store"));
    assert_eq!(policy(answer), usual);
}

#[tokio::test]
async fn what_a_state_says_goes_nowhere_but_to_the_app() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    for state in [
        "\r\nset-cookie: a=b\r\n\r\n<script>",
        "\"><script>alert(1)</script>",
        "a b+c&iss=https://evil.example&code=x#y%0d",
        "\0ä\u{202e}",
    ] {
        let asked = target(&[("state", state), ("login_hint", state)]);
        let page = browser.get(&asked).await;
        assert!(!page.text().contains("<script>"));
        let sent_to = approve(&mut browser, &asked).await;
        let told = told(&sent_to);
        assert_eq!((&told["state"][..], &told["iss"][..]), (state, ORIGIN));
        let anew = format!("/sign-in?anew=1&{}", query(&[("email", state)]));
        assert!(!(browser.get(&anew).await).text().contains("<script>"));
    }
}

#[tokio::test]
async fn the_endpoints_are_described_where_there_are_pages() {
    let Some(service) = server() else { return };
    let mut browser = Browser::new(&service);
    let answer = browser.get(METADATA).await;
    assert_eq!(answer.0.header("content-type"), Some("application/json"));
    let expected = json!({
        "issuer": ORIGIN,
        "authorization_endpoint": format!("{ORIGIN}{PATH}"),
        "token_endpoint": format!("{ORIGIN}/api/auth/mobile/token"),
        "revocation_endpoint": format!("{ORIGIN}/api/auth/mobile/revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    });
    assert_eq!(answer.0.json(), expected);
    let has_it =
        Request::new("GET", METADATA).header("if-none-match", answer.0.header("etag").unwrap());
    assert_eq!(browser.send(has_it).await.status(), 304);
    let elsewhere = [("INVOICING_PUBLIC_URL", "http://a.example/x")];
    let without = Service::own(BINARY, &elsewhere).expect("as the other");
    for path in [METADATA.to_owned(), target(&[])] {
        assert_eq!(
            Browser::new(&without).get(&path).await.status(),
            404,
            "{path}"
        );
    }
}
