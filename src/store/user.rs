//! Users. A removed one stays, for the share links that name it as their creator.

use super::Batch;
use crate::domain::id::UserId;
use crate::domain::time::Timestamp;
use crate::domain::user::User;
use crate::sql::{sql, table, values};

table! {
    /// The rows of users.
    pub(super) mod row = "user", key [id];
    ()
    User { id: Uuid, email: Text, name: Text, created_at: Integer }
    (removed_at: Integer)
}

/// Adds a user, unless another has the email, whatever the case of its letters. Says how many were added.
pub fn insert(user: &User) -> impl Batch<Out = u64> {
    sql!(
        sqlite: [row::INSERT, " ON CONFLICT (lower(email)) WHERE removed_at IS NULL DO NOTHING"],
        postgres: [
            row::INSERT,
            " ON CONFLICT (lower(email COLLATE \"C\")) WHERE removed_at IS NULL DO NOTHING",
        ],
    )
    .with(row::values(user))
}

/// Whether there is such a user, who is not removed then until the end of the transaction.
pub fn hold(id: UserId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM \"user\" WHERE id = $1 AND removed_at IS NULL FOR SHARE")
        .with(values![id])
        .exists()
}

/// Marks a user as removed. Says how many were. Scripts that hold the user go first.
pub fn remove(id: UserId, now: Timestamp) -> impl Batch<Out = u64> {
    sql!("UPDATE \"user\" SET removed_at = $2 WHERE id = $1 AND removed_at IS NULL")
        .with(values![id, now])
}
