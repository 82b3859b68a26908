//! Passkeys, and the challenges that have been spent with them.

use super::Batch;
use crate::domain::id::{PasskeyId, UserId};
use crate::domain::passkey::Passkey;
use crate::domain::passkey::challenge::LIFETIME;
use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;
use crate::sql::{sql, table, values};

table! {
    /// The rows of passkeys.
    pub(super) mod row = "passkey", key [id];
    ()
    Passkey {
        id: Uuid, user_id: Uuid, name: Text, rp_id: Text, credential_id: Bytes, format: Integer, transports: Integer,
        public_key: Bytes, state: Bytes, created_at: Integer, last_used_at: Integer,
    }
    ()
}

table! {
    /// The rows of spent challenges.
    pub(super) mod spent_row = "spent_challenge", key [digest];
    (digest: Bytes, expires_at: Integer)
    ()
}

/// Adds a passkey, unless its credential id is already taken. Returns how many were added.
pub fn insert(passkey: &Passkey) -> impl Batch<Out = u64> {
    sql!(row::INSERT, " ON CONFLICT (credential_id) DO NOTHING").with(row::values(passkey))
}

/// The passkeys of a user, oldest first; there are few.
pub fn list(user_id: UserId) -> impl Batch<Out = Vec<Passkey>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM passkey WHERE user_id = $1 ORDER BY id"
    )
    .with(values![user_id])
    .all(row::read)
}

/// The passkey with that credential id.
pub fn find_credential(credential_id: Vec<u8>) -> impl Batch<Out = Option<Passkey>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM passkey WHERE credential_id = $1"
    )
    .with(values![credential_id])
    .first(row::read)
}

/// How many passkeys are bound to another host than this.
pub fn count_elsewhere(rp_id: &str) -> impl Batch<Out = Option<i64>> {
    sql!("SELECT count(*) FROM passkey WHERE rp_id <> $1")
        .with(values![rp_id])
        .first(|row| Ok(row.take()?))
}

/// Records the use of a passkey, if it has not been used since it had this `state`. Returns how many rows matched.
pub fn use_once<'a>(
    id: PasskeyId,
    state: &'a Vec<u8>,
    next: &'a Vec<u8>,
    now: Timestamp,
) -> impl Batch<Out = u64> {
    sql!("UPDATE passkey SET state = $3, last_used_at = $4 WHERE id = $1 AND state = $2")
        .with(values![id, state, next, now])
}

/// Deletes a passkey of a user. Returns how many there were.
pub fn delete(user_id: UserId, id: PasskeyId) -> impl Batch<Out = u64> {
    sql!("DELETE FROM passkey WHERE id = $1 AND user_id = $2").with(values![id, user_id])
}

/// Deletes the passkeys of a user.
pub fn delete_all(user_id: UserId) -> impl Batch {
    sql!("DELETE FROM passkey WHERE user_id = $1").with(values![user_id])
}

/// Spends a challenge. Returns how many were spent: 0 if it was spent before.
pub fn spend(digest: &Digest, expires_at: Timestamp) -> impl Batch<Out = u64> {
    sql!(spent_row::INSERT, " ON CONFLICT (digest) DO NOTHING").with(values![digest, expires_at])
}

/// Forgets at most `limit` spent challenges that expired at least one challenge lifetime ago, so that none is still valid by
/// a clock that is behind; returns how many.
pub fn delete_expired(now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM spent_challenge WHERE digest IN ( \
             SELECT digest FROM spent_challenge WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![now.before(LIFETIME), limit])
}
