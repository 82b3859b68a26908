//! kill -9 in the middle of concurrent requests, again and again on one database.
//!
//! Clients use the service ([`test_support::load`]). The server is killed at some moment and restarted, the
//! clients settle, and the history of all rounds so far must keep what the interface promises:
//!
//! 1. nothing acknowledged is lost, and nothing half done is visible: every product exists once, as its last
//!    acknowledged answer showed it, or as the one request in doubt would have left it;
//! 2. every idempotency key still replays what was acknowledged; a request that was not answered is
//!    carried out exactly once, by then or now;
//! 3. every session continues with its last refresh token, or with the one before if the answer was lost.
//!
//! `backup.rs` tests a restored backup in the same way.
//!
//! `INVOICING_CRASH_ROUNDS` sets how often; 8 times unless set.

mod backup;

use std::time::Duration;

use test_support::given;
use test_support::load::{Clients, check};
use test_support::service::Service;

/// The server and command line under test.
const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

/// How many times the server is killed.
fn rounds() -> u64 {
    let set = std::env::var("INVOICING_CRASH_ROUNDS").ok();
    set.map_or(8, |text| {
        text.parse().expect("INVOICING_CRASH_ROUNDS is a number")
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kill_9() {
    let mut service = given!(Service::own(BINARY, &[]));
    let team = given!(service.new_team());
    let device = given!(service.device(&team).await);
    let mut clients = Clients::new(&team.live, vec![device], fastrand::u64(..));
    for round in 0..rounds() {
        let running = clients.start(&[service.caller.clone()]);
        // At a different moment in every round, from the first commits on.
        tokio::time::sleep(Duration::from_millis(40 + round * 37 % 400)).await;
        tokio::task::block_in_place(|| service.crash_and_restart());
        clients = running.stop().await;
        let catalog = clients.settle(&[service.caller.clone()]).await;
        let problems = check(&clients.history.operations(), &catalog);
        assert!(problems.is_empty(), "{problems:#?}");
    }
    // Otherwise the test proves nothing.
    let acknowledged = clients.history.acknowledged(0, Duration::ZERO);
    assert!(acknowledged > 20, "only {acknowledged} changes");
}
