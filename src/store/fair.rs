//! Advisory locks that make row locks fair, on PostgreSQL (SQLite has only one writer).
//!
//! New sharers of a row lock may overtake a transaction that waits to lock the row alone. So a caller who keeps sharing a row
//! could keep it from ever being changed: a user who keeps changing things could never be deactivated. Sharers of an advisory
//! lock may not overtake. So both sides take one first, which is released with the transaction, after the commit is visible.
//!
//! A lock is known by a number: the random part of an id, or a part of the digest of a text. Two rows that share a number
//! would only wait for each other.

use uuid::Uuid;

use super::Batch;
use crate::domain::secret::Digest;
use crate::sql::{lock, values};

/// The number of the lock of what has this id.
pub(super) fn number(id: Uuid) -> i64 {
    id.as_u64_pair().1.cast_signed()
}

/// The number of the lock of what is known by this text.
pub(super) fn number_of_text(text: &str) -> i64 {
    let digest = Digest::of(text.as_bytes());
    let mut number = [0; 8];
    number.copy_from_slice(&digest.as_bytes()[..8]);
    i64::from_be_bytes(number)
}

/// Waits for those that wait to have it alone, or do, and keeps others from that until the end of the transaction.
pub(super) fn share(number: i64) -> impl Batch {
    lock!(
        one: ["SELECT pg_advisory_xact_lock_shared($1)"],
        many(1): [
            "SELECT pg_advisory_xact_lock_shared(number), number \
             FROM (SELECT unnest($1::bigint[]) AS number ORDER BY 1) AS asked"
        ],
    )
    .with(values![number])
}

/// Waits until no other transaction has it, and lets none have it until the end of this one.
pub(super) fn alone(number: i64) -> impl Batch {
    lock!("SELECT pg_advisory_xact_lock($1)").with(values![number])
}

/// Takes several [`alone`], in their order. PostgreSQL has room for some thousands over all transactions.
pub(super) fn all_alone(numbers: &[i64]) -> impl Batch {
    lock!(
        "SELECT pg_advisory_xact_lock(number) FROM (SELECT unnest($1::bigint[]) AS number ORDER BY 1) AS asked"
    )
    .with(values![numbers])
}
