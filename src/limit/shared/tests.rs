mod liar;

use std::sync::Mutex;
use std::time::Instant;

use proptest::prelude::*;
use slog::{Drain, Record, o};
use test_support::redis::Redis;

use super::*;
use crate::limit::Limiter;

const POLICY: Policy = Policy {
    per_second: 1,
    burst: 3,
};

/// The lines that were logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn count(&self, beginning: &str) -> usize {
        let lines = self.0.lock().unwrap();
        lines
            .iter()
            .filter(|line| line.starts_with(beginning))
            .count()
    }
}

impl Drain for Lines {
    type Ok = ();
    type Err = slog::Never;

    fn log(&self, record: &Record<'_>, _: &slog::OwnedKVList) -> Result<(), slog::Never> {
        self.0.lock().unwrap().push(record.msg().to_string());
        Ok(())
    }
}

/// A replica's view of the Redis.
struct Replica {
    shared: Shared,
    counts: Arc<Counts>,
    lines: Lines,
}

impl Replica {
    /// One that waits for Redis for as long as a busy machine may need.
    async fn start(url: &str) -> Self {
        Self::with_deadline(url, Duration::from_secs(10)).await
    }

    async fn with_deadline(url: &str, deadline: Duration) -> Self {
        let (counts, lines) = (Arc::<Counts>::default(), Lines::default());
        let log = Logger::root(lines.clone(), o!());
        let url = url.parse().unwrap();
        let shared = Shared::start(&url, deadline, Arc::clone(&counts), log).await;
        Self {
            shared,
            counts,
            lines,
        }
    }

    /// Whether a request of `caller` was allowed; `None` if Redis did not answer.
    async fn take(&self, caller: u32) -> Option<bool> {
        let verdict = self.shared.take(POLICY, "key", caller).await?;
        Some(verdict.allowed())
    }

