//! Connections on which nothing happens: they must not keep the server from stopping, nor operators from it.

use std::time::Duration;

use test_support::caller::{Caller, Request};
use test_support::deployment::Skip;
use test_support::given;
use test_support::port;
use test_support::service::Service;
use tokio::time::timeout;

use crate::BINARY;
use crate::attack::{self, Target, idle};
use crate::process::Process;

/// How long a server on which nothing is under way may take to stop, in seconds.
const STOPS_WITHIN: u64 = 2;

/// How long operators wait for an answer.
const PATIENCE: Duration = Duration::from_secs(1);

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

/// A server with a listener for operators, and what sends requests there.
fn with_operators() -> Result<(Service, Target, String), Skip> {
    let address = format!("127.0.0.1:{}", port::free());
    let service = Service::own(BINARY, &[("INVOICING_OPERATIONS_LISTEN", &address)])?;
    let url = format!("http://{address}");
    Ok((service, Target::new(&url), url))
}

/// Every page is answered, one time after the other, each within a second, and on a connection of its own.
async fn operators_are_answered(url: &str) {
    for number in 0..5 {
        for path in ["/healthz", "/readyz", "/metrics"] {
            let caller = Caller::new(url);
            let answer = caller.send_unjudged(Request::new("GET", path));
            let answer = timeout(PATIENCE, answer).await;
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
    // What was given up for them is taken back.
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
    // Without a file left, too: those who have been there longest give way.
    Process::of(&service).leave_files(0);
    let more = idle::silent(&target, 100, 1);
    operators_are_answered(&operators).await;
    drop((silent, unfinished, more));
}
