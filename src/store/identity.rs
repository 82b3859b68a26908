//! Identities at an OpenID provider.

use super::Batch;
use crate::domain::id::{IdentityId, UserId};
use crate::domain::identity::Identity;
use crate::sql::{sql, table, values};

table! {
    /// The rows of identities.
    pub(super) mod row = "identity", key [id];
    ()
    Identity { id: Uuid, user_id: Uuid, issuer: Text, subject: Text, email: Text, created_at: Integer }
    ()
}

/// Adds an identity, unless a user already has it. Returns how many were added.
pub fn insert(identity: &Identity) -> impl Batch<Out = u64> {
    sql!(row::INSERT, " ON CONFLICT (issuer, subject) DO NOTHING").with(row::values(identity))
}

/// The identity with that issuer and subject.
pub fn find<'a>(issuer: &'a str, subject: &'a str) -> impl Batch<Out = Option<Identity>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM identity WHERE issuer = $1 AND subject = $2"
    )
    .with(values![issuer, subject])
    .first(row::read)
}

/// The identities of a user, oldest first. There are few.
pub fn list(user_id: UserId) -> impl Batch<Out = Vec<Identity>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM identity WHERE user_id = $1 ORDER BY id"
    )
    .with(values![user_id])
    .all(row::read)
}

/// Deletes an identity of a user. Returns how many there were.
pub fn delete(user_id: UserId, id: IdentityId) -> impl Batch<Out = u64> {
    sql!("DELETE FROM identity WHERE id = $1 AND user_id = $2").with(values![id, user_id])
}

/// Deletes the identities of a user.
pub fn delete_all(user_id: UserId) -> impl Batch {
    sql!("DELETE FROM identity WHERE user_id = $1").with(values![user_id])
}
