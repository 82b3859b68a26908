//! The readiness that replicas report to their balancer.

use std::time::{Duration, Instant};

use test_support::caller::Request;

use crate::fleet::Fleet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_without_their_database_are_alive_and_not_ready() {
    let mut fleet = Fleet::start(&[]);
    let team = fleet.service.new_team().unwrap();
    let list = Request::new("GET", "/api/v1/products").bearer(&team.live);
    fleet.service.caller.send(list).await.expect_status(200);

    fleet.cluster = None;
    let not_ready = (503, r#"{"ready":false,"failing":["database"]}"#.to_owned());
    for replica in &fleet.replicas {
        let begun = Instant::now();
        assert_eq!(replica.operations("/readyz"), Some(not_ready.clone()));
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(replica.operations("/healthz").unwrap().0, 200);
    }
}
