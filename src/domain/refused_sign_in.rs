//! Sign-ins that were refused (docs/decisions.md, T4).
//!
//! 1. One row counts those for an account from an address in a minute, whether the password was wrong or there had been
//!    too many wrong ones before. Those of a signed-in user who is asked again who they are count, too.
//! 2. A row is written in the transaction that counts the wrong password, before anything is compared. If the password
//!    was the right one, one is subtracted from the row again, together with the count.
//! 3. Strangers with many addresses cannot fill the table: an account has at most [`ROWS_PER_DAY`] rows a day. Any
//!    others are counted in one more row, which stands for all other addresses of that day.
//! 4. Those for accounts that do not exist are counted only for the metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use super::id::UserId;
use super::time::Timestamp;

/// How many rows an account has a day, not counting one more for all other addresses: step 3.
pub const ROWS_PER_DAY: i64 = 100;

/// Sign-ins that were refused for an account, from an address in a minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedSignIn {
    /// The user whose account it is.
    pub user_id: UserId,
    /// The minute; the start of the day if it is for all other addresses.
    pub minute: Timestamp,
    /// The client address; empty for all other addresses of the day.
    pub client_address: String,
    /// How many.
    pub count: i64,
}

impl RefusedSignIn {
    /// A sign-in that is refused now, unless it turns out to be the user.
    pub(crate) fn new(user_id: UserId, client_address: String, now: Timestamp) -> RefusedSignIn {
        RefusedSignIn {
            user_id,
            minute: now.to_the_minute(),
            client_address,
            count: 1,
        }
    }

    /// The same, counted for all other addresses of the day: step 3.
    #[must_use]
    pub(crate) fn of_others(self) -> RefusedSignIn {
        RefusedSignIn {
            minute: self.minute.to_the_day(),
            client_address: String::new(),
            ..self
        }
    }
}

/// How many sign-ins a process has refused: step 4.
#[derive(Debug, Default)]
pub struct RefusedCounts {
    known: AtomicU64,
    unknown: AtomicU64,
}

impl RefusedCounts {
    /// Counts one more.
    pub(crate) fn note(&self, is_known: bool) {
        let count = match is_known {
            true => &self.known,
            false => &self.unknown,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Those for accounts that exist.
    pub fn known(&self) -> u64 {
        self.known.load(Ordering::Relaxed)
    }

    /// Those for accounts that do not.
    pub fn unknown(&self) -> u64 {
        self.unknown.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_sign_ins_are_counted_by_whether_somebody_has_the_account() {
        let counts = RefusedCounts::default();
        for is_known in [true, true, true, false, false] {
            counts.note(is_known);
        }
        assert_eq!((counts.known(), counts.unknown()), (3, 2));
    }
}
