//! Counters of the service: sign-ins, what becomes of tokens, and the background tasks.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::domain::Error;
use crate::domain::time::Timestamp;
use crate::tally::Count;

/// What has happened since this process started.
#[derive(Debug, Default)]
pub struct Counts {
    /// By a password.
    pub password: SignIns,
    /// By a passkey.
    pub passkey: SignIns,
    /// By an identity at the OpenID provider.
    pub provider: SignIns,
    /// By a one-time link: the first user's, an invitation, a reset.
    pub link: SignIns,
    /// What became of codes and refresh tokens.
    pub tokens: Tokens,
    /// Deleting expired rows.
    pub delete_expired: Task,
    /// Deleting what is left of removed users and deleted teams.
    pub empty: Task,
    /// Erasing sealed pairs of tokens.
    pub erase_pairs: Task,
    /// Recording when keys and sessions were used.
    pub record_uses: Task,
    /// Rows deleted because they had expired.
    pub expired_rows: Count,
}

/// Sign-ins of one kind.
#[derive(Debug, Default)]
pub struct SignIns {
    /// Sessions started in a browser.
    pub good: Count,
    /// Proofs that were refused, including those of a signed-in user who was asked to prove again who they are.
    pub refused: Count,
}

impl SignIns {
    /// Counts a proof that was refused, and hands it on.
    pub(super) fn refusing<T>(&self, proof: Result<T, Error>) -> Result<T, Error> {
        if let Err(
            Error::WrongPassword
            | Error::TooManyWrongPasswords(_)
            | Error::PasskeyRefused
            | Error::IdentityUnknown
            | Error::LinkNotValid,
        ) = proof
        {
            self.refused.one();
        }
        proof
    }
}

/// What became of codes and refresh tokens.
#[derive(Debug, Default)]
pub struct Tokens {
    /// Pairs issued for a code.
    pub issued: Count,
    /// Pairs issued for a refresh token.
    pub refreshed: Count,
    /// Pairs issued again, because their answer was lost or two refreshes ran at once.
    pub repeated: Count,
    /// Codes and refresh tokens that were used again, which ended their session: one of them was stolen.
    pub reused: Count,
    /// Other codes and refresh tokens that were refused.
    pub refused: Count,
}

impl Tokens {
    /// Counts an exchange that was refused, and hands it on.
    pub(super) fn refusing<T>(&self, exchanged: Result<T, Error>) -> Result<T, Error> {
        match &exchanged {
            Err(Error::GrantReused(_)) => self.reused.one(),
            Err(Error::InvalidGrant | Error::InvalidClient) => self.refused.one(),
            _ => {}
        }
        exchanged
    }
}

/// A background task, done now and then beside the requests.
#[derive(Debug, Default)]
pub struct Task {
    /// How often it was done.
    pub done: Count,
    /// How often it failed.
    pub failed: Count,
    last_done: AtomicI64,
}

impl Task {
    /// Records that the task ended at `now`.
    pub(super) fn ended<T, E>(&self, result: &Result<T, E>, now: Timestamp) {
        match result {
            Ok(_) => {
                self.done.one();
                self.last_done
                    .store(now.as_millis() / 1_000, Ordering::Relaxed);
            }
            Err(_) => self.failed.one(),
        }
    }

    /// When it was last done, in seconds of Unix time; 0 before that.
    pub fn last_done(&self) -> i64 {
        self.last_done.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_refused_for_its_proof_counts_as_that() {
        let counts = SignIns::default();
        for error in [Error::WrongPassword, Error::PasskeyRefused] {
            assert!(counts.refusing(Err::<(), _>(error)).is_err());
        }
        assert!(counts.refusing(Ok(())).is_ok());
        let away = Error::unavailable("the database is away");
        assert!(counts.refusing(Err::<(), _>(away)).is_err());
        assert_eq!((counts.good.get(), counts.refused.get()), (0, 2));
    }

    #[test]
    fn a_task_that_fails_was_last_done_before() {
        let task = Task::default();
        let at = Timestamp::from_millis;
        task.ended(&Ok::<_, ()>(()), at(60_000));
        task.ended(&Err::<(), _>(()), at(120_000));
        assert_eq!((task.done.get(), task.failed.get()), (1, 1));
        assert_eq!(task.last_done(), 60);
    }
}
