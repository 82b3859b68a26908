//! Which transactions were under way, so that a token that was spent by a late commit gets its whole grace.
//!
//! A token is spent at a time that is written with it, but PostgreSQL may commit that much later: it answers no commit
//! while its synchronous standby is away, and its callers are told that it is unavailable. When the standby is back, the
//! grace is over, and a client that tries again would be taken for a thief. Therefore every process looks every few seconds
//! which transactions are under way, and remembers it for longer than the grace. If the one that spent a token was under way
//! when nobody waited for it any more, nobody was given the successor, and the grace lasts until that was seen 30 seconds ago.

use std::time::Duration;

use crate::domain::time::Timestamp;

/// How long a caller waits for a commit. One that was under way for longer was answered to nobody.
const AWAITED: Duration = Duration::from_secs(5);

/// The id of a transaction, where the store has such ids: PostgreSQL's `xid`.
pub type TransactionId = i64;

/// The transactions that were under way at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Underway {
    /// When they were.
    pub seen_at: Timestamp,
    /// All of them.
    pub transactions: Vec<TransactionId>,
}

impl Underway {
    /// Whether the transaction that spent a token at `spent_at` was still under way when nobody waited for it any more.
    pub fn was_unanswered(&self, transaction: TransactionId, spent_at: Timestamp) -> bool {
        self.seen_at.since(spent_at) > AWAITED && self.transactions.contains(&transaction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn seen(seconds: i64) -> Underway {
        Underway {
            seen_at: time(seconds),
            transactions: vec![seconds],
        }
    }

    #[test]
    fn a_transaction_was_unanswered_if_it_was_under_way_for_longer_than_anybody_waits() {
        assert!(seen(106).was_unanswered(106, time(100)));
        assert!(!seen(106).was_unanswered(107, time(100)));
        assert!(!seen(105).was_unanswered(105, time(100)));
    }
}
