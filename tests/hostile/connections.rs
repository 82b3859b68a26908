//! Idle connections: they must not keep the server from stopping, nor from answering operators.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use test_support::caller::{Caller, Request};
use test_support::deployment::Skip;
use test_support::given;
use test_support::port;
use test_support::service::Service;
use tokio::time::timeout;

use crate::BINARY;
use crate::attack::{self, Protocol, Target, answers, bodies, idle};
use crate::process::Process;

/// How long an idle server may take to stop, in seconds.
const STOPS_WITHIN: u64 = 2;

/// How long operators wait for an answer.
const ADMIN_TIMEOUT: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_server_with_idle_connections_stops_at_once() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[]));
    let target = Target::new(service.caller.base_url());
    let silent = idle::silent(&target, 20, 20);
    let quiet = idle::http2(&target, 20, 20);
    let unfinished = idle::unfinished_headers(&target, 20, 1_000);
    let held = (silent.len(), quiet.len(), unfinished.len());
    assert_eq!(held, (20, 20, 20), "the attack has not begun");
    let took = Process::of(&service).stop();
    assert!(took.as_secs() < STOPS_WITHIN, "it took {took:?} to stop");
}

/// An HTTP/2 connection whose client ignores the goodbye: it goes on sending requests, for a page with its key or for
/// something public.
async fn stops_although_somebody_asks(request: impl Fn(&str) -> attack::Request) {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[]));
    let team = given!(service.team());
    let target = Target::new(service.caller.base_url());
    let asking = answers::asking_again_and_again(&target, &request(&team.live));
    let asking = asking.expect("the attack begins");
    let took = Process::of(&service).stop();
    let asked = asking.asked();
    assert!(asked > 10, "the attack has not begun: {asked} requests");
    assert!(took.as_secs() < 5, "it took {took:?} to stop");
}

#[tokio::test]
async fn a_server_stops_although_a_client_of_http2_goes_on_asking() {
    stops_although_somebody_asks(attack::Request::page).await;
}

#[tokio::test]
async fn a_server_stops_although_a_stranger_goes_on_reading_over_http2() {
    stops_although_somebody_asks(|_| attack::Request::docs()).await;
}

#[tokio::test]
async fn a_server_stops_although_a_stranger_reads_slowly_and_refuses_connections_meanwhile() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[]));
    let target = Target::new(service.caller.base_url());
    let reading = answers::reading_slowly(&target, &attack::Request::docs());
    reading.expect("the attack begins");
    let process = Process::of(&service);
    let stopping = std::thread::spawn(move || process.stop());
    let begun = Instant::now();
    let refused = loop {
        match target.connect_only(1) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => break begun.elapsed(),
            _ => assert!(begun.elapsed() < 3 * ADMIN_TIMEOUT, "others wait"),
        }
    };
    assert!(!stopping.is_finished(), "it ended before {refused:?}");
    let took = stopping.join().expect("it ends");
    assert!(took.as_secs() < 9, "it took {took:?} to stop");
}

/// A body has ten seconds, a file a minute: too long for those who find nobody meanwhile.
#[tokio::test]
async fn a_server_stops_although_bodies_do_not_come() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[]));
    let target = Target::new(service.caller.base_url());
    let held = bodies::begun(&target, &attack::Request::token(), Protocol::Http1, 20, 1);
    assert_eq!(held.len(), 20, "the attack has not begun");
    let took = Process::of(&service).stop();
    assert!(took.as_secs() < 9, "it took {took:?} to stop");
}

/// A server with a listener for operators, the target of requests to it, and its URL.
fn with_operators() -> Result<(Service, Target, String), Skip> {
    let address = format!("127.0.0.1:{}", port::free());
    let service = Service::own(BINARY, &[("INVOICING_OPERATIONS_LISTEN", &address)])?;
    let url = format!("http://{address}");
    Ok((service, Target::new(&url), url))
}

/// Every page is answered, one after another, each within a second, and on a separate connection.
async fn operators_are_answered(url: &str) {
    for number in 0..5 {
        for path in ["/healthz", "/readyz", "/metrics"] {
            let caller = Caller::new(url);
            let answer = caller.send_unchecked(Request::new("GET", path));
            let answer = timeout(ADMIN_TIMEOUT, answer).await;
            let answer = answer.unwrap_or_else(|_| panic!("{path}, time {number}: no answer"));
            let answer = answer.unwrap_or_else(|error| panic!("{path}, time {number}: {error}"));
            assert_eq!(answer.status, 200, "{path}: {:?}", answer.json());
        }
    }
}

#[tokio::test]
async fn operators_are_answered_when_the_process_has_no_file_left() {
    let (service, _, operators) = given!(with_operators());
    operators_are_answered(&operators).await;
    let limit = Process::of(&service).leave_files(20);
    let target = Target::new(service.caller.base_url());
    let held = idle::silent(&target, 100, 1);
    limit.is_reached().await;
    operators_are_answered(&operators).await;
    // The files that were given up for them are taken back.
    limit.is_reached().await;
    operators_are_answered(&operators).await;
    drop(held);
}

#[tokio::test]
async fn operators_are_answered_when_others_hold_connections_to_their_listener() {
    let (service, target, operators) = given!(with_operators());
    let silent = idle::silent(&target, 200, 1);
    let unfinished = idle::unfinished_headers(&target, 100, 1_000);
    operators_are_answered(&operators).await;
    // The same without a file left: the oldest connections give way.
    Process::of(&service).leave_files(0);
    let more = idle::silent(&target, 100, 1);
    operators_are_answered(&operators).await;
    drop((silent, unfinished, more));
}
