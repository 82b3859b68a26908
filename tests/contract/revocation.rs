//! `POST /api/auth/mobile/revoke` (RFC 7009), which is in no document.

use test_support::caller::Request;
use test_support::given;
use test_support::response_validator::Received;
use test_support::service::Device;

use crate::given::{Given, given_own};
use crate::sessions::signed_in;

const REVOKE: &str = "/api/auth/mobile/revoke";

fn form(fields: &[(&str, &str)]) -> Request {
    let mut text = form_urlencoded::Serializer::new(String::new());
    let request = Request::new("POST", REVOKE).text(text.extend_pairs(fields).finish());
    typed(request, "application/x-www-form-urlencoded")
}

fn typed(request: Request, content_type: &str) -> Request {
    request
        .without_header("content-type")
        .header("content-type", content_type)
}

fn revocation(token: &str, client_id: &str) -> Request {
    form(&[
        ("token", token),
        ("token_type_hint", "x"),
        ("client_id", client_id),
    ])
}

async fn send(given: &Given, request: Request) -> Received {
    let answer = given.service.caller.send_unchecked(request).await;
    answer.expect("it answers")
}

/// Asserts an error in the form of RFC 6749, section 5.2, and returns its code.
fn error(answer: &Received, status: u16) -> String {
    assert_eq!(answer.status, status, "{:?}", answer.json());
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    answer.json()["error"].as_str().unwrap().to_owned()
}

/// Whether the session of a device is alive, tested with its refresh token.
async fn is_alive(given: &Given, device: &Device) -> bool {
    let grant = device.refresh_grant(&device.refresh_token);
    given.service.exchange(&grant).await.status() == 200
}

/// B21: each field would be work for a stranger.
#[tokio::test]
async fn a_form_of_many_fields_is_refused_and_not_read() {
    let given = given!(given_own(&[]));
    for fields in ["a&".repeat(100), "&".repeat(60_000), "%FF&".repeat(15_000)] {
        let text = format!("token=x&client_id=x&{fields}");
        let request = Request::new("POST", REVOKE).text(text);
        let request = typed(request, "application/x-www-form-urlencoded");
        assert_eq!(error(&send(&given, request).await, 400), "invalid_request");
    }
    let some = format!("token=x&client_id=x&{}", "a&".repeat(90));
    let request = Request::new("POST", REVOKE).text(some);
    let request = typed(request, "application/x-www-form-urlencoded");
    assert_eq!(error(&send(&given, request).await, 400), "invalid_client");
}

/// PostgreSQL does not even take a NUL.
#[tokio::test]
async fn a_client_id_that_no_client_can_have_is_that_of_none() {
    let given = given!(given_own(&[]));
    for client_id in ["%00", "a%20b", "%C3%A9", &"x".repeat(300)] {
        let request = Request::new("POST", REVOKE).text(format!("token=x&client_id={client_id}"));
        let request = typed(request, "application/x-www-form-urlencoded");
        assert_eq!(error(&send(&given, request).await, 400), "invalid_client");
    }
}

#[tokio::test]
async fn a_token_ends_its_session_whichever_of_the_two_it_is() {
    let Some((given, first)) = signed_in().await else {
        return;
    };
    let second = given!(given.device().await);
    for (device, token) in [
        (&first, &first.access_token),
        (&second, &second.refresh_token),
    ] {
        assert!(given.lists_links(device, &device.access_token).await);
        for _ in 0..2 {
            let answer = send(&given, revocation(token, &device.client_id)).await;
            assert_eq!((answer.status, &answer.body[..]), (200, &b""[..]));
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
        assert!(!given.lists_links(device, &device.access_token).await);
        assert!(!is_alive(&given, device).await);
    }
}

#[tokio::test]
async fn a_token_of_another_client_stays_good_unless_it_is_spent() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    let other = given!(given.device().await);
    for token in [&device.access_token, &device.refresh_token] {
        let answer = send(&given, revocation(token, &other.client_id)).await;
        assert_eq!(error(&answer, 400), "invalid_grant");
        let answer = send(&given, revocation(token, "nobody")).await;
        assert_eq!(error(&answer, 400), "invalid_client");
    }
    assert!(given.lists_links(&device, &device.access_token).await);
    let spent = &device.refresh_token;
    let next = given.service.exchange(&device.refresh_grant(spent)).await;
    let next = next.expect_status(200).json();
    let answer = send(&given, revocation(spent, &other.client_id)).await;
    assert_eq!(error(&answer, 400), "invalid_grant");
    let next = next["access_token"].as_str().unwrap();
    assert!(!given.lists_links(&device, next).await);
    assert!(given.lists_links(&other, &other.access_token).await);
}

#[tokio::test]
async fn a_token_that_is_worth_nothing_is_no_error() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    for token in ["unknown", "ü", &"x".repeat(60_000)] {
        let answer = send(&given, revocation(token, &device.client_id)).await;
        assert_eq!(answer.status, 200, "{:?}", answer.json());
    }
    assert!(is_alive(&given, &device).await);
}

#[tokio::test]
async fn a_request_that_is_no_revocation_changes_nothing() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    let (token, client_id) = (
        ("token", &device.access_token[..]),
        ("client_id", &device.client_id[..]),
    );
    for fields in [
        vec![token],
        vec![client_id],
        vec![("token", ""), client_id],
        vec![token, client_id, token],
        vec![token, client_id, client_id],
    ] {
        let answer = send(&given, form(&fields)).await;
        assert_eq!(error(&answer, 400), "invalid_request", "{fields:?}");
    }
    let good = revocation(&device.access_token, &device.client_id);
    let json = typed(good.clone(), "application/json");
    assert_eq!(error(&send(&given, json).await, 415), "invalid_request");
    let large = form(&[token, client_id, ("x", &"x".repeat(70_000))]);
    assert_eq!(error(&send(&given, large).await, 413), "invalid_request");
    let in_query = form(&[client_id]).target(format!("{REVOKE}?token={}", device.access_token));
    assert_eq!(error(&send(&given, in_query).await, 400), "invalid_request");
    for method in ["GET", "PUT", "DELETE"] {
        let answer = send(&given, good.clone().method(method)).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    }
    assert!(given.lists_links(&device, &device.access_token).await);
}

#[tokio::test]
async fn an_address_may_revoke_as_often_as_it_may_ask_for_tokens() {
    let given = given!(given_own(&[
        ("INVOICING_TOKEN_RATE_LIMIT_PER_SECOND", "1"),
        ("INVOICING_TOKEN_RATE_LIMIT_BURST", "3"),
    ]));
    for left in [2, 1, 0] {
        let answer = send(&given, revocation("unknown", "nobody")).await;
        assert_eq!(error(&answer, 400), "invalid_client");
        let stands = answer.header("ratelimit").unwrap();
        assert!(stands.contains(&format!("r={left}")), "{stands}");
    }
    let answer = send(&given, revocation("unknown", "nobody")).await;
    assert_eq!(error(&answer, 429), "rate_limit_exceeded");
    assert!(answer.header("retry-after").is_some());
}
