//! The requests of clients and their answers, in the order in which the answers came.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::response_validator::Received;

/// What a client requested.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// A change of a product, which is identified by its name. Version 1 creates it, each further version
    /// changes it, and the one without a key archives it. A product has one writer, who requests a version
    /// once the one before was acknowledged.
    Change {
        /// The name.
        product: String,
        /// The version that the change leads to.
        version: u64,
        /// The idempotency key.
        key: Option<String>,
    },
    /// A product, by its id.
    Read {
        /// The name.
        product: String,
    },
    /// The next pair of tokens for this refresh token.
    Refresh {
        /// The token.
        token: String,
    },
    /// A request with an access token that has not been given up.
    UseToken,
}

/// One request and its outcome.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What was requested.
    pub asked: Asked,
    /// Which replica was asked.
    pub replica: usize,
    /// When it was sent, since the start of the history.
    pub invoked: Duration,
    /// When it was answered, or when it became clear that it would not be.
    pub returned: Duration,
    /// The answer, if one came.
    pub answer: Option<Received>,
}

impl Operation {
    /// Whether it is unknown if it was carried out: no answer came, or 503.
    pub fn is_in_doubt(&self) -> bool {
        self.answer
            .as_ref()
            .is_none_or(|answer| answer.status == 503)
    }

    /// Whether it was answered with success.
    pub fn is_acknowledged(&self) -> bool {
        let status = self.answer.as_ref().map(|answer| answer.status);
        status.is_some_and(|status| status < 300)
    }

    /// Whether the answer is marked as that of an earlier request.
    pub fn is_replay(&self) -> bool {
        let replayed = |answer: &Received| answer.header("idempotency-replayed").is_some();
        self.answer.as_ref().is_some_and(replayed)
    }

    fn is_acknowledged_change(&self) -> bool {
        matches!(self.asked, Asked::Change { .. }) && self.is_acknowledged()
    }
}

/// All requests and answers so far.
#[derive(Debug)]
pub struct History {
    began: Instant,
    operations: Mutex<Vec<Operation>>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            operations: Mutex::default(),
        }
    }
}

impl History {
    /// The time since the start.
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Adds one operation.
    pub fn record(&self, operation: Operation) {
        self.operations().push(operation);
    }

    /// All operations so far.
    pub fn operations(&self) -> MutexGuard<'_, Vec<Operation>> {
        self.operations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// How many changes this replica has acknowledged since then.
    pub fn acknowledged(&self, replica: usize, since: Duration) -> usize {
        let operations = self.operations();
        let counts = |operation: &&Operation| {
            operation.replica == replica
                && operation.returned >= since
                && operation.is_acknowledged_change()
        };
        operations.iter().filter(counts).count()
    }

    /// The longest time after `since` in which no replica acknowledged a change.
    pub fn longest_silence(&self, since: Duration) -> Duration {
        let operations = self.operations();
        let acknowledged = operations.iter().filter(|one| one.is_acknowledged_change());
        let moments = acknowledged.map(|one| one.returned.max(since));
        let (_, longest) = moments.fold((since, Duration::ZERO), |(before, longest), moment| {
            (moment, longest.max(moment.saturating_sub(before)))
        });
        longest
    }

    /// Describes how much was tried.
    pub fn summary(&self) -> String {
        let operations = self.operations();
        let count = |which: &dyn Fn(&Operation) -> bool| {
            operations
                .iter()
                .filter(|operation| which(operation))
                .count()
        };
        format!(
            "{} changes acknowledged, {} replayed, {} reads, {} refreshes; {} requests in doubt",
            count(&|one| one.is_acknowledged_change() && !one.is_replay()),
            count(&Operation::is_replay),
            count(&|one| matches!(one.asked, Asked::Read { .. }) && one.is_acknowledged()),
            count(&|one| matches!(one.asked, Asked::Refresh { .. }) && one.is_acknowledged()),
            count(&Operation::is_in_doubt),
        )
    }
}
