//! Checks a caller's inputs before anything is sent.

use std::fmt::Display;

use crate::error::InvalidRequest;
use crate::types::IdempotencyKey;

/// Converts inputs to the types of the document, and keeps the first that is invalid for `send` to
/// report: a builder's setters cannot fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs {
    problem: Option<InvalidRequest>,
}

impl Inputs {
    pub(crate) fn take<T, V>(&mut self, field: &'static str, value: V) -> Option<T>
    where
        V: TryInto<T, Error: Display>,
    {
        match value.try_into() {
            Ok(value) => Some(value),
            Err(reason) => {
                let problem = || InvalidRequest::new(field, reason);
                self.problem.get_or_insert_with(problem);
                None
            }
        }
    }

    /// Records a problem that only shows when several inputs are seen together.
    pub(crate) fn refuse(&mut self, field: &'static str, reason: impl Display) {
        let problem = || InvalidRequest::new(field, reason);
        self.problem.get_or_insert_with(problem);
    }

    /// Returns the values if all inputs were valid, so that all values are present.
    pub(crate) fn check<T>(&self, values: Option<T>) -> Result<T, InvalidRequest> {
        match (&self.problem, values) {
            (None, Some(values)) => Ok(values),
            (Some(problem), _) => Err(problem.clone()),
            (None, None) => Err(InvalidRequest::new("request", "a value is missing")),
        }
    }
}

/// The idempotency key of one call.
#[derive(Clone, Debug, Default)]
pub(crate) enum Key {
    #[default]
    Automatic,
    Given(IdempotencyKey),
    None,
}

impl Key {
    /// Returns the key to send. An automatic one is a random UUID: unique, and within the document's
    /// limits.
    pub(crate) fn make(self) -> Option<IdempotencyKey> {
        match self {
            Key::Automatic => IdempotencyKey::try_from(uuid::Uuid::new_v4().to_string()).ok(),
            Key::Given(key) => Some(key),
            Key::None => None,
        }
    }
}