    /// Retries until Redis answers.
    async fn returned(&self) {
        let back = async {
            while self.take(u32::MAX).await.is_none() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(Duration::from_secs(30), back)
            .await
            .expect("it returns to Redis");
    }
}

#[tokio::test]
async fn replicas_take_from_one_bucket() {
    let redis = Redis::start();
    let (one, other) = (
        Replica::start(&redis.url()).await,
        Replica::start(&redis.url()).await,
    );
    assert_eq!(one.take(1).await, Some(true));
    assert_eq!(other.take(1).await, Some(true));
    assert_eq!(one.take(1).await, Some(true));
    assert_eq!(other.take(1).await, Some(false));
    assert_eq!(one.take(1).await, Some(false));
    assert_eq!(
        other.take(2).await,
        Some(true),
        "another caller has a bucket of its own"
    );
    assert!(one.counts.are_shared());
}

#[tokio::test]
async fn a_key_names_its_caller_and_expires_when_the_bucket_is_full() {
    let redis = Redis::start();
    let replica = Replica::start(&redis.url()).await;
    let policy = Policy {
        per_second: 1,
        burst: 60,
    };
    for _ in 0..60 {
        replica.shared.take(policy, "key", 1).await;
    }
    let mut connection = Client::open(redis.url()).unwrap().get_connection().unwrap();
    let keys: Vec<String> = redis::cmd("KEYS")
        .arg("*:1")
        .query(&mut connection)
        .unwrap();
    assert_eq!(keys, ["invoicing:limit:key:1"]);
    let left: u64 = redis::cmd("PTTL")
        .arg(&keys[0])
        .query(&mut connection)
        .unwrap();
    assert!((1..=60_000).contains(&left), "{left}");
}

#[tokio::test]
async fn a_redis_that_is_gone_is_said_once_and_returned_to() {
    let mut redis = Redis::start();
    let replica = Replica::start(&redis.url()).await;
    redis.kill();
    for _ in 0..100 {
        assert_eq!(replica.take(1).await, None);
    }
    assert!(!replica.counts.are_shared());
    redis.restart();
    replica.returned().await;
    assert_eq!(replica.lines.count("Redis does not answer"), 1);
    assert_eq!(replica.lines.count("rate limits hold across replicas"), 2);
    assert!(replica.counts.are_shared());
    assert_eq!(replica.counts.losses.get(), 1);
}

#[tokio::test]
async fn a_redis_that_was_never_there_holds_nothing_up() {
    let mut redis = Redis::start();
    redis.kill();
    let replica = Replica::start(&redis.url()).await;
    assert_eq!(replica.take(1).await, None);
    assert_eq!(replica.lines.count("Redis does not answer"), 1);
    redis.restart();
    replica.returned().await;
}

#[tokio::test]
async fn a_redis_that_is_too_slow_costs_one_deadline_and_no_more() {
    let deadline = Duration::from_millis(500);
    let redis = Redis::start();
    let replica = Replica::with_deadline(&redis.url(), deadline).await;
    redis.freeze();
    let begun = Instant::now();
    assert_eq!(replica.take(1).await, None);
    assert!(begun.elapsed() >= deadline);
    let begun = Instant::now();
    for _ in 0..1_000 {
        assert_eq!(replica.take(1).await, None);
    }
    assert!(begun.elapsed() < deadline, "{:?}", begun.elapsed());
    redis.thaw();
    replica.returned().await;
    assert_eq!(replica.lines.count("Redis does not answer"), 1);
}

/// Full, or a replica of Redis itself: it can be reached, but accepts no writes.
#[tokio::test]
async fn a_redis_that_takes_no_writes_is_as_good_as_none() {
    let redis = Redis::start();
    let mut connection = Client::open(redis.url()).unwrap().get_connection().unwrap();
    let full = ["SET", "maxmemory", "1"];
    redis::cmd("CONFIG")
        .arg(&full)
        .exec(&mut connection)
        .unwrap();
    let replica = Replica::start(&redis.url()).await;
    assert_eq!(replica.take(1).await, None);
    assert_eq!(replica.lines.count("Redis does not answer"), 1);
    assert_eq!(replica.lines.count("rate limits hold"), 0);
}

/// After a restart, or a `SCRIPT FLUSH` by another client.
#[tokio::test]
async fn a_redis_that_has_forgotten_the_script_is_given_it_again() {
    let redis = Redis::start();
    let replica = Replica::start(&redis.url()).await;
    let mut connection = Client::open(redis.url()).unwrap().get_connection().unwrap();
    redis::cmd("SCRIPT")
        .arg("FLUSH")
        .exec(&mut connection)
        .unwrap();
    assert_eq!(replica.take(1).await, Some(true));
}

/// A request of one of three callers, `after` microseconds after the previous one.
#[derive(Clone, Copy, Debug)]
struct Step {
    after: i64,
    caller: u8,
}

fn step(token: i64) -> impl Strategy<Value = Step> {
    let after = prop_oneof![
        4 => 0..=token,
        2 => 0..=1_i64,
        1 => 0..=100 * token,
        // A clock that is set back: by a little, or by more than any bucket takes to fill.
        1 => -token..=0,
        1 => Just(-3_000_000_000_i64),
    ];
    (after, 0..3_u8).prop_map(|(after, caller)| Step { after, caller })
}

fn plan() -> impl Strategy<Value = (Policy, Vec<Step>)> {
    let per_second = prop_oneof![1..=10_u32, 1..=1_000_u32, 1..=1_000_000_u32];
    let burst = prop_oneof![1..=5_u32, 1..=1_000_000_u32];
    (per_second, burst).prop_flat_map(|(per_second, burst)| {
        let policy = Policy { per_second, burst };
        let token = i64::from(1_000_000 / per_second).max(1);
        (Just(policy), prop::collection::vec(step(token), 1..60))
    })
}

/// The script with the time as an argument, and without the expiry, which goes by the clock of Redis.
fn script_told_the_time() -> Script {
    let script = include_str!("../take.lua");
    let (clock, expiry) = ("redis.call('TIME')", ", 'PX', math.ceil(after / 1e6)");
    assert!(script.contains(clock) && script.contains(expiry));
    Script::new(
        &script
            .replace(clock, "{ARGV[3], ARGV[4]}")
            .replace(expiry, ""),
    )
}

/// Steps 2 to 4 are implemented twice: in Rust for memory, and in Lua.
#[test]
fn memory_and_redis_give_the_same_verdicts_on_random_sequences() {
    let redis = Redis::start();
    let client = Client::open(redis.url()).unwrap();
    let script = script_told_the_time();
    proptest!(|((policy, steps) in plan())| {
        let mut connection = client.get_connection().unwrap();
        redis::cmd("FLUSHALL").exec(&mut connection).unwrap();
        let (limiter, begun) = (Limiter::new(policy), Instant::now());
        // Far from zero, since steps go backwards too.
        let mut micros: i64 = 1_000_000_000_000;
        for step in steps {
            micros += step.after;
            let now = begun + Duration::from_micros(micros.unsigned_abs());
            let debt: u64 = script
                .key(step.caller)
                .arg(policy.token())
                .arg(policy.fill())
                .arg(1_795_211_340 + micros / 1_000_000)
                .arg(micros % 1_000_000)
                .invoke(&mut connection)
                .unwrap();
            prop_assert_eq!(policy.take(debt), limiter.take(step.caller, now), "{:?}", step);
        }
    });
}
