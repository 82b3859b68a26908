//! One bucket: how much a request takes from it, and what its headers report.
//!
//! A bucket is described by one number, its debt: in how many nanoseconds it will be full again. Its callers decide where
//! that moment is kept, and by which clock.

use std::time::Duration;

/// How many requests a caller may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Requests a second in the long run, at least 1.
    pub per_second: u32,
    /// Requests at once after a pause, at least 1.
    pub burst: u32,
}

impl Policy {
    /// Nanoseconds until one token comes back.
    pub(super) fn token(self) -> u64 {
        1_000_000_000 / u64::from(self.per_second.max(1))
    }

    /// Nanoseconds until an empty bucket is full.
    pub(super) fn fill(self) -> u64 {
        self.token() * u64::from(self.burst.max(1))
    }

    /// Takes a token out of the bucket with this debt, if there is one (steps 2 to 4 of [`super`]). The answer has the new
    /// debt.
    pub(super) fn take(self, debt: u64) -> Verdict {
        let debt = debt.min(self.fill()); // step 4
        let more = debt + self.token(); // step 2
        match more.saturating_sub(self.fill()) {
            0 => self.verdict(more, None),
            early => self.verdict(debt, Some(Duration::from_nanos(early))), // step 3
        }
    }

    /// The verdict for a caller whose bucket has just become empty.
    pub(crate) fn used_up(self) -> Verdict {
        self.verdict(self.fill(), Some(Duration::from_nanos(self.token())))
    }

    fn verdict(self, debt: u64, wait: Option<Duration>) -> Verdict {
        Verdict {
            policy: self,
            debt,
            wait,
        }
    }
}

/// The verdict on a request, and what its answer's headers report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    policy: Policy,
    /// Nanoseconds until the bucket is full, if there were no further request.
    pub(super) debt: u64,
    /// Time until a request would be allowed; only set if this one was not.
    wait: Option<Duration>,
}

impl Verdict {
    /// This verdict, but the request may go on.
    pub(super) fn let_through(self) -> Self {
        Self { wait: None, ..self }
    }

    /// Whether the request may go on.
    pub fn allowed(&self) -> bool {
        self.wait.is_none()
    }

    /// The value of `RateLimit-Policy` (IETF draft ratelimit-headers-10): quota, and the window in whole seconds in which it
    /// comes back.
    pub fn policy(&self) -> String {
        let window = u64::from(self.policy.burst).div_ceil(u64::from(self.policy.per_second));
        item("q", self.policy.burst.into(), "w", window)
    }

    /// The value of `RateLimit`: what is left of the quota, and whole seconds until it is all back.
    pub fn state(&self) -> String {
        let remaining = self.policy.fill().saturating_sub(self.debt) / self.policy.token();
        let full_in = whole_seconds(Duration::from_nanos(self.debt));
        item("r", remaining, "t", full_in)
    }

    /// The value of `Retry-After` in whole seconds, at least 1, for a request that was refused.
    pub fn retry_after(&self) -> Option<u64> {
        self.wait.map(|wait| whole_seconds(wait).max(1))
    }
}

/// A header item with two parameters. Every answer has two items, for which `format!` would take four times as long.
fn item(one: &str, its: u64, other: &str, others: u64) -> String {
    // The longest an item gets with numbers of ten digits.
    let mut item = String::with_capacity(40);
    for (before, parameter, value) in [("\"default\";", one, its), (";", other, others)] {
        item.push_str(before);
        item.push_str(parameter);
        item.push('=');
        item.push_str(itoa::Buffer::new().format(value));
    }
    item
}

/// Rounds up: a client that waits exactly as long as told must not be early.
fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}
