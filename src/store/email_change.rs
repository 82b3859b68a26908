//! Emails that users want to have.

use super::Batch;
use crate::domain::email_change::EmailChange;
use crate::domain::id::UserId;
use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;
use crate::sql::{sql, table, values};

table! {
    /// The rows of emails.
    pub(super) mod row = "email_change", key [user_id];
    ()
    EmailChange { user_id: Uuid, digest: Bytes, email: Text, expires_at: Integer }
    ()
}

/// Keeps the email that a user wants to have, in the place of the one before.
pub fn replace(change: &EmailChange) -> impl Batch {
    sql!(
        row::INSERT,
        " ON CONFLICT (user_id) DO UPDATE \
         SET digest = excluded.digest, email = excluded.email, expires_at = excluded.expires_at"
    )
    .with(row::values(change))
}

/// What a user's link of that digest leads to, if it is good.
pub fn find(
    user_id: UserId,
    digest: &Digest,
    now: Timestamp,
) -> impl Batch<Out = Option<EmailChange>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM email_change WHERE user_id = $1 AND digest = $2 AND expires_at > $3"
    )
    .with(values![user_id, digest, now])
    .first(row::read)
}

/// The email that a user wants to have, if the link is good.
pub fn find_pending(user_id: UserId, now: Timestamp) -> impl Batch<Out = Option<EmailChange>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM email_change WHERE user_id = $1 AND expires_at > $2"
    )
    .with(values![user_id, now])
    .first(row::read)
}

/// Spends a user's link of that digest; what it led to comes back, if it was good.
pub fn spend(
    user_id: UserId,
    digest: &Digest,
    now: Timestamp,
) -> impl Batch<Out = Option<EmailChange>> {
    sql!(
        "DELETE FROM email_change WHERE user_id = $1 AND digest = $2 AND expires_at > $3 RETURNING ",
        row::COLUMNS
    )
    .with(values![user_id, digest, now])
    .first(row::read)
}

/// Deletes what a user wants to have.
pub fn delete(user_id: UserId) -> impl Batch {
    sql!("DELETE FROM email_change WHERE user_id = $1").with(values![user_id])
}

/// Deletes at most `limit` that have expired; says how many.
pub fn delete_expired(now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM email_change WHERE user_id IN ( \
             SELECT user_id FROM email_change WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![now, limit])
}
