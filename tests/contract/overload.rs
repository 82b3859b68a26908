//! More concurrent requests than the server accepts.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::json;
use test_support::caller::{Answer, Request};
use test_support::given;
use test_support::postgres::Locked;

use crate::given::{Given, PRODUCTS, TOKEN, given_own, product};
use crate::scenarios::lock_writes;

/// A request that is in progress until its body comes: the server has asked for it.
fn hold(given: &Given, body: &str) -> TcpStream {
    let address = given
        .service
        .caller
        .base_url()
        .trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let head = format!(
        "POST {PRODUCTS} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        given.team.live,
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("it reads");
    expect(&mut stream, "HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

/// Reads as many bytes as `expected` has, and asserts that they are equal.
fn expect(stream: &mut TcpStream, expected: &str) {
    let mut received = vec![0; expected.len()];
    stream.read_exact(&mut received).expect("it answers");
    assert_eq!(String::from_utf8_lossy(&received), expected);
}

/// How long each step below may take on a busy machine.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// Sends `request` until the status of its answer is `status`.
async fn send_until(given: &Given, request: Request, status: u16) -> Answer {
    let end = Instant::now() + STEP_TIMEOUT;
    loop {
        let answer = given.send(request.clone()).await;
        if answer.status() == status || Instant::now() > end {
            return answer.expect_status(status);
        }
    }
}

#[tokio::test]
async fn a_request_beyond_those_that_are_worked_on_is_refused_and_later_taken() {
    let given = given!(given_own(&[("INVOICING_MAX_CONCURRENT_REQUESTS", "1")]));
    let list = given.live("GET", PRODUCTS);
    let locked = given!(given.service.own_database().map(lock_writes));
    let others = async {
        let refused = send_until(&given, list.clone(), 503).await;
        assert_eq!(
            refused.expect(503, "unavailable").header("retry-after"),
            Some("1")
        );
        let token = Request::new("POST", TOKEN).json(&json!({ "grant_type": "refresh_token",
            "refresh_token": "unknown", "client_id": "unknown" }));
        let refused = send_until(&given, token, 503).await;
        assert_eq!(refused.json()["error"], "temporarily_unavailable");
        assert_eq!(refused.header("retry-after"), Some("1"));
        // A caller without a credential learns nothing else, as always.
        given
            .send(Request::new("GET", PRODUCTS))
            .await
            .expect(401, "invalid_token");
        drop(locked);
    };
    // Nothing changes until the lock is gone: a try holds the only permit until it gives up, and the next takes it.
    let create = given.live("POST", PRODUCTS).json(&product());
    tokio::join!(send_until(&given, create, 201), others);
    given.send(list).await.expect_status(200);
}

#[tokio::test]
async fn a_request_whose_body_is_still_coming_stands_in_nobodys_way() {
    let given = given!(given_own(&[("INVOICING_MAX_CONCURRENT_REQUESTS", "1")]));
    let body = product().to_string();
    let mut held = hold(&given, &body);
    given
        .send(given.live("GET", PRODUCTS))
        .await
        .expect_status(200);
    held.write_all(body.as_bytes()).expect("it reads");
    expect(&mut held, "HTTP/1.1 201 Created\r\n");
}

/// Blocks token requests, and no others.
fn lock_exchanges(address: &str) -> Box<dyn std::any::Any> {
    match address.starts_with("sqlite:") {
        true => lock_writes(address),
        false => Box::new(Locked::by(address, "LOCK TABLE refresh_token")),
    }
}

/// A token request from a separate address.
async fn token_from(given: &Given, number: u32) -> u16 {
    let body = json!({ "grant_type": "refresh_token",
        "refresh_token": format!("unknown{number}"), "client_id": "unknown" });
    let request = Request::new("POST", TOKEN).json(&body);
    let request = request.header("X-Forwarded-For", format!("192.0.{number}.1"));
    given.send(request).await.status()
}

#[tokio::test]
async fn token_requests_from_many_addresses_leave_known_keys_their_permits() {
    let given = given!(given_own(&[
        ("INVOICING_MAX_CONCURRENT_REQUESTS", "16"),
        ("INVOICING_TRUSTED_PROXIES", "127.0.0.1/32"),
    ]));
    let list = || given.live("GET", PRODUCTS);
    given.send(list()).await.expect_status(200);
    let locked = given!(given.service.own_database().map(lock_exchanges));
    let mut tokens: FuturesUnordered<_> =
        (0..32).map(|number| token_from(&given, number)).collect();
    // By then, all permits that they may have are taken.
    for _ in 0..16 {
        assert_eq!(tokens.next().await, Some(503));
    }
    for _ in 0..4 {
        given.send(list()).await.expect_status(200);
    }
    drop((locked, tokens));
}
