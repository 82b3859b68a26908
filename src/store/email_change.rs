//! Pending email changes.

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

/// Records the email that a user wants to have, replacing an earlier one.
pub fn replace(change: &EmailChange) -> impl Batch {
    sql!(
        row::INSERT,
        " ON CONFLICT (user_id) DO UPDATE \
         SET digest = excluded.digest, email = excluded.email, expires_at = excluded.expires_at"
    )
    .with(row::values(change))
}

/// The change that a user's link with that digest confirms, if it has not expired.
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

/// The email that a user wants to have, if its link has not expired.
pub fn find_pending(user_id: UserId, now: Timestamp) -> impl Batch<Out = Option<EmailChange>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM email_change WHERE user_id = $1 AND expires_at > $2"
    )
    .with(values![user_id, now])
    .first(row::read)
}

/// Spends a user's link with that digest. Returns the change that it confirms, if it had not expired.
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

/// Deletes a user's pending change.
pub fn delete(user_id: UserId) -> impl Batch {
    sql!("DELETE FROM email_change WHERE user_id = $1").with(values![user_id])
}

/// Deletes at most `limit` expired changes; returns how many.
pub fn delete_expired(now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM email_change WHERE user_id IN ( \
             SELECT user_id FROM email_change WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![now, limit])
}
