//! Rate limits: how often each caller may call.
//!
//! A caller has a bucket that holds `burst` tokens and fills at `per_second`; a request takes one. The
//! bucket is kept as one number, the moment at which it will be full again (the generic cell rate
//! algorithm, whose "theoretical arrival time" this is):
//!
//! 1. A caller not seen before has a full bucket.
//! 2. A request moves the moment forward by the time that one token takes to come back.
//! 3. If the moment would then be further away than it takes to fill an empty bucket, the request is
//!    refused, and the moment stays. A refusal costs the caller nothing.
//! 4. A moment that is further away than that already, because the clock was set back or the limits were
//!    changed, is brought back to it.
//! 5. A bucket that is full again is no different from one that was never seen, so it may be forgotten.
//!
//! Buckets are kept in the memory of the process (`memory.rs`), or in one Redis that all replicas share (`shared.rs`). Steps
//! 2 to 4 are written once for memory (`bucket.rs`) and once for Redis (`take.lua`), and the tests of `shared.rs` check the
//! one against the other. While Redis does not answer, each replica counts in its own memory, so a service of several
//! replicas lets through that many times more.

mod bucket;
mod counts;
mod memory;
mod shared;
mod slow;

use std::fmt::Display;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use slog::Logger;
use uuid::Uuid;

use crate::client_address::network;
use crate::domain::browser_session::BrowserSession;
use crate::domain::holder::Holder;
use crate::domain::time::Timestamp;
use crate::settings::{Settings, Toggle};
use crate::tally::Count;

pub(crate) use bucket::{Policy, Verdict};
pub use counts::Counts;
pub(crate) use memory::Limiter;
pub(crate) use shared::{Shared, check as check_redis};
pub(crate) use slow::{Had, SlowLimiter};

/// What each browser may send once its user's bucket is empty: enough to find and sign out another.
const RESERVE: Policy = Policy {
    per_second: 1,
    burst: 10,
};

/// For how long a browser in which a user has signed in is new.
const NEW: Duration = Duration::from_hours(24);

/// The limits of a server.
pub(crate) struct Limits {
    api_keys: Option<Limiter<Uuid>>,
    sessions: Option<Limiter<Uuid>>,
    /// All keys of a team.
    teams: Option<Limiter<Holder>>,
    /// All of a user's sessions of apps.
    users: Option<Limiter<Holder>>,
    /// All of a user's browsers.
    browsers: Option<Limiter<Uuid>>,
    /// Their forms.
    forms: Option<Limiter<Uuid>>,
    reserves: Option<Reserves>,
    addresses: Option<Limiter<IpAddr>>,
    /// Strangers' credentials, until they prove valid.
    guesses: Option<Limiter<IpAddr>>,
    /// The buckets shared with other replicas.
    shared: Option<Shared>,
    counts: Arc<Counts>,
    /// The limit of an API key or a session, even if limits are off.
    pub of_callers: Policy,
    /// The limit of a user on the pages, even if limits are off.
    pub of_browsers: Policy,
    /// The limit of a client address at the token endpoint, even if limits are off.
    pub of_addresses: Policy,
}

/// What browsers may send once their user's bucket is empty.
struct Reserves {
    /// Each browser.
    browsers: Limiter<Uuid>,
    /// All of a user's browsers that are [new](NEW), and all others: a thief may have signed in with thousands.
    new_and_old: Limiter<(Uuid, bool)>,
}

