//! Sign-ins that were refused (docs/decisions.md, T4).
//!
//! 1. One row says how many there were on an account from an address in a minute, whether the password was wrong or there had
//!    been too many wrong ones before. Where somebody who is signed in is asked again who they are, that counts, too.
//! 2. A row is written in the transaction that counts the wrong password, before anything is compared, and one is taken off
//!    again with the count when the password was the right one.
//! 3. Strangers with many addresses cannot fill the table: an account has at most [`ROWS_PER_DAY`] rows of a day. What else
//!    comes is counted in one more row, which stands for all other addresses of that day.
//! 4. Accounts that nobody has are counted for the metrics alone.

use std::sync::atomic::{AtomicU64, Ordering};

use super::id::UserId;
use super::time::Timestamp;

/// As many rows an account has of a day, and one more: step 3.
pub const ROWS_PER_DAY: i64 = 100;

/// Sign-ins that were refused on an account, from an address in a minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedSignIn {
    /// Whose account it is.
    pub user_id: UserId,
    /// The minute; the beginning of the day where it is of all other addresses.
    pub minute: Timestamp,
    /// The client address; empty for all other addresses of the day.
    pub client_address: String,
    /// How many.
    pub count: i64,
}

impl RefusedSignIn {
    /// One that is refused now, unless it turns out to be the user.
    pub(crate) fn new(user_id: UserId, client_address: String, now: Timestamp) -> RefusedSignIn {
        RefusedSignIn {
            user_id,
            minute: now.to_the_minute(),
            client_address,
            count: 1,
        }
    }

    /// The same as one of all other addresses of the day: step 3.
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
    /// One more.
    pub(crate) fn note(&self, is_known: bool) {
        let count = match is_known {
            true => &self.known,
            false => &self.unknown,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Those on accounts that somebody has.
    pub fn known(&self) -> u64 {
        self.known.load(Ordering::Relaxed)
    }

    /// Those on accounts that nobody has.
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
