//! Time as the service uses it: milliseconds, UTC, read from one [`Clock`] that tests can set.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use openapi_dropshot_runtime::rfc3339;

/// An instant in UTC, to the millisecond, as milliseconds since 1970.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The last instant that RFC 3339 can write: the end of the year 9999.
    pub const LAST: Timestamp = Timestamp(253_402_300_799_999);

    /// The instant that many milliseconds after 1970-01-01T00:00:00Z.
    pub const fn from_millis(millis: i64) -> Timestamp {
        Timestamp(millis)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The same instant for `chrono`; instants that it cannot hold (262,000 years away) become 1970.
    pub fn to_datetime(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or_default()
    }

    /// The instant `duration` later, at most the last one that can be represented.
    #[must_use]
    pub fn after(self, duration: Duration) -> Timestamp {
        Timestamp(
            self.0
                .saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// The instant `duration` earlier, at least the first one that can be represented.
    #[must_use]
    pub fn before(self, duration: Duration) -> Timestamp {
        Timestamp(
            self.0
                .saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// The time from `earlier` until this instant; zero when `earlier` is not earlier.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The start of the day in UTC that this instant lies in.
    #[must_use]
    pub fn to_the_day(self) -> Timestamp {
        Timestamp(self.0 - self.0.rem_euclid(86_400_000))
    }

    /// The start of the minute that this instant lies in.
    #[must_use]
    pub fn to_the_minute(self) -> Timestamp {
        Timestamp(self.0 - self.0.rem_euclid(60_000))
    }
}

/// RFC 3339, UTC, milliseconds, `Z`: `2026-11-20T21:49:00.123Z` (docs/decisions.md, B12).
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        rfc3339(&self.to_datetime(), |text| f.write_str(text))
    }
}

/// Tells the time. Everything that expires asks this, so that a test can skip a whole day at once.
pub trait Clock: Send + Sync + 'static {
    /// The time now. It may stand still or step back; nothing may rely on it to increase.
    fn now(&self) -> Timestamp;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(Utc::now().timestamp_millis())
    }
}

/// A clock that stands still until it is set, for tests.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn new(now: Timestamp) -> ManualClock {
        ManualClock(AtomicI64::new(now.0))
    }

    /// Sets the clock to `now`, forward or back.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.0, Ordering::SeqCst);
    }

    /// Moves the clock forward by `duration`.
    pub fn advance(&self, duration: Duration) {
        self.set(self.now().after(duration));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_prints_milliseconds_and_z() {
        let text = |millis| Timestamp::from_millis(millis).to_string();
        assert_eq!(text(1_795_211_340_123), "2026-11-20T21:49:00.123Z");
        assert_eq!(text(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::LAST.to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn a_minute_begins_at_or_before_the_instant() {
        assert_eq!(Timestamp(119_999).to_the_minute(), Timestamp(60_000));
        assert_eq!(Timestamp(-1).to_the_minute(), Timestamp(-60_000));
    }

    #[test]
    fn arithmetic_stops_at_the_ends_of_time() {
        assert_eq!(
            Timestamp(i64::MAX).after(Duration::MAX),
            Timestamp(i64::MAX)
        );
        assert_eq!(
            Timestamp(i64::MIN).before(Duration::MAX),
            Timestamp(i64::MIN)
        );
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
    }
}