impl Limits {
    /// Returns the limits that the settings ask for, in memory alone; none if they are off.
    pub(crate) fn in_memory(settings: &Settings) -> Self {
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
            teams: on.then(|| Limiter::new(together_at_once(caller, 20, 5))),
            users: on.then(|| Limiter::new(together_at_once(caller, 5, 1))),
            browsers: on.then(|| Limiter::new(pages(caller))),
            forms: on.then(|| Limiter::new(forms(caller))),
            reserves: on.then(|| Reserves {
                browsers: Limiter::new(RESERVE),
                new_and_old: Limiter::new(together_at_once(RESERVE, 10, 10)),
            }),
            addresses: on.then(|| Limiter::new(address)),
            guesses: on.then(|| Limiter::new(guesses(address))),
            shared: None,
            counts: Arc::default(),
            of_callers: caller,
            of_browsers: pages(caller),
            of_addresses: address,
        }
    }

    /// Returns the limits that the settings ask for, in Redis if they name one.
    ///
    /// Waits until Redis has been reached, or found to be unreachable for now.
    pub(crate) async fn start(settings: &Settings, counts: &Arc<Counts>, log: &Logger) -> Self {
        let mut limits = Self::in_memory(settings);
        limits.counts = Arc::clone(counts);
        if let (Toggle::On, Some(redis)) = (settings.rate_limit, &settings.redis) {
            counts.has_redis();
            let shared = Shared::start(redis, shared::DEADLINE, Arc::clone(counts), log.clone());
            limits.shared = Some(shared.await);
        }
        limits
    }

    /// Counts a request of an API key of `holder`. `None` when there are no limits.
    pub(crate) async fn api_key(&self, id: Uuid, holder: Holder) -> Option<Verdict> {
        let verdict = self.take("key", self.api_keys.as_ref()?, id).await;
        let verdict = verdict.map(|it| together(it, self.teams.as_ref(), holder));
        counted(verdict, &self.counts.api_keys)
    }

    /// Counts a request of an app's session of `holder`. `None` when there are no limits.
    pub(crate) async fn session(&self, id: Uuid, holder: Holder) -> Option<Verdict> {
        let verdict = self.take("session", self.sessions.as_ref()?, id).await;
        let verdict = verdict.map(|it| together(it, self.users.as_ref(), holder));
        counted(verdict, &self.counts.sessions)
    }

    /// Counts a request of a browser in which a user is signed in. `None` when there are no limits.
    ///
    /// All browsers of a user share a bucket: a user may have any number of them, and each change stays in the audit. What
    /// brings a form takes from another, smaller one, too, in memory alone: a team may have hundreds of users. Once one is
    /// empty, each browser still has a little of its own, in memory alone, so that one does not use up what another needs.
    pub(crate) async fn browser(
        &self,
        browser: &BrowserSession,
        now: Timestamp,
        brings_form: bool,
    ) -> Option<Verdict> {
        let user_id = browser.user_id.0;
        let verdict = self.take("browser", self.browsers.as_ref()?, user_id).await;
        let forms = self.forms.as_ref().filter(|_| brings_form);
        let verdict = verdict.map(|it| together(it, forms, user_id));
        let verdict = verdict.map(|verdict| match &self.reserves {
            Some(reserves) if !verdict.allowed() && reserves.allow(browser, now) => {
                verdict.let_through()
            }
            _ => verdict,
        });
        counted(verdict, &self.counts.sessions)
    }

    /// Counts a token request of a client address. `None` when there are no limits.
    pub(crate) async fn address(&self, address: IpAddr) -> Option<Verdict> {
        let (limiter, network) = (self.addresses.as_ref()?, network(address));
        let verdict = self.take("address", limiter, network).await;
        counted(verdict, &self.counts.addresses)
    }

    /// Counts a stranger's credential before it is looked up. Returns the verdict to answer with if the address has
    /// presented too many wrong ones. Counts in memory alone: it is this replica's work that has to be spared.
    pub(crate) fn guess(&self, address: IpAddr) -> Option<Verdict> {
        let guesses = self.guesses.as_ref()?;
        let verdict = guesses.take(network(address), Instant::now());
        let refused = (!verdict.allowed()).then_some(verdict);
        counted(refused, &self.counts.guesses)
    }

    /// Takes back a guess: the credential is valid, or could not be checked.
    pub(crate) fn was_no_guess(&self, address: IpAddr) {
        if let Some(guesses) = &self.guesses {
            guesses.give_back(network(address));
        }
    }

    /// Takes from the bucket that all replicas share or, failing that, from the one in memory.
    async fn take<K>(&self, kind: &str, limiter: &Limiter<K>, caller: K) -> Option<Verdict>
    where
        K: Hash + Eq + Copy + Display,
    {
        if let Some(shared) = &self.shared
            && let Some(verdict) = shared.take(limiter.policy(), kind, caller).await
        {
            return Some(verdict);
        }
        Some(limiter.take(caller, Instant::now()))
    }
}

/// Counts what a key or a session may send for its holder, too, in memory alone: it is this replica's work that has to be
/// bounded.
fn together<K: Hash + Eq + Copy>(
    verdict: Verdict,
    holders: Option<&Limiter<K>>,
    holder: K,
) -> Verdict {
    let holders = holders.filter(|_| verdict.allowed());
    let of_all = holders.map(|it| it.take(holder, Instant::now()));
    of_all.filter(|it| !it.allowed()).unwrap_or(verdict)
}

