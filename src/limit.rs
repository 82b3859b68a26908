//! Rate limits: who may call how often, kept in memory.
//!
//! A caller has a bucket that holds `burst` tokens and fills at `per_second`; a request takes one. The
//! bucket is kept as one number, the moment at which it will be full again (the generic cell rate
//! algorithm, whose "theoretical arrival time" this is):
//!
//! 1. A caller that is not known has a full bucket.
//! 2. A request moves the moment forward by the time that one token takes to come back.
//! 3. If the moment would then be further away than it takes to fill an empty bucket, the request is
//!    refused, and the moment stays. A refusal costs the caller nothing.
//! 4. A bucket that is full again is no different from one that was never seen, so it may be forgotten.
//!
//! Memory is bounded: a shard that reaches its share first forgets full buckets (step 4), and if that
//! does not make room, the fullest quarter of the others. That forgives a few requests to the callers
//! who made fewest; an attacker with many addresses gains nothing that a new address would not give.
//!
//! The state is of this process: a service of several replicas lets through that many times more. The
//! time is an argument, so that a test can say what it is.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::settings::{Settings, Toggle};

/// Locks are taken for a few dozen nanoseconds; this many let all cores pass.
const SHARDS: usize = 16;

/// Buckets in a shard: 65,536 callers in all, about four megabytes.
const SHARD_CAPACITY: usize = 4_096;

/// The limits of a server.
#[derive(Debug)]
pub struct Limits {
    api_keys: Option<Limiter<Uuid>>,
    sessions: Option<Limiter<Uuid>>,
    addresses: Option<Limiter<IpAddr>>,
    /// Of an API key and a session, were there limits.
    pub of_callers: Policy,
    /// Of a client address at the token endpoint, were there limits.
    pub of_addresses: Policy,
}

impl Limits {
    /// The limits that the settings ask for; none when they are off.
    pub fn new(settings: &Settings) -> Self {
        let on = settings.rate_limit == Toggle::On;
        let caller = Policy {
            per_second: settings.rate_limit_per_second,
            burst: settings.rate_limit_burst,
        };
        let address = Policy {
            per_second: settings.token_rate_limit_per_second,
            burst: settings.token_rate_limit_burst,
        };
        Self {
            api_keys: on.then(|| Limiter::new(caller)),
            sessions: on.then(|| Limiter::new(caller)),
            addresses: on.then(|| Limiter::new(address)),
            of_callers: caller,
            of_addresses: address,
        }
    }

    /// Counts a request of an API key. `None` when there are no limits.
    pub fn api_key(&self, id: Uuid) -> Option<Verdict> {
        self.api_keys
            .as_ref()
            .map(|limiter| limiter.take(id, Instant::now()))
    }

    /// Counts a request of a session. `None` when there are no limits.
    pub fn session(&self, id: Uuid) -> Option<Verdict> {
        self.sessions
            .as_ref()
            .map(|limiter| limiter.take(id, Instant::now()))
    }

    /// Counts a token request of a client address. `None` when there are no limits.
    pub fn address(&self, address: IpAddr) -> Option<Verdict> {
        self.addresses
            .as_ref()
            .map(|limiter| limiter.take(network(address), Instant::now()))
    }
}

/// What a client address counts as: an IPv6 customer is given a /64, and may use any address in it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
    }
}

/// How often a caller may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Requests a second in the long run, at least 1.
    pub per_second: u32,
    /// Requests at once after a pause, at least 1.
    pub burst: u32,
}

impl Policy {
    /// Nanoseconds in which one token comes back.
    fn token(self) -> u64 {
        1_000_000_000 / u64::from(self.per_second.max(1))
    }

    /// Nanoseconds in which an empty bucket fills.
    fn fill(self) -> u64 {
        self.token() * u64::from(self.burst.max(1))
    }

    /// What somebody is told whose bucket has just become empty.
    pub fn used_up(self) -> Verdict {
        Verdict {
            policy: self,
            remaining: 0,
            full_in: Duration::from_nanos(self.fill()),
            wait: Some(Duration::from_nanos(self.token())),
        }
    }
}

/// What became of a request, and what its answer's headers say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    policy: Policy,
    /// Tokens left.
    remaining: u64,
    /// Until the bucket is full, were there no further request.
    full_in: Duration,
    /// Until a request would be let through; only when this one was not.
    wait: Option<Duration>,
}

