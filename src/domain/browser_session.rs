//! Browser sessions: users who are signed in to the pages (docs/decisions.md, V1 to V5).
//!
//! A cookie has 256 random bits; the database has their SHA-256. A session that is over is deleted; what it did is in the
//! audit.

use std::time::Duration;

use super::Error;
use super::audit::{Person, Visitor};
use super::id::{BrowserSessionId, UserId};
use super::time::Timestamp;
use super::user::User;

const DAY: Duration = Duration::from_hours(24);

/// How long a session lasts without use.
pub const IDLE: Duration = DAY.saturating_mul(14);

/// How long it lasts at most.
pub const LIFETIME: Duration = DAY.saturating_mul(90);

/// How far in the future a session may start. One that starts later was made by a wrong clock, and would last for years.
/// Differences between replicas' clocks, and small corrections of a clock, are smaller than this.
const AHEAD: Duration = DAY;

/// How long after proving who they are a user may do what requires that.
const FRESH: Duration = Duration::from_mins(15);

/// A browser in which a user is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserSession {
    /// Identifies it; not a secret.
    pub id: BrowserSessionId,
    /// Who is signed in.
    pub user_id: UserId,
    /// What the browser calls itself.
    pub user_agent: Option<String>,
    /// When it started.
    pub created_at: Timestamp,
    /// When the user last proved who they are, in this browser.
    pub signed_in_at: Timestamp,
    /// The minute of its last use.
    pub last_used_at: Timestamp,
}

impl BrowserSession {
    /// Refuses a session that is over by `now`.
    ///
    /// # Errors
    /// [`Error::InvalidToken`].
    pub(crate) fn require_alive(&self, now: Timestamp) -> Result<(), Error> {
        let may_have_begun = self.created_at <= now.after(AHEAD);
        let lasts = now < self.last_used_at.after(IDLE) && now < self.created_at.after(LIFETIME);
        match may_have_begun && lasts {
            true => Ok(()),
            false => Err(Error::InvalidToken),
        }
    }

    /// Takes over a proof of who the user is, given elsewhere before this session started; one of unknown time is not fresh.
    pub(crate) fn prove_at(&mut self, at: Option<Timestamp>) {
        let long_ago = self.created_at.before(FRESH);
        self.signed_in_at = at.map_or(long_ago, |at| at.min(self.created_at));
    }

    /// Whether the user has proven who they are recently enough that they need not do it again.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        // A proof from further in the future was made by a wrong clock.
        now < self.signed_in_at.after(FRESH) && self.signed_in_at <= now.after(FRESH)
    }

    /// The error for an id that no session of the user has.
    pub(crate) fn missing(id: BrowserSessionId) -> Error {
        Error::Missing {
            noun: "browser session",
            id: id.to_string(),
            remedy: "it may have ended",
        }
    }
}

/// A user in a browser, as found for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InBrowser {
    /// The session.
    pub session: BrowserSession,
    /// The user it belongs to.
    pub user: User,
}

impl InBrowser {
    /// On whose behalf a request that comes from `visitor` does something.
    pub fn person(&self, visitor: Visitor) -> Person {
        Person {
            user_id: self.user.id,
            session_id: self.session.id,
            visitor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(created: Duration, used: Duration) -> BrowserSession {
        let zero = Timestamp::from_millis(0);
        BrowserSession {
            id: uuid::Uuid::nil().into(),
            user_id: uuid::Uuid::nil().into(),
            user_agent: None,
            created_at: zero.after(created),
            signed_in_at: zero.after(created),
            last_used_at: zero.after(used),
        }
    }

    #[test]
    fn a_session_ends_after_fourteen_days_without_use_and_ninety_in_all() {
        let at = |time| Timestamp::from_millis(0).after(time);
        let second = Duration::from_secs(1);
        let unused = session(Duration::ZERO, Duration::ZERO);
        unused.require_alive(at(IDLE - second)).unwrap();
        unused.require_alive(at(IDLE)).unwrap_err();
        let used = session(Duration::ZERO, LIFETIME - second);
        used.require_alive(at(LIFETIME - second)).unwrap();
        used.require_alive(at(LIFETIME)).unwrap_err();
    }

    #[test]
    fn a_session_of_a_clock_that_was_ahead_is_none_once_it_is_right() {
        let now = Timestamp::from_millis(0);
        session(AHEAD, AHEAD).require_alive(now).unwrap();
        let years = AHEAD * 3650;
        session(years, years).require_alive(now).unwrap_err();
        // A session that a clock ahead has merely used goes on: it ends with its ninety days.
        session(Duration::ZERO, years).require_alive(now).unwrap();
        assert!(session(FRESH, FRESH).is_fresh(now));
        assert!(!session(AHEAD, AHEAD).is_fresh(now));
    }

    #[test]
    fn a_sign_in_is_fresh_for_a_quarter_of_an_hour() {
        let at = |time| Timestamp::from_millis(0).after(time);
        let session = session(Duration::ZERO, Duration::ZERO);
        assert!(session.is_fresh(at(FRESH - Duration::from_secs(1))));
        assert!(!session.is_fresh(at(FRESH)));
    }

    #[test]
    fn a_proof_given_elsewhere_counts_from_when_it_was_given_and_unknown_not_at_all() {
        let at = |time| Timestamp::from_millis(0).after(time);
        let now = at(FRESH);
        let proven = |when: Option<Timestamp>| {
            let mut session = session(FRESH, FRESH);
            session.prove_at(when);
            session
        };
        assert!(!proven(None).is_fresh(now));
        assert!(!proven(Some(at(Duration::ZERO))).is_fresh(now));
        assert!(proven(Some(at(Duration::from_secs(1)))).is_fresh(now));
        // A proof from the future counts as one given now.
        assert_eq!(proven(Some(now.after(FRESH))).signed_in_at, now);
    }
}
