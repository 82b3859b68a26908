//! Why a script has no answer.

use crate::domain::{Cause, Error};

/// Why an attempt at a script failed.
#[derive(Debug)]
pub enum Failure {
    /// This is the answer.
    Final(Error),
    /// Nothing has happened, and another attempt may succeed.
    Again(Cause),
}

impl Failure {
    /// What the caller gets when there is no other attempt.
    pub fn into_error(self) -> Error {
        match self {
            Failure::Final(error) => error,
            Failure::Again(cause) => Error::Unavailable(cause),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Final(error)
    }
}
