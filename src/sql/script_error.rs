//! Why a script has no answer.

use crate::domain::{Cause, Error};

/// Why an attempt at a script failed.
#[derive(Debug)]
pub enum ScriptError {
    /// The error is the answer.
    Final(Error),
    /// Nothing has happened, and another attempt may succeed.
    Retry(Cause),
}

impl ScriptError {
    /// What the caller gets if there is no further attempt.
    pub fn into_error(self) -> Error {
        match self {
            ScriptError::Final(error) => error,
            ScriptError::Retry(cause) => Error::Unavailable(cause),
        }
    }
}

impl From<Error> for ScriptError {
    fn from(error: Error) -> ScriptError {
        ScriptError::Final(error)
    }
}
