//! One-time links.

use super::Batch;
use crate::domain::id::UserId;
use crate::domain::one_time_link::{OneTimeLink, Purpose};
use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;
use crate::sql::{sql, table, values};

table! {
    /// The rows of links.
    pub(super) mod row = "one_time_link", key [digest];
    ()
    OneTimeLink { digest: Bytes, purpose: Text, user_id: Uuid, expires_at: Integer }
    ()
}

/// Adds a link, replacing the user's previous one for the same purpose.
pub fn replace(link: &OneTimeLink) -> impl Batch {
    sql!(
        sqlite: [
            row::INSERT,
            " ON CONFLICT (purpose, coalesce(user_id, x'')) \
             DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at",
        ],
        postgres: [
            row::INSERT,
            " ON CONFLICT (purpose, (coalesce(user_id, '00000000-0000-0000-0000-000000000000'))) \
             DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at",
        ],
    )
    .with(row::values(link))
}

/// The link with that digest and purpose, if it has not expired.
pub fn find(
    digest: Digest,
    purpose: Purpose,
    now: Timestamp,
) -> impl Batch<Out = Option<OneTimeLink>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM one_time_link WHERE digest = $1 AND purpose = $2 AND expires_at > $3"
    )
    .with(values![digest, purpose, now])
    .first(row::read)
}

/// Spends the link with that digest and purpose. Returns it, if it had not expired.
pub fn spend(
    digest: &Digest,
    purpose: Purpose,
    now: Timestamp,
) -> impl Batch<Out = Option<OneTimeLink>> {
    sql!(
        "DELETE FROM one_time_link WHERE digest = $1 AND purpose = $2 AND expires_at > $3 RETURNING ",
        row::COLUMNS
    )
    .with(values![digest, purpose, now])
    .first(row::read)
}

/// The links of a user, at most one per purpose.
pub fn list(user_id: UserId) -> impl Batch<Out = Vec<OneTimeLink>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM one_time_link WHERE user_id = $1 ORDER BY purpose"
    )
    .with(values![user_id])
    .all(row::read)
}

/// Deletes the links of a user.
pub fn delete_all(user_id: UserId) -> impl Batch {
    sql!("DELETE FROM one_time_link WHERE user_id = $1").with(values![user_id])
}

/// Deletes the link to set up.
pub fn delete_set_up() -> impl Batch {
    sql!("DELETE FROM one_time_link WHERE user_id IS NULL").with(values![])
}

/// Deletes at most `limit` links that have expired; returns how many.
pub fn delete_expired(now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM one_time_link WHERE digest IN ( \
             SELECT digest FROM one_time_link WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![now, limit])
}
