//! One rate limit for all replicas, as long as Redis is available.

use std::time::{Duration, Instant};

use test_support::caller::Request;

use crate::fleet::Fleet;

/// So slow that nothing is refilled while a test runs, and only the burst counts.
const SETTINGS: [(&str, &str); 2] = [
    ("INVOICING_RATE_LIMIT_PER_SECOND", "1"),
    ("INVOICING_RATE_LIMIT_BURST", "9"),
];

/// More requests than one replica lets through, and fewer than three would.
const REQUESTS: usize = 18;

/// How many requests of a key are let through, one after another, and how many tokens were refilled meanwhile.
async fn let_through(fleet: &Fleet, key: &str) -> (usize, usize) {
    let begun = Instant::now();
    let mut count = 0;
    for _ in 0..REQUESTS {
        let list = Request::new("GET", "/api/v1/products").bearer(key);
        let answer = fleet.service.caller.send(list).await;
        assert!([200, 429].contains(&answer.status()), "{}", answer.text());
        count += usize::from(answer.status() == 200);
    }
    let refilled = begun.elapsed().as_secs() + 1;
    (count, usize::try_from(refilled).unwrap())
}

/// How many replicas have this line in their metrics.
fn says(fleet: &Fleet, line: &str) -> usize {
    let pages = fleet.replicas.iter();
    let pages = pages.map(|replica| replica.operations("/metrics"));
    pages
        .flatten()
        .filter(|(_, page)| page.contains(line))
        .count()
}

/// How often replicas have lost Redis: one that does not get a core for 50 ms considers it down.
fn losses(fleet: &Fleet) -> usize {
    let logs = fleet.replicas.iter().map(|replica| replica.read_log());
    logs.map(|log| log.matches("Redis does not answer").count())
        .sum()
}

/// Asserts that all replicas together let as many requests of a key through as one would, as long as they all
/// have Redis.
async fn assert_shared(fleet: &Fleet) {
    for _ in 0..10 {
        let end = Instant::now() + Duration::from_secs(30);
        while says(fleet, "\ninvoicing_rate_limits_shared 1\n") < 3 {
            assert!(Instant::now() < end, "not all replicas return to Redis");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let team = fleet.service.new_team().unwrap();
        let before = losses(fleet);
        let (count, refilled) = let_through(fleet, &team.live).await;
        if losses(fleet) == before {
            assert!((9..=9 + refilled).contains(&count), "{count}");
            return;
        }
    }
    panic!("the machine is too busy for Redis to be there all the time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_holds_across_replicas_and_without_redis_in_each_of_them() {
    let mut fleet = Fleet::start(&SETTINGS);
    assert_shared(&fleet).await;

    let team = fleet.service.new_team().unwrap();
    let before = losses(&fleet);
    fleet.redis.kill();
    let (count, _) = let_through(&fleet, &team.test).await;
    assert_eq!(count, REQUESTS, "each replica has a bucket of its own");
    assert_eq!(says(&fleet, "\ninvoicing_rate_limits_shared 0\n"), 3);
    assert_eq!(losses(&fleet), before + 3);
    for replica in &fleet.replicas {
        let ready = replica.operations("/readyz").unwrap().0;
        assert_eq!(ready, 200, "it can do its work");
    }

    fleet.redis.restart();
    assert_shared(&fleet).await;
}
