//! A rolling restart, as a deployment of a new version is one: each replica in turn is asked to stop, ends,
//! and starts again, while clients write through the balancer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use serde_json::json;
use test_support::caller::{Caller, Request};
use test_support::service::Team;

use crate::fleet::Fleet;

/// Clients that write at once, over connections that they keep.
const WRITERS: usize = 8;

const PRODUCTS: &str = "/api/v1/products";

/// Creates and changes products until it is told to stop; each request is sent once and has to succeed.
/// How many products there are comes back.
async fn write(caller: Caller, key: String, stop: Arc<AtomicBool>) -> usize {
    let product = json!({ "name": "rolling", "unitPrice": 1, "currency": "EUR" });
    let change = json!({ "unitPrice": 2 });
    let mut created = 0;
    while !stop.load(Ordering::Relaxed) {
        let create = Request::new("POST", PRODUCTS).bearer(&key).json(&product);
        let answer = caller.send(create).await.expect_status(201).data();
        created += 1;
        let path = format!("{PRODUCTS}/{}", answer["id"].as_str().unwrap());
        let update = Request::new("PATCH", path).bearer(&key).json(&change);
        caller.send(update).await.expect_status(200);
    }
    created
}

/// How many active products the list shows, and that all of them were changed.
async fn count(caller: &Caller, team: &Team) -> usize {
    let (mut count, mut after) = (0, String::new());
    loop {
        let list = Request::new("GET", format!("{PRODUCTS}?limit=100{after}"));
        let page = caller
            .send(list.bearer(&team.live))
            .await
            .expect_status(200)
            .data();
        let products = page["data"].as_array().unwrap();
        assert!(products.iter().all(|product| product["unitPrice"] == 2));
        count += products.len();
        match page["nextCursor"].as_str() {
            Some(cursor) => after = format!("&after={cursor}"),
            None => return count,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_under_load_fails_no_request_and_loses_no_write() {
    let mut fleet = Fleet::start(&[("INVOICING_RATE_LIMIT", "off")]);
    let team = fleet.service.new_team().unwrap();
    let caller = fleet.service.caller.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| tokio::spawn(write(caller.clone(), team.live.clone(), Arc::clone(&stop))))
        .collect();
    tokio::task::block_in_place(|| {
        for replica in &mut fleet.replicas {
            replica.wait_until_used();
            assert_eq!(replica.stop().code(), Some(0), "{}", replica.read_log());
            replica.start_again();
            replica.wait_until_used();
        }
    });
    stop.store(true, Ordering::Relaxed);
    let created: usize = join_all(writers)
        .await
        .into_iter()
        .map(Result::unwrap)
        .sum();
    assert!(created > WRITERS, "only {created} products were created");
    assert_eq!(count(&caller, &team).await, created);
    for replica in &fleet.replicas {
        let log = replica.read_log();
        assert!(
            log.contains("\"msg\":\"stopped\""),
            "it left nothing unfinished: {log}"
        );
    }
}
