//! What may happen seldom: a bucket into which a token comes back in some seconds, and not some in a second.

use std::hash::Hash;
use std::time::Instant;

use super::bucket::Policy;
use super::memory::Limiter;

/// Buckets of things that happen seldom, in memory.
#[derive(Debug)]
pub(crate) struct Seldom<K> {
    buckets: Limiter<K>,
    every: u32,
    begun: Instant,
}

impl<K: Hash + Eq + Copy> Seldom<K> {
    /// `burst` at once, and then one every so many seconds.
    pub(crate) fn new(burst: u32, every: u32) -> Seldom<K> {
        Seldom {
            buckets: Limiter::new(Policy {
                per_second: 1,
                burst,
            }),
            every,
            begun: Instant::now(),
        }
    }

    /// Whether it may happen once more, which is counted then.
    pub(crate) fn take(&self, key: K) -> bool {
        self.buckets.take(key, self.now()).allowed()
    }

    /// The buckets count by the second, so their clock is that much slower.
    fn now(&self) -> Instant {
        self.begun + self.begun.elapsed() / self.every
    }

    /// Counts that it happens once more; says how many times it has that are not forgotten yet, `burst` at most.
    pub(crate) fn count(&self, key: K) -> u64 {
        let verdict = self.buckets.take(key, self.now());
        let policy = self.buckets.policy();
        let before = verdict.debt.saturating_sub(policy.token());
        before.div_ceil(policy.token())
    }

    /// It has not happened.
    pub(crate) fn give_back(&self, key: K) {
        self.buckets.give_back(key);
    }
}