/// Counts a refusal, and returns the verdict.
fn counted(verdict: Option<Verdict>, refused: &Count) -> Option<Verdict> {
    if verdict.as_ref().is_some_and(|verdict| !verdict.allowed()) {
        refused.one();
    }
    verdict
}

impl Reserves {
    fn allow(&self, browser: &BrowserSession, now: Timestamp) -> bool {
        let is_new = now < browser.created_at.after(NEW);
        let now = Instant::now();
        if !self.browsers.take(browser.id.0, now).allowed() {
            return false;
        }
        let verdict = self.new_and_old.take((browser.user_id.0, is_new), now);
        if !verdict.allowed() {
            self.browsers.give_back(browser.id.0);
        }
        verdict.allowed()
    }
}

/// Returns how much several callers may send together, given what each may (docs/decisions.md, R4): a team may have hundreds
/// of keys, and a user any number of sessions. At once it is less, since whoever sends anything then waits behind all of that.
fn together_at_once(each: Policy, times: u32, times_at_once: u32) -> Policy {
    Policy {
        per_second: each.per_second.saturating_mul(times),
        burst: each.burst.saturating_mul(times_at_once),
    }
}

/// Returns how often a user may ask for pages, given how often a program may call (docs/decisions.md, R4): at once less, since
/// whoever sends anything then waits behind all of that, and a team may have hundreds of users.
fn pages(requests: Policy) -> Policy {
    Policy {
        burst: (requests.burst / 4).max(1),
        ..requests
    }
}

/// Returns how many forms a user may send, given the same: a person sends one at a time, and each may change something.
fn forms(requests: Policy) -> Policy {
    Policy {
        per_second: (requests.per_second / 10).max(1),
        burst: (requests.burst / 10).max(1),
    }
}

