//! Redis vanishes, hangs, and returns.

use std::time::Duration;

use test_support::load::Operation;
use test_support::postgres::Cluster;
use test_support::redis::Redis;
use tokio::task::block_in_place;

use crate::fleet::Fleet;
use crate::trial::{RECOVERY_TIMEOUT, Rounds, busy, endure};

/// Limits that are on, and too high to reach.
const LIMITS: [(&str, &str); 4] = [
    ("INVOICING_RATE_LIMIT_PER_SECOND", "1000000"),
    ("INVOICING_RATE_LIMIT_BURST", "1000000"),
    ("INVOICING_TOKEN_RATE_LIMIT_PER_SECOND", "1000000"),
    ("INVOICING_TOKEN_RATE_LIMIT_BURST", "1000000"),
];

/// No answer may take this long, even on a busy machine: a request waits at most 50 ms for Redis.
const PROMPT: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_vanishes_and_nobody_notices() {
    let mut rounds = Rounds::begin().await;
    while let Some(seed) = rounds.next() {
        let cluster = Cluster::start();
        let mut redis = Redis::start();
        let url = redis.url();
        let settings = [&[("INVOICING_REDIS", url.as_str())], &LIMITS[..]].concat();
        let mut fleet = Fleet::start_with(cluster.database(), &settings).await;
        let history = endure("Redis away", &mut fleet, seed, async |_, history| {
            redis.freeze();
            busy(history, history.now(), RECOVERY_TIMEOUT).await;
            redis.thaw();
            redis.kill();
            busy(history, history.now(), RECOVERY_TIMEOUT).await;
            block_in_place(|| redis.restart());
        })
        .await;
        let operations = history.operations();
        let spoiled = |one: &&Operation| one.is_in_doubt() || one.returned - one.invoked > PROMPT;
        let spoiled: Vec<_> = operations.iter().filter(spoiled).collect();
        assert!(spoiled.is_empty(), "{spoiled:#?}");
    }
}
