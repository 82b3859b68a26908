use uuid::Uuid;

use super::*;
use crate::domain::time::Timestamp;

const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const ISS: &str = "https://invoices.example";
const URI: &str = "com.example.app:/cb";

const GOOD: [(&str, &str); 6] = [
    ("response_type", "code"),
    ("client_id", "app"),
    ("redirect_uri", URI),
    ("code_challenge", CHALLENGE),
    ("code_challenge_method", "S256"),
    ("state", "s"),
];

fn client() -> OauthClient {
    let uris = [
        URI,
        "https://app.example.com/cb?x=1",
        "http://127.0.0.1/cb",
        "https://a.example@b.example/",
    ];
    OauthClient {
        id: ClientId::new("app"),
        name: "App".into(),
        redirect_uris: uris.map(str::to_owned).to_vec(),
        created_at: Timestamp::from_millis(0),
    }
}

fn query(pairs: &[(&str, &str)]) -> String {
    let mut query = Serializer::new(String::new());
    query.extend_pairs(pairs).finish()
}

/// The valid request with one parameter changed; an empty value leaves it out.
fn with(name: &str, value: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = GOOD
        .iter()
        .filter(|it| it.0 != name)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    if !value.is_empty() {
        pairs.push((name.to_owned(), value.to_owned()));
    }
    pairs
}

fn rule_on(pairs: &[(String, String)]) -> Ruling {
    let pairs: Vec<_> = pairs.iter().map(|(a, b)| (&a[..], &b[..])).collect();
    let asked = AuthorizationParameters::parse(&query(&pairs));
    match asked.client_id() {
        Ok(id) => asked.rule((id.as_str() == "app").then(client)),
        Err(why) => Ruling::Stop(why),
    }
}

fn asked(name: &str, value: &str) -> AuthorizationRequest {
    match rule_on(&with(name, value)) {
        Ruling::Ask(request, _) => *request,
        other => panic!("{other:?}"),
    }
}

