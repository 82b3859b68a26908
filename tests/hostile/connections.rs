//! Connections on which nothing happens: they must not keep the server from stopping, nor operators from it.

use test_support::given;
use test_support::service::Service;

use crate::BINARY;
use crate::attack::{self, Target, idle};
use crate::process::Process;

/// How long a server on which nothing is under way may take to stop, in seconds.
const STOPS_WITHIN: u64 = 2;

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
