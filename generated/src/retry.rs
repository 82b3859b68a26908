//! When a call is retried, and after how long.
//!
//! 1. Only a call that may safely be executed twice is repeated ([`Repeat`]).
//! 2. It is repeated if there was no response, or if the response was 429 or 503.
//! 3. The pause before attempt `n + 1` is random between zero and `base_delay * 2^(n - 1)`, at most
//!    `max_delay` (exponential backoff with full jitter, so that many clients do not return at once).
//!    `Retry-After` is added to at most one `base_delay` of it: never sooner than asked.
//! 4. It ends when the attempts are used up or the next one would start after the budget.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Method, Request};
use tokio::time::Instant;

/// How often and for how long a call is attempted before its error is returned.
///
/// A call is retried if the connection failed, if it timed out, and if the service responded with 429
/// or 503; reads and archiving always, creating and changing products under their idempotency key,
/// which the client generates once for each call and keeps across its attempts. The pauses grow
/// exponentially and are fully jittered. The client never waits less than `Retry-After`: if that
/// exceeds [`budget`](RetryPolicy::budget), the call fails at once and the error says how long to
/// wait.
///
/// ```
/// use std::time::Duration;
/// use invoicing_client::{Client, RetryPolicy};
///
/// let patient = RetryPolicy::new().max_attempts(8).budget(Duration::from_secs(300));
/// let client = Client::builder("https://invoices.example").retry(patient).build()?;
/// # Ok::<(), invoicing_client::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    max_attempts: u32,
    base_delay: Duration,
    max_delay: Duration,
    budget: Duration,
}

impl RetryPolicy {
    /// Returns the default: 4 attempts, pauses of up to 0.2, 0.4 and 0.8 seconds, a budget of one
    /// minute.
    ///
    /// ```
    /// # use invoicing_client::RetryPolicy;
    /// assert_eq!(RetryPolicy::new(), RetryPolicy::default());
    /// ```
    pub const fn new() -> RetryPolicy {
        RetryPolicy {
            max_attempts: 4,
            base_delay: Duration::from_millis(200),
            max_delay: Duration::from_secs(5),
            budget: Duration::from_secs(60),
        }
    }

    /// Attempts every call only once.
    ///
    /// ```
    /// # use invoicing_client::RetryPolicy;
    /// assert_eq!(RetryPolicy::off(), RetryPolicy::new().max_attempts(1));
    /// ```
    pub const fn off() -> RetryPolicy {
        RetryPolicy::new().max_attempts(1)
    }

    /// Sets the most attempts of one call, including the first; 0 counts as 1.
    ///
    /// ```
    /// # use invoicing_client::RetryPolicy;
    /// let policy = RetryPolicy::new().max_attempts(2);
    /// ```
    pub const fn max_attempts(mut self, attempts: u32) -> RetryPolicy {
        self.max_attempts = if attempts == 0 { 1 } else { attempts };
        self
    }

    /// Sets the longest pause before the second attempt; it doubles with each further one.
    ///
    /// ```
    /// # use invoicing_client::RetryPolicy;
    /// let policy = RetryPolicy::new().base_delay(std::time::Duration::from_millis(50));
    /// ```
    pub const fn base_delay(mut self, delay: Duration) -> RetryPolicy {
        self.base_delay = delay;
        self
    }

    /// Sets where the doubling ends.
    ///
    /// ```
    /// # use invoicing_client::RetryPolicy;
    /// let policy = RetryPolicy::new().max_delay(std::time::Duration::from_secs(2));
    /// ```
    pub const fn max_delay(mut self, delay: Duration) -> RetryPolicy {
        self.max_delay = delay;
        self
    }

    /// Sets the time from the first attempt after which no further one starts. Also the longest
    /// `Retry-After` that is waited for.
    ///
    /// ```
    /// # use invoicing_client::RetryPolicy;
    /// let policy = RetryPolicy::new().budget(std::time::Duration::from_secs(10));
    /// ```
    pub const fn budget(mut self, budget: Duration) -> RetryPolicy {
        self.budget = budget;
        self
    }

    /// Starts counting the attempts and the time of one call.
    pub(crate) fn start(&self) -> Attempts<'_> {
        Attempts {
            policy: self,
            started: Instant::now(),
            failed: 0,
        }
    }

    fn ceiling(&self, failed: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failed.saturating_sub(1));
        self.base_delay.saturating_mul(doubled).min(self.max_delay)
    }
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy::new()
    }
}

/// The attempts of one call so far.
pub(crate) struct Attempts<'p> {
    policy: &'p RetryPolicy,
    started: Instant,
    failed: u32,
}

impl Attempts<'_> {
    /// Counts a failed attempt (step 4) and returns how long to pause (step 3) before the next, if
    /// there is one.
    pub(crate) fn failed(&mut self, retry_after: Option<Duration>) -> Option<Duration> {
        self.failed += 1;
        let pause = match retry_after {
            Some(asked) => asked.saturating_add(jitter(self.policy.base_delay)),
            None => jitter(self.policy.ceiling(self.failed)),
        };
        let in_time = self.started.elapsed().saturating_add(pause) <= self.policy.budget;
        (self.failed < self.policy.max_attempts && in_time).then_some(pause)
    }
}

