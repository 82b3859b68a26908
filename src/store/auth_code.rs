//! Authorization codes.

use super::{Batch, Sql, session};
use crate::domain::auth_code::AuthCode;
use crate::domain::id::{SessionId, UserId};
use crate::domain::oauth_client::ClientId;
use crate::domain::secret::Digest;
use crate::domain::session::rules::KnownCode;
use crate::domain::time::Timestamp;
use crate::sql::{ScriptError, sql, table, values};

table! {
    /// The rows of codes.
    pub(super) mod row = "auth_code", key [digest];
    ()
    AuthCode {
        digest: Bytes, user_id: Uuid, client_id: Text, redirect_uri: Text, challenge = "code_challenge": Bytes,
        expires_at: Integer,
    }
    (session_id: Uuid)
}

/// Adds a code.
pub fn insert(code: &AuthCode) -> impl Batch {
    sql!(row::INSERT).with(row::values(code))
}

/// The user of a code, whatever its state.
pub fn find_user(digest: Digest) -> impl Batch<Out = Option<UserId>> {
    sql!(
        one: ["SELECT user_id FROM auth_code WHERE digest = $1"],
        many(1): ["SELECT user_id, digest FROM auth_code WHERE digest = ANY($1)"],
    )
    .with(values![digest])
    .first(|row| Ok(row.take()?))
}

/// A stored code, locked so that it is not exchanged elsewhere before the end of the transaction.
pub fn lock(digest: &Digest) -> impl Batch<Out = Option<KnownCode>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        ", session_id, (SELECT session_generation FROM \"user\" WHERE \"user\".id = user_id) \
         FROM auth_code WHERE digest = $1 FOR UPDATE"
    )
    .with(values![digest])
    .first(|row| {
        Ok(KnownCode {
            code: row::read(row)?,
            session_id: row.take()?,
            generation: row.take()?,
        })
    })
}

/// Marks a code as used, by the session that it started.
pub fn mark_used(digest: &Digest, session_id: SessionId) -> impl Batch {
    sql!("UPDATE auth_code SET session_id = $2 WHERE digest = $1").with(values![digest, session_id])
}

/// The codes of a user that are not used yet, at most `limit`.
pub fn list_unused(user_id: UserId, limit: u32) -> impl Batch<Out = Vec<AuthCode>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM auth_code WHERE user_id = $1 AND session_id IS NULL ORDER BY expires_at LIMIT $2"
    )
    .with(values![user_id, limit])
    .all(row::read)
}

/// Deletes at most `limit` unused codes of a user; returns how many. Waits for a code that is being exchanged.
pub fn delete_unused_of_user(user_id: UserId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM auth_code WHERE digest IN ( \
             SELECT digest FROM auth_code WHERE session_id IS NULL AND user_id = $1 LIMIT $2 FOR UPDATE)"
    )
    .with(values![user_id, limit])
}

/// As [`delete_unused_of_user`], for a client.
pub fn delete_unused_of_client(id: &ClientId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM auth_code WHERE digest IN ( \
             SELECT digest FROM auth_code WHERE session_id IS NULL AND client_id = $1 LIMIT $2 FOR UPDATE)"
    )
    .with(values![id, limit])
}

/// Whether a client has codes, used or not.
pub fn exist_of_client(id: &ClientId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM auth_code WHERE client_id = $1 LIMIT 1")
        .with(values![id])
        .exists()
}

/// Deletes the oldest unused codes of a user, all but the `newest`, and but those that are being exchanged or deleted. Those
/// that expire after `latest`, which another clock has dated, or this one before it was set right, count as the oldest.
pub fn delete_older_unused(user_id: UserId, newest: u32, latest: Timestamp) -> impl Batch {
    const OLDER: &str = "DELETE FROM auth_code WHERE digest IN ( \
         SELECT digest FROM auth_code WHERE session_id IS NULL AND user_id = $1 \
         ORDER BY expires_at > $3, expires_at DESC, digest ";
    sql!(
        sqlite: [OLDER, "LIMIT -1 OFFSET $2)"],
        postgres: [OLDER, "OFFSET $2 FOR UPDATE SKIP LOCKED)"],
    )
    .with(values![user_id, newest, latest])
}

/// Deletes the unused codes of a user; waits for one that is being used. There are few ([`delete_older_unused`]).
pub fn delete_unused(user_id: UserId) -> impl Batch {
    sql!("DELETE FROM auth_code WHERE user_id = $1 AND session_id IS NULL").with(values![user_id])
}

/// Deletes at most `limit` codes that have expired unused; returns how many.
pub fn delete_expired(now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM auth_code WHERE digest IN ( \
             SELECT digest FROM auth_code WHERE session_id IS NULL AND expires_at <= $1 \
             LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![now, limit])
}

/// Deletes at most `limit` codes of these sessions; returns how many.
///
/// # Errors
/// As for every script.
pub async fn delete_of_sessions(
    sql: Sql<'_>,
    ids: &[SessionId],
    limit: u32,
) -> Result<u64, ScriptError> {
    let delete = sql!(
        sqlite: ["DELETE FROM auth_code WHERE digest IN (SELECT digest FROM auth_code", session::OF_SESSION],
        postgres: ["DELETE FROM auth_code WHERE digest IN (SELECT digest FROM auth_code", session::OF_SESSIONS],
    );
    session::delete_of_sessions(sql, delete, ids, limit).await
}