fn refused(pairs: &[(String, String)]) -> String {
    match rule_on(pairs) {
        Ruling::Refuse(refusal) => refusal.location(ISS),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_sent_to_an_address_that_is_not_certain() {
    for (name, value) in [
        ("client_id", ""),
        ("client_id", "other"),
        ("client_id", "a\0"),
        ("client_id", "ä"),
        ("redirect_uri", ""),
        ("redirect_uri", "https://evil.example/"),
        ("redirect_uri", "com.example.app:/cb/"),
        ("redirect_uri", "com.example.app:/cb#x"),
        ("redirect_uri", "http://127.0.0.1:80@evil.example/cb"),
        ("redirect_uri", "javascript:alert(1)"),
    ] {
        let ruling = rule_on(&with(name, value));
        assert!(matches!(ruling, Ruling::Stop(_)), "{name} {value}");
    }
    for name in ["client_id", "redirect_uri"] {
        let mut pairs = with("x", "y");
        let again = pairs.iter().find(|it| it.0 == name).unwrap().clone();
        pairs.push(again);
        assert!(matches!(rule_on(&pairs), Ruling::Stop(_)), "{name} twice");
    }
    let mut registered = client();
    registered.redirect_uris.push("javascript:alert(1)".into());
    let pairs = [
        ("client_id", "app"),
        ("redirect_uri", "javascript:alert(1)"),
    ];
    let ruling = AuthorizationParameters::parse(&query(&pairs)).rule(Some(registered));
    assert!(matches!(ruling, Ruling::Stop(_)));
}

#[test]
fn every_other_mistake_is_told_to_the_app() {
    let told = "&state=s&iss=https%3A%2F%2Finvoices.example";
    for (name, value, error) in [
        ("response_type", "", "invalid_request"),
        ("response_type", "token", "unsupported_response_type"),
        ("response_type", "code token", "unsupported_response_type"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", &CHALLENGE[1..], "invalid_request"),
        ("code_challenge_method", "", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("code_challenge_method", "s256", "invalid_request"),
    ] {
        let location = refused(&with(name, value));
        let start = format!("{URI}?error={error}&error_description=");
        assert!(location.starts_with(&start), "{location}");
        assert!(location.ends_with(told), "{location}");
    }
}

#[test]
fn a_parameter_that_is_repeated_is_a_mistake_and_one_that_is_unknown_is_none() {
    for (name, value) in &GOOD[3..] {
        let mut pairs = with("x", "y");
        pairs.push(((*name).to_owned(), (*value).to_owned()));
        let location = refused(&pairs);
        assert!(location.contains("error=invalid_request"), "{location}");
        assert_eq!(location.contains("state="), *name != "state");
    }
    let mut pairs = with("resource", "a");
    pairs.push(("resource".into(), "b".into()));
    pairs.push(("login_hint".into(), String::new()));
    pairs.push(("prompt".into(), "none".into()));
    pairs.push(("state".into(), String::new()));
    let Ruling::Ask(request, _) = rule_on(&pairs) else {
        panic!("it is good");
    };
    assert_eq!(request.query(), query(&GOOD));
}

#[test]
fn a_state_comes_back_as_it_was_and_has_a_bound() {
    let state = "a b&c=d+%\"<>'\r\nset-cookie: x\0ä";
    let location = asked("state", state).approved("c", ISS);
    assert!(location.bytes().all(|it| it.is_ascii_graphic()));
    let (_, query) = location.split_once('?').unwrap();
    let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
    assert_eq!(pairs.len(), 3);
    assert_eq!((&*pairs[1].0, &*pairs[1].1), ("state", state));
    asked("state", &"x".repeat(2_048));
    for long in ["x".repeat(2_049), "x".repeat(60_000)] {
        let location = refused(&with("state", &long));
        assert!(location.len() < 300 && !location.contains("state=x"));
    }
    // Each character takes three when encoded, and the sign-in page encodes them again.
    let mut pairs = with("state", &"\0".repeat(2_048));
    pairs.push(("login_hint".into(), "\0".repeat(254)));
    let location = refused(&pairs);
    assert!(location.contains("too%20long"));
}

#[test]
fn what_is_behind_a_hundred_parameters_is_not_read() {
    for (before, is_read) in [(99, true), (100, false)] {
        let query = "a=&".repeat(before) + "client_id=app";
        let read = AuthorizationParameters::parse(&query).client_id();
        assert_eq!(read.is_ok(), is_read, "{before}");
    }
}

#[test]
fn what_is_carried_on_is_what_was_understood() {
    let request = asked("login_hint", "ada@example.com");
    assert_eq!(request.login_hint.as_deref(), Some("ada@example.com"));
    let carried = AuthorizationParameters::parse(&request.query());
    let Ruling::Ask(again, _) = carried.rule(Some(client())) else {
        panic!("it is as good as before");
    };
    assert_eq!(*again, request);
    assert_eq!(asked("login_hint", &"x".repeat(255)).login_hint, None);
}

#[test]
fn an_answer_keeps_the_query_of_the_redirect_uri() {
    let location = |uri| asked("redirect_uri", uri).approved("c", ISS);
    let rest = "code=c&state=s&iss=https%3A%2F%2Finvoices.example";
    assert_eq!(location(URI), format!("{URI}?{rest}"));
    let port = "http://127.0.0.1:4711/cb";
    assert_eq!(location(port), format!("{port}?{rest}"));
    let queried = "https://app.example.com/cb?x=1";
    assert_eq!(location(queried), format!("{queried}&{rest}"));
    assert_eq!(redirection("a.b:c?", [("d", "e f")]), "a.b:c?d=e%20f");
    let cancelled = asked("state", "").cancelled().location(ISS);
    assert!(cancelled.starts_with(&format!("{URI}?error=access_denied&")));
    assert!(!cancelled.contains("state="));
}

#[test]
fn a_user_is_told_where_the_code_goes() {
    let is = |uri, destination| {
        assert_eq!(asked("redirect_uri", uri).destination(), destination);
    };
    is(URI, Destination::App("com.example.app"));
    is(
        "https://app.example.com/cb?x=1",
        Destination::Site("app.example.com"),
    );
    is(
        "https://a.example@b.example/",
        Destination::Site("b.example"),
    );
    is(
        "http://127.0.0.1:4711/cb",
        Destination::Device("127.0.0.1:4711"),
    );
}

#[test]
fn a_new_sign_in_is_asked_for_once() {
    let zero = Timestamp::from_millis(0);
    let session = |id: u128| BrowserSession {
        id: Uuid::from_u128(id).into(),
        user_id: Uuid::nil().into(),
        user_agent: None,
        created_at: zero,
        signed_in_at: zero,
        last_used_at: zero,
    };
    assert!(!asked("prompt", "consent").asks_to_sign_in(&session(1)));
    assert!(!asked("prompt", "consent").signs_in_anew());
    let request = asked("prompt", "login consent");
    assert!(request.signs_in_anew());
    assert!(request.asks_to_sign_in(&session(1)));
    let carried = request.clone().asked_in(Some(&session(1)));
    let carried = AuthorizationParameters::parse(&carried.query());
    let Ruling::Ask(carried, _) = carried.rule(Some(client())) else {
        panic!("it is as good as before");
    };
    assert!(carried.asks_to_sign_in(&session(1)));
    assert!(!carried.asks_to_sign_in(&session(2)));
    let signed_in = request.asked_in(None);
    assert!(!signed_in.signs_in_anew() && !signed_in.asks_to_sign_in(&session(1)));
}