/// Returns how many wrong credentials an address may present, given how many token requests it may make (docs/decisions.md,
/// R9): more, since many people whose tokens have expired may be behind it.
fn guesses(requests: Policy) -> Policy {
    Policy {
        per_second: requests.per_second.saturating_mul(2),
        burst: requests.burst.saturating_mul(5),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_211_340_123);

    /// A browser in which this user is signed in.
    fn browser(number: u128, user_id: Uuid) -> BrowserSession {
        BrowserSession {
            id: Uuid::from_u128(number).into(),
            user_id: user_id.into(),
            user_agent: None,
            created_at: NOW,
            signed_in_at: NOW,
            last_used_at: NOW,
        }
    }

    #[test]
    fn wrong_credentials_are_counted_by_network_and_good_ones_are_not() {
        let limits = Limits::in_memory(&Settings::default());
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for number in 0..100 {
            let guesser = address(&format!("2001:db8::{number}"));
            for _ in 0..2 {
                assert_eq!(limits.guess(guesser), None);
                limits.was_no_guess(guesser);
            }
            assert_eq!(limits.guess(guesser), None);
        }
        let refused = (0..100).find_map(|_| limits.guess(address("2001:db8::1")));
        let refused = refused.unwrap();
        assert_eq!(refused.policy(), "\"default\";q=100;w=5");
        assert_eq!(refused.retry_after(), Some(1));
        assert_eq!(limits.guess(address("192.0.2.1")), None);
    }

    #[tokio::test]
    async fn all_keys_of_a_team_have_twenty_times_what_one_has_and_at_once_five_times() {
        let limits = Limits::in_memory(&Settings::default());
        let team = Holder::Team(Uuid::max());
        let (begun, mut allowed) = (Instant::now(), 0);
        let refused = loop {
            let id = Uuid::from_u128(allowed % 100);
            let verdict = limits.api_key(id, team).await.unwrap();
            match verdict.allowed() {
                true => allowed += 1,
                false => break verdict,
            }
        };
        let came_back = begun.elapsed().as_millis() * 2;
        assert!((1_000..=1_001 + came_back).contains(&allowed), "{allowed}");
        assert_eq!(refused.policy(), "\"default\";q=1000;w=1");
    }

    #[tokio::test]
    async fn all_apps_of_a_user_have_five_times_what_one_session_has_and_at_once_as_much() {
        let limits = Limits::in_memory(&Settings::default());
        let (user, other) = (Holder::User(Uuid::max()), Holder::User(Uuid::nil()));
        let begun = Instant::now();
        let (mut allowed, mut refused) = (0, None);
        for session in 0..100 {
            let id = Uuid::from_u128(session);
            for _ in 0..100 {
                let verdict = limits.session(id, user).await.unwrap();
                allowed += u128::from(verdict.allowed());
                refused = refused.or((!verdict.allowed()).then_some(verdict));
            }
        }
        let came_back = begun.elapsed().as_millis() / 2;
        assert!((200..=201 + came_back).contains(&allowed), "{allowed}");
        assert_eq!(refused.unwrap().policy(), "\"default\";q=200;w=1");
        let verdict = limits.session(Uuid::max(), other).await.unwrap();
        assert!(verdict.allowed());
    }

    #[tokio::test]
    async fn a_browser_has_a_little_left_whatever_other_browsers_and_apps_of_its_user_send() {
        let limits = Limits::in_memory(&Settings::default());
        let (user, begun) = (Uuid::max(), Instant::now());
        for app in 0..50 {
            for _ in 0..200 {
                limits
                    .session(Uuid::from_u128(app), Holder::User(user))
                    .await;
            }
        }
        let sent = async |number| {
            let (browser, mut allowed) = (browser(number, user), 0);
            let refused = loop {
                let verdict = limits.browser(&browser, NOW, false).await.unwrap();
                match verdict.allowed() {
                    true => allowed += 1,
                    false => break verdict,
                }
            };
            assert_eq!(refused.policy(), "\"default\";q=50;w=1");
            let came_back = begun.elapsed().as_millis() * 101 / 1_000;
            (allowed, came_back)
        };
        let (first, came_back) = sent(1).await;
        assert!((60..=61 + came_back).contains(&first), "{first}");
        let (second, came_back) = sent(2).await;
        assert!((10..=11 + came_back).contains(&second), "{second}");
        // All browsers together have ten times as much.
        let (mut others, mut came_back) = (0, 0);
        for browser in 3..=20 {
            let sent = sent(browser).await;
            (others, came_back) = (others + sent.0, sent.1);
        }
        assert!((80..=82 + 2 * came_back).contains(&others), "{others}");
        // Not with those that are older.
        let mut old = browser(21, user);
        old.created_at = NOW.before(NEW);
        let verdict = limits.browser(&old, NOW, false).await.unwrap();
        assert!(verdict.allowed());
    }

    #[tokio::test]
    async fn a_user_may_send_a_tenth_as_many_forms_and_a_little_from_each_browser() {
        let limits = Limits::in_memory(&Settings::default());
        let (user, begun) = (Uuid::max(), Instant::now());
        let send = async |number, brings_form| {
            let browser = browser(number, user);
            limits.browser(&browser, NOW, brings_form).await.unwrap()
        };
        let mut allowed = 0;
        let refused = loop {
            let verdict = send(1, true).await;
            match verdict.allowed() {
                true => allowed += 1,
                false => break verdict,
            }
        };
        assert_eq!(refused.policy(), "\"default\";q=20;w=2");
        let came_back = begun.elapsed().as_millis() * 11 / 1_000;
        assert!((30..=31 + came_back).contains(&allowed), "{allowed}");
        assert!(send(1, false).await.allowed());
        assert!(send(2, true).await.allowed());
    }

    #[tokio::test]
    async fn limits_may_be_off() {
        let off = Settings {
            rate_limit: Toggle::Off,
            ..Settings::default()
        };
        let limits = Limits::in_memory(&off);
        assert_eq!(limits.api_key(Uuid::nil(), Holder::Service).await, None);
        assert_eq!(limits.session(Uuid::nil(), Holder::Service).await, None);
        assert_eq!(limits.address(Ipv6Addr::LOCALHOST.into()).await, None);
        assert_eq!(limits.guess(Ipv6Addr::LOCALHOST.into()), None);
        let browser = browser(0, Uuid::nil());
        assert_eq!(limits.browser(&browser, NOW, true).await, None);
        let on = Limits::in_memory(&Settings::default());
        assert_eq!(
            on.address(Ipv6Addr::LOCALHOST.into())
                .await
                .unwrap()
                .policy(),
            "\"default\";q=20;w=2"
        );
    }
}
