//! A rolling restart, like the deployment of a new version: each replica in turn is asked to stop, ends, and starts
//! again, while clients write through the balancer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Value, json};
use test_support::caller::{Caller, Request};
use test_support::service::Team;

use crate::fleet::Fleet;

/// Concurrent clients that write, over connections that they keep.
const WRITERS: usize = 8;

const PRODUCTS: &str = "/api/v1/products";

/// Creates and changes products until told to stop; each request is sent once and must succeed. Returns how many
/// products it created.
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

/// Returns how many active products the list shows, and asserts that all of them were changed.
async fn count(caller: &Caller, team: &Team) -> usize {
    let products = list(caller, team).await;
    assert!(products.iter().all(|product| product["unitPrice"] == 2));
    products.len()
}

/// All active products.
async fn list(caller: &Caller, team: &Team) -> Vec<Value> {
    let (mut products, mut after) = (Vec::new(), String::new());
    loop {
        let list = Request::new("GET", format!("{PRODUCTS}?limit=100{after}"));
        let page = caller
            .send(list.bearer(&team.live))
            .await
            .expect_status(200)
            .data();
        products.extend_from_slice(page["data"].as_array().unwrap());
        match page["nextCursor"].as_str() {
            Some(cursor) => after = format!("&after={cursor}"),
            None => return products,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_under_load_fails_no_request_and_loses_no_write() {
    let fleet = Fleet::start(&[("INVOICING_RATE_LIMIT", "off")]);
    let caller = fleet.service.caller.clone();
    restart_one_by_one(fleet, caller).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_over_http2_fails_no_request_and_loses_no_write() {
    let (fleet, caller) = Fleet::start_with_http2(&[("INVOICING_RATE_LIMIT", "off")]);
    restart_one_by_one(fleet, caller).await;
}

async fn restart_one_by_one(mut fleet: Fleet, caller: Caller) {
    let team = fleet.service.new_team().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            tokio::spawn(write(
                caller.clone(),
                team.live.to_string(),
                Arc::clone(&stop),
            ))
        })
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

/// Over HTTP/2 no answer closes its connection. The server sends GOAWAY when it stops: it answers the requests that it
/// has started, and starts no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_of_http2_is_served_through_the_drain_and_ends_with_it() {
    let mut fleet = Fleet::start(&[("INVOICING_RATE_LIMIT", "off")]);
    let team = fleet.service.new_team().unwrap();
    let replica = &mut fleet.replicas[0];
    let caller = Caller::over_http2(replica.url());
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| tokio::spawn(write_until_the_end(caller.clone(), team.live.to_string())))
        .collect();
    let (begun, took) = tokio::task::block_in_place(|| {
        replica.wait_until_used();
        let begun = Instant::now();
        assert_eq!(replica.stop().code(), Some(0), "{}", replica.read_log());
        (begun, begun.elapsed())
    });
    // Waiting for connections that no client closes would take thirty seconds.
    assert!(took < Duration::from_secs(15), "{took:?}");
    assert!(replica.read_log().contains("\"msg\":\"stopped\""));
    let mut created = 0;
    for writer in join_all(writers).await {
        let (count, end) = writer.unwrap();
        created += count;
        assert!(end - begun > Duration::from_secs(1), "within the drain");
    }
    assert_eq!(list(&fleet.service.caller, &team).await.len(), created);
}

/// Creates products until there is no answer. Returns how many it created, and when the answers ended.
async fn write_until_the_end(caller: Caller, key: String) -> (usize, Instant) {
    let product = json!({ "name": "draining", "unitPrice": 1, "currency": "EUR" });
    let create = Request::new("POST", PRODUCTS).bearer(&key).json(&product);
    let mut created = 0;
    while let Ok(answer) = caller.try_send(create.clone()).await {
        answer.expect_status(201);
        created += 1;
    }
    (created, Instant::now())
}