impl Verdict {
    /// Whether the request may go on.
    pub fn allowed(&self) -> bool {
        self.wait.is_none()
    }

    /// The value of `RateLimit-Policy` (IETF draft ratelimit-headers-10): quota, and the window in
    /// whole seconds in which it comes back.
    pub fn policy(&self) -> String {
        let window = u64::from(self.policy.burst).div_ceil(u64::from(self.policy.per_second));
        format!("\"default\";q={};w={window}", self.policy.burst)
    }

    /// The value of `RateLimit`: what is left of the quota, and whole seconds until it is all back.
    pub fn state(&self) -> String {
        format!(
            "\"default\";r={};t={}",
            self.remaining,
            whole_seconds(self.full_in)
        )
    }

    /// The value of `Retry-After` in whole seconds, at least 1, for a request that was refused.
    pub fn retry_after(&self) -> Option<u64> {
        self.wait.map(|wait| whole_seconds(wait).max(1))
    }
}

/// Rounded up: a client that waits as long as it is told must not be early.
fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// Buckets of many callers under one policy.
#[derive(Debug)]
pub struct Limiter<K> {
    policy: Policy,
    /// The zero of the moments below.
    epoch: Instant,
    /// Randomly keyed, so that nobody can choose addresses that all fall into one shard.
    hasher: RandomState,
    /// For each caller the moment at which its bucket is full, in nanoseconds since `epoch`.
    shards: Box<[Mutex<HashMap<K, u64>>]>,
}

impl<K: Hash + Eq + Copy> Limiter<K> {
    /// A limiter that has seen nobody yet.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            epoch: Instant::now(),
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Takes a token out of the bucket of `caller`, if there is one.
    pub fn take(&self, caller: K, now: Instant) -> Verdict {
        // 584 years fit into 64 bits of nanoseconds.
        let now = now.saturating_duration_since(self.epoch).as_nanos() as u64;
        let shard = &self.shards[self.hasher.hash_one(caller) as usize % SHARDS];
        // A map is whole between two statements, whatever panicked elsewhere.
        let mut buckets = shard.lock().unwrap_or_else(PoisonError::into_inner);

        let full_at = buckets
            .get(&caller)
            .map_or(now, |full_at| now.max(*full_at)); // step 1
        let later = full_at + self.policy.token(); // step 2
        let latest = now + self.policy.fill();
        if later > latest {
            return self.verdict(full_at - now, Some(Duration::from_nanos(later - latest))); // step 3
        }
        if buckets.len() >= SHARD_CAPACITY && !buckets.contains_key(&caller) {
            forget(&mut buckets, now);
        }
        buckets.insert(caller, later);
        self.verdict(later - now, None)
    }

    fn verdict(&self, full_in: u64, wait: Option<Duration>) -> Verdict {
        Verdict {
            policy: self.policy,
            remaining: self.policy.fill().saturating_sub(full_in) / self.policy.token(),
            full_in: Duration::from_nanos(full_in),
            wait,
        }
    }
}

/// Makes room: full buckets first (step 4), then, if most are in use, the fullest quarter.
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

    /// Two threads may read the clock in one order and take the lock in the other.
    #[test]
    fn a_moment_before_the_last_one_is_no_trouble() {
        let (limiter, now) = (Limiter::new(POLICY), Instant::now());
        exhaust(&limiter, 1, now + Duration::from_secs(1));
        let refused = limiter.take(1, now);
        assert_eq!(
            (refused.state(), refused.retry_after()),
            ("\"default\";r=0;t=3".into(), Some(2))
        );
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

    #[test]
    fn an_ipv6_client_counts_by_its_64_and_a_mapped_one_as_ipv4() {
        let network = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
    }

    #[test]
    fn limits_may_be_off() {
        let off = Settings {
            rate_limit: Toggle::Off,
            ..Settings::default()
        };
        let limits = Limits::new(&off);
        assert_eq!(limits.api_key(Uuid::nil()), None);
        assert_eq!(limits.session(Uuid::nil()), None);
        assert_eq!(limits.address(Ipv6Addr::LOCALHOST.into()), None);
        let on = Limits::new(&Settings::default());
        assert_eq!(
            on.address(Ipv6Addr::LOCALHOST.into()).unwrap().policy(),
            "\"default\";q=20;w=2"
        );
    }
}
