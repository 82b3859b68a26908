//! Buckets in the memory of this process.
//!
//! Memory is bounded: a shard that reaches its share first forgets full buckets (step 5), and if that does not make room,
//! the fullest quarter of the others. That forgives a few requests to the callers who made the fewest; an attacker with many
//! addresses gains nothing that a new address would not give.
//!
//! The time is an argument, so that a test can choose it.

use std::hash::{BuildHasher, Hash};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use foldhash::HashMap;
use foldhash::fast::RandomState;

use super::bucket::{Policy, Verdict};

/// Locks are taken for a few dozen nanoseconds; this many let all cores pass.
const SHARDS: usize = 16;

/// Buckets in a shard: 65,536 callers in all, about four megabytes.
const SHARD_CAPACITY: usize = 4_096;

/// Buckets of many callers under one policy.
#[derive(Debug)]
pub(crate) struct Limiter<K> {
    policy: Policy,
    /// The start of the moments below.
    epoch: Instant,
    /// Randomly keyed, so that an attacker cannot choose addresses that all fall into one shard.
    hasher: RandomState,
    /// For each caller the moment at which its bucket is full, in nanoseconds since `epoch`.
    shards: Box<[Mutex<HashMap<K, u64>>]>,
}

impl<K: Hash + Eq + Copy> Limiter<K> {
    /// A limiter that has seen no caller yet.
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            policy,
            epoch: Instant::now(),
            hasher: RandomState::default(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// The policy of each bucket.
    pub(crate) fn policy(&self) -> Policy {
        self.policy
    }

    /// Takes a token out of the bucket of `caller`, if there is one.
    pub(crate) fn take(&self, caller: K, now: Instant) -> Verdict {
        let now = self.moment(now);
        let mut buckets = self.shard(caller);

        let full_at = buckets.get(&caller).copied();
        let debt = full_at.map_or(0, |full_at| full_at.saturating_sub(now)); // step 1
        let verdict = self.policy.take(debt);
        if full_at.is_none() && buckets.len() >= SHARD_CAPACITY {
            forget(&mut buckets, now);
        }
        buckets.insert(caller, now + verdict.debt);
        verdict
    }

    /// The debt of the bucket of `caller`: in how many nanoseconds it is full.
    pub(crate) fn debt(&self, caller: K, now: Instant) -> u64 {
        let full_at = self.shard(caller).get(&caller).copied();
        full_at.map_or(0, |full_at| full_at.saturating_sub(self.moment(now)))
    }

    /// Puts back a token that was taken.
    pub(crate) fn give_back(&self, caller: K) {
        if let Some(full_at) = self.shard(caller).get_mut(&caller) {
            *full_at = full_at.saturating_sub(self.policy.token());
        }
    }

    /// Nanoseconds since the epoch; 584 years of them fit into 64 bits.
    fn moment(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.epoch).as_nanos() as u64
    }