fn jitter(ceiling: Duration) -> Duration {
    // Without randomness, use the longest pause: a retry is no reason to panic.
    let part = getrandom::u32().unwrap_or(u32::MAX);
    ceiling.mul_f64(f64::from(part) / f64::from(u32::MAX))
}

/// Whether a request may be executed twice (step 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// As its method implies: reads and archiving always, others only under an idempotency key.
    ByMethod,
    /// Always, for this long after the start of the first attempt.
    Within(Duration),
}

impl Repeat {
    /// Returns the policy for a request; a request that must be sent only once gets a single attempt.
    pub(crate) fn policy(self, policy: &RetryPolicy, request: &Request) -> RetryPolicy {
        match self {
            Repeat::Within(window) => policy.clone().budget(policy.budget.min(window)),
            Repeat::ByMethod if repeatable(request) => policy.clone(),
            Repeat::ByMethod => RetryPolicy::off(),
        }
    }
}

fn repeatable(request: &Request) -> bool {
    matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::DELETE
    ) || request.headers().contains_key("idempotency-key")
}

/// Returns the pause that a response asks for: whole seconds, or a date (RFC 9110, section 10.2.3).
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = DateTime::parse_from_rfc2822(value).ok()?;
    let now = DateTime::<Utc>::from(std::time::SystemTime::now());
    Some(
        (until.with_timezone(&Utc) - now)
            .to_std()
            .unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn request(method: Method, key: Option<&str>) -> Request {
        let mut request = Request::new(method, "http://localhost/".parse().unwrap());
        if let Some(key) = key {
            request
                .headers_mut()
                .insert("Idempotency-Key", key.parse().unwrap());
        }
        request
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_are_counted_with_the_first_included() {
        let policy = RetryPolicy::new().max_attempts(3);
        let mut attempts = policy.start();
        assert!(attempts.failed(None).is_some());
        assert!(attempts.failed(None).is_some());
        assert_eq!(attempts.failed(None), None);
        assert_eq!(RetryPolicy::off().start().failed(None), None);
        assert_eq!(
            RetryPolicy::new().max_attempts(0).start().failed(None),
            None
        );
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_the_longest_and_are_jittered_down_to_zero() {
        let policy = RetryPolicy::new().base_delay(SECOND).max_delay(3 * SECOND);
        let ceilings: Vec<_> = (1..=4).map(|failed| policy.ceiling(failed)).collect();
        assert_eq!(ceilings, [SECOND, 2 * SECOND, 3 * SECOND, 3 * SECOND]);
        assert_eq!(policy.ceiling(u32::MAX), 3 * SECOND);
        let pauses: Vec<_> = (0..1000).map(|_| jitter(SECOND)).collect();
        assert!(pauses.iter().all(|pause| *pause < SECOND));
        assert!(pauses.iter().any(|pause| *pause < SECOND / 10));
        assert!(pauses.iter().any(|pause| *pause > SECOND * 9 / 10));
    }

    #[tokio::test(start_paused = true)]
    async fn retry_after_is_never_undercut() {
        for _ in 0..100 {
            let pause = RetryPolicy::new()
                .base_delay(SECOND)
                .start()
                .failed(Some(7 * SECOND));
            assert!((7 * SECOND..8 * SECOND).contains(&pause.unwrap()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_retry_after_beyond_the_budget_ends_the_call_at_once() {
        let policy = RetryPolicy::new().budget(5 * SECOND);
        assert_eq!(policy.start().failed(Some(6 * SECOND)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_budget_counts_from_the_first_attempt() {
        let policy = RetryPolicy::new().max_attempts(99).budget(5 * SECOND);
        let mut attempts = policy.start();
        tokio::time::advance(4 * SECOND).await;
        assert!(attempts.failed(None).is_some());
        tokio::time::advance(2 * SECOND).await;
        assert_eq!(attempts.failed(None), None);
    }

    #[test]
    fn only_requests_that_may_run_twice_are_repeated() {
        let policy = RetryPolicy::new();
        let repeated = |repeat: Repeat, method, key| {
            repeat.policy(&policy, &request(method, key)) != RetryPolicy::off()
        };
        assert!(repeated(Repeat::ByMethod, Method::GET, None));
        assert!(repeated(Repeat::ByMethod, Method::DELETE, None));
        assert!(!repeated(Repeat::ByMethod, Method::POST, None));
        assert!(!repeated(Repeat::ByMethod, Method::PATCH, None));
        assert!(repeated(Repeat::ByMethod, Method::POST, Some("k")));
        assert!(repeated(Repeat::ByMethod, Method::PATCH, Some("k")));
        assert_eq!(
            Repeat::Within(SECOND).policy(&policy, &request(Method::POST, None)),
            policy.clone().budget(SECOND)
        );
    }

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(read("3"), Some(3 * SECOND));
        assert_eq!(read("0"), Some(Duration::ZERO));
        assert_eq!(read("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert!(read("Fri, 21 Oct 2095 07:28:00 GMT") > Some(SECOND));
        assert_eq!(read("soon"), None);
        assert_eq!(read("-1"), None);
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
