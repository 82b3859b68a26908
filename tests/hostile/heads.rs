//! Heads of requests: memory that they hold while a body is awaited is counted, and a dubious head is refused.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use test_support::caller::{Caller, Request};
use test_support::given;
use test_support::service::Service;

use crate::BINARY;
use crate::attack::{self, Protocol, Target, bodies};
use crate::others::Others;
use crate::process::Process;
use crate::scale::sized;

/// The number of addresses in the issue.
const ADDRESSES: u32 = 50;

/// By how much the memory of the server may grow, in MiB.
const MAX_GROWTH_MIB: f64 = 96.0;

/// How often each address connects, one connection after another.
const CONNECTIONS: u32 = 6;

/// How long others go on calling after each round of connections.
const GOES_ON: Duration = Duration::from_millis(400);

/// Others are answered while many addresses each wait with `each` requests per connection, with this many headers and
/// no body.
async fn begun_with_headers(headers: usize, each: u32) {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[]));
    let others = given!(Others::of(&service).await);
    let target = Target::new(service.caller.base_url());
    let request = attack::Request::token().with_headers(headers);
    let memory = Process::of(&service).watch();
    for _ in 0..CONNECTIONS {
        for number in 0..ADDRESSES {
            let begun = bodies::announce_over_http2(&target, &request, number, each);
            let connection = begun.expect("the attack begins");
            // A refused request must not also count as an unread answer.
            attack::read_in_background(connection);
        }
        others.get_for(GOES_ON).await;
    }
    let growth = memory.growth();
    assert!(growth <= MAX_GROWTH_MIB, "memory grew by {growth:.0} MiB");
    others.work(5).await;
}

#[tokio::test]
async fn requests_with_as_many_headers_as_are_let_wait_within_a_bound() {
    begun_with_headers(60, 20).await;
}

#[tokio::test]
async fn requests_with_hundreds_of_headers_do_not_wait() {
    // Before they were refused, 20 took 1.3 GB.
    begun_with_headers(440, sized(4, 20)).await;
}

#[tokio::test]
async fn requests_with_few_headers_wait_within_a_bound() {
    begun_with_headers(0, 20).await;
}

#[tokio::test]
async fn more_than_64_headers_are_refused_on_every_path() {
    let service = given!(Service::own(BINARY, &[]));
    let url = service.caller.base_url();
    for caller in [Caller::new(url), Caller::over_http2(url)] {
        for (method, path) in [
            ("GET", "/api/v1/products"),
            ("POST", "/api/auth/mobile/token"),
            ("GET", "/docs/page.css"),
            ("FOO", "/nothing"),
        ] {
            let with = |headers: usize| {
                let mut request = Request::new(method, path);
                for number in 0..headers {
                    request = request.header(&format!("x-{number}"), "1");
                }
                caller.send_unchecked(request)
            };
            let received = with(65).await.expect("an answer comes");
            let body = received.json();
            assert_eq!(received.status, 431, "{method} {path}: {body}");
            let id = received.header("x-request-id");
            assert_eq!(body["request_id"].as_str(), id, "{method} {path}");
            // Fewer than 64, since a client adds some of its own.
            let received = with(55).await.expect("an answer comes");
            assert_ne!(received.status, 431, "{method} {path}");
        }
    }
}

/// The status of the answer to this request.
fn status(target: &Target, request: &str) -> u16 {
    let connection = target.connect(0, Protocol::Http1);
    let mut connection = connection.expect("the server listens");
    let sent = connection.write_all(request.as_bytes());
    sent.expect("the server takes it");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n") {
        let mut byte = [0];
        connection.read_exact(&mut byte).expect("an answer comes");
        answer.extend(byte);
    }
    let line = String::from_utf8(answer).expect("a status line is text");
    let status = line.split(' ').nth(1).and_then(|it| it.parse().ok());
    status.unwrap_or_else(|| panic!("{line:?}"))
}

#[tokio::test]
async fn framing_that_a_proxy_may_read_in_another_way_is_refused() {
    let service = given!(Service::own(BINARY, &[]));
    let target = Target::new(service.caller.base_url());
    let token = |headers: &str| {
        // An accepted request is refused for its type, with another status.
        let head = "POST /api/auth/mobile/token HTTP/1.1\r\ncontent-type: text/plain\r\n";
        status(
            &target,
            &format!("{head}{headers}\r\n2\r\n{{}}\r\n0\r\n\r\n"),
        )
    };
    let host = "host: a\r\n";
    let chunked = "transfer-encoding: chunked\r\n";
    assert_eq!(token(&format!("{host}{chunked}")), 415);
    for codings in [
        "transfer-encoding: gzip, chunked\r\n".to_owned(),
        "transfer-encoding: chunked, chunked\r\n".to_owned(),
        "transfer-encoding: identity, chunked\r\n".to_owned(),
        format!("{chunked}{chunked}"),
    ] {
        assert_eq!(token(&format!("{host}{codings}")), 400, "{codings:?}");
    }
    for (hosts, expected) in [("", 400), ("host: a\r\nhost: a\r\n", 400), (host, 401)] {
        let list = format!("GET /api/v1/products HTTP/1.1\r\n{hosts}\r\n");
        assert_eq!(status(&target, &list), expected, "{hosts:?}");
    }
    let old = "GET /api/v1/products HTTP/1.0\r\n\r\n";
    assert_eq!(status(&target, old), 401, "HTTP/1.0 needs no Host");
}