    fn shard(&self, caller: K) -> MutexGuard<'_, HashMap<K, u64>> {
        let shard = &self.shards[self.hasher.hash_one(caller) as usize % SHARDS];
        // The map is consistent between two statements, whatever panicked elsewhere.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes room: full buckets first (step 5), then, if most are in use, the fullest quarter.
fn forget<K>(buckets: &mut HashMap<K, u64>, now: u64)
where
    K: Hash + Eq,
{
    buckets.retain(|_, full_at| *full_at > now);
    let room = SHARD_CAPACITY / 4;
    if buckets.len() > SHARD_CAPACITY - room {
        let mut moments: Vec<u64> = buckets.values().copied().collect();
        let (_, &mut limit, _) = moments.select_nth_unstable(room);
        buckets.retain(|_, full_at| *full_at > limit);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const POLICY: Policy = Policy {
        per_second: 100,
        burst: 200,
    };

    fn exhaust(limiter: &Limiter<u64>, caller: u64, now: Instant) {
        (0..POLICY.burst).for_each(|_| assert!(limiter.take(caller, now).allowed()));
    }

    fn headers(verdict: Verdict) -> (String, String, Option<u64>) {
        (verdict.policy(), verdict.state(), verdict.retry_after())
    }

    #[test]
    fn the_headers_are_those_of_the_interface() {
        let limiter = Limiter::new(POLICY);
        let first = limiter.take(1, Instant::now());
        assert_eq!(
            headers(first),
            (
                "\"default\";q=200;w=2".into(),
                "\"default\";r=199;t=1".into(),
                None
            )
        );
    }

    #[test]
    fn a_burst_is_let_through_and_the_next_request_is_refused() {
        let (limiter, now) = (Limiter::new(POLICY), Instant::now());
        for left in (0..200).rev() {
            let verdict = limiter.take(1, now);
            assert!(verdict.allowed());
            assert!(
                verdict
                    .state()
                    .starts_with(&format!("\"default\";r={left};"))
            );
        }
        let refused = limiter.take(1, now);
        assert!(!refused.allowed());
        assert_eq!(refused.state(), "\"default\";r=0;t=2");
        assert_eq!(refused.retry_after(), Some(1));
        assert!(
            limiter.take(2, now).allowed(),
            "another caller has a bucket of its own"
        );
    }

    #[test]
    fn tokens_come_back_one_by_one_and_a_refusal_costs_none() {
        let (limiter, now) = (Limiter::new(POLICY), Instant::now());
        exhaust(&limiter, 1, now);
        (0..50).for_each(|_| assert!(!limiter.take(1, now).allowed()));
        let after = now + Duration::from_millis(10);
        assert!(limiter.take(1, after).allowed());
        assert!(!limiter.take(1, after).allowed());
        let much_later = now + Duration::from_secs(60);
        assert_eq!(limiter.take(1, much_later).state(), "\"default\";r=199;t=1");
    }

    #[test]
    fn what_is_given_back_may_be_taken_again_and_never_more() {
        let (limiter, now) = (Limiter::new(POLICY), Instant::now());
        exhaust(&limiter, 1, now);
        limiter.give_back(1);
        assert!(limiter.take(1, now).allowed());
        assert!(!limiter.take(1, now).allowed());
        limiter.give_back(2);
        (0..=POLICY.burst).for_each(|_| limiter.give_back(1));
        exhaust(&limiter, 1, now);
        assert!(!limiter.take(1, now).allowed());
    }

    #[test]
    fn a_client_that_waits_as_told_is_let_through() {
        let (limiter, now) = (
            Limiter::new(Policy {
                per_second: 1,
                burst: 1,
            }),
            Instant::now(),
        );
        assert!(limiter.take(1, now).allowed());
        let wait = limiter
            .take(1, now + Duration::from_millis(1))
            .retry_after()
            .unwrap();
        assert_eq!(wait, 1);
        assert!(
            limiter
                .take(
                    1,
                    now + Duration::from_millis(1) + Duration::from_secs(wait)
                )
                .allowed()
        );
    }

    /// Two threads may read the clock in one order and take the lock in the other; the clock of Redis
    /// may be set back.
    #[test]
    fn a_clock_that_steps_back_locks_nobody_out_for_longer_than_a_bucket_takes_to_fill() {
        let (limiter, now) = (Limiter::new(POLICY), Instant::now());
        exhaust(&limiter, 1, now + Duration::from_secs(3_600));
        let refused = limiter.take(1, now);
        assert_eq!(
            (refused.state(), refused.retry_after()),
            ("\"default\";r=0;t=2".into(), Some(1))
        );
        assert!(limiter.take(1, now + Duration::from_millis(10)).allowed());
    }

    #[test]
    fn memory_is_bounded_and_exhausted_buckets_are_the_last_to_go() {
        let (limiter, now) = (Limiter::new(POLICY), Instant::now());
        exhaust(&limiter, u64::MAX, now);
        for caller in 0..(SHARDS * SHARD_CAPACITY * 3) as u64 {
            assert!(limiter.take(caller, now).allowed());
        }
        let kept: usize = limiter
            .shards
            .iter()
            .map(|shard| shard.lock().unwrap().len())
            .sum();
        assert!(kept <= SHARDS * SHARD_CAPACITY, "{kept}");
        assert!(!limiter.take(u64::MAX, now).allowed());
    }

    #[test]
    fn full_buckets_are_forgotten_first() {
        let mut buckets: HashMap<u64, u64> = (0..SHARD_CAPACITY as u64).map(|n| (n, n)).collect();
        forget(&mut buckets, SHARD_CAPACITY as u64 / 2);
        assert_eq!(buckets.len(), SHARD_CAPACITY / 2 - 1);
    }
}
