//! kill -9 in the middle of concurrent writes, again and again on one database.
//!
//! Writers create, change and archive products under idempotency keys, and one device refreshes its
//! tokens, as fast as they are answered. The server is killed at some moment, and started again. Then:
//!
//! 1. nothing acknowledged is lost: every product is as its last acknowledged answer showed it, or as
//!    the one request that was not answered would have left it;
//! 2. nothing half done is visible: the list shows these products and no others, no two active ones
//!    with one sku;
//! 3. every idempotency key still replays what was acknowledged; and a request that was not answered
//!    is carried out exactly once, by then or now;
//! 4. the last refresh token goes on with the session, and so does the one before when the answer to it
//!    was lost.
//!
//! `INVOICING_CRASH_ROUNDS` says how often; 8 times unless set.

mod check;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::join_all;
use test_support::given;
use test_support::service::Service;

use writer::{Refresher, Writer};

/// The server and command line under test.
const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

/// Clients that write at once.
const WRITERS: usize = 12;

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
    let mut refresher = Refresher::new(device);
    let mut writers: Vec<_> = (0..WRITERS).map(|_| Writer::new(&team.live)).collect();
    let mut acknowledged = 0;
    for round in 0..rounds() {
        let stop = Arc::new(AtomicBool::new(false));
        let caller = service.caller.clone();
        let running = tokio::spawn({
            let stop = stop.clone();
            async move {
                let writing = writers
                    .iter_mut()
                    .map(|writer| writer.write(&caller, &stop));
                tokio::join!(join_all(writing), refresher.refresh(&caller, &stop));
                (writers, refresher)
            }
        });
        // Another moment in every round, from the first commits on.
        tokio::time::sleep(Duration::from_millis(40 + round * 37 % 400)).await;
        tokio::task::block_in_place(|| service.crash_and_restart());
        stop.store(true, Ordering::Relaxed);
        (writers, refresher) = running.await.expect("writers stop when nobody answers");
        acknowledged = check::all(&service.caller, &team.live, &mut writers).await;
        refresher.goes_on(&service.caller).await;
    }
    // Otherwise nothing was tried.
    assert!(
        acknowledged > WRITERS,
        "only {acknowledged} requests were acknowledged"
    );
}
