//! Limits rare events: buckets in which a token comes back every few seconds, rather than several a second.

use std::hash::Hash;
use std::time::Instant;

use tokio::time;

use super::bucket::Policy;
use super::memory::Limiter;

/// Buckets for rare events, in memory.
#[derive(Debug)]
pub(crate) struct SlowLimiter<K> {
    buckets: Limiter<K>,
    every: u32,
    /// By the clock that tests pause.
    begun: time::Instant,
}

/// An event that may have been counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Had {
    /// How many earlier ones are not forgotten yet, `burst` at most.
    pub(crate) earlier: u64,
    is_counted: bool,
}

impl<K: Hash + Eq + Copy> SlowLimiter<K> {
    /// `burst` at once, and then one every `every` seconds.
    pub(crate) fn new(burst: u32, every: u32) -> SlowLimiter<K> {
        SlowLimiter {
            buckets: Limiter::new(Policy {
                per_second: 1,
                burst,
            }),
            every,
            begun: time::Instant::now(),
        }
    }

    /// Whether the event may happen once more; counts it if so.
    pub(crate) fn take(&self, key: K) -> bool {
        self.buckets.take(key, self.now()).allowed()
    }

    /// The buckets count by the second, so their clock runs slower by the factor `every`.
    fn now(&self) -> Instant {
        (self.begun + self.begun.elapsed() / self.every).into_std()
    }

    /// How many events are not forgotten yet, `burst` at most.
    pub(crate) fn earlier(&self, key: K) -> u64 {
        let token = self.buckets.policy().token();
        self.buckets.debt(key, self.now()).div_ceil(token)
    }

    /// Counts one more event, unless there are as many as are counted.
    pub(crate) fn count(&self, key: K) -> Had {
        let verdict = self.buckets.take(key, self.now());
        let (token, is_counted) = (self.buckets.policy().token(), verdict.allowed());
        let its_own = if is_counted { token } else { 0 };
        Had {
            earlier: verdict.debt.saturating_sub(its_own).div_ceil(token),
            is_counted,
        }
    }

    /// Takes back an event that was counted but did not happen.
    pub(crate) fn uncount(&self, key: K, had: Had) {
        if had.is_counted {
            self.give_back(key);
        }
    }

    /// Takes back an event that was allowed but did not happen.
    pub(crate) fn give_back(&self, key: K) {
        self.buckets.give_back(key);
    }
}
