//! App sessions.
//!
//! A session has ended when its row says so, or when its user has started a new generation of sessions: this ends a million
//! of them in one short change (`OF_ACTIVE`, [`mark_ended`]).

use uuid::Uuid;

use super::{Batch, Sql, uses};
use crate::domain::id::{SessionId, UserId};
use crate::domain::list::Part;
use crate::domain::oauth_client::ClientId;
use crate::domain::session::Session;
use crate::domain::time::Timestamp;
use crate::sql::statement::Statement;
use crate::sql::{ScriptError, sql, table, values};

table! {
    /// The rows of sessions.
    pub(super) mod row = "session", key [id];
    (generation: Integer)
    Session {
        id: Uuid, user_id: Uuid, client_id: Text, install_id: Text, user_agent: Text, created_at: Integer,
        last_used_at: Integer, expires_at: Integer,
    }
    (ended_at: Integer)
}

/// A condition on the row of a session: its user is active, and has not ended all sessions since it started.
pub(super) const OF_ACTIVE: &str = "EXISTS (SELECT 1 FROM \"user\" WHERE \"user\".id = user_id AND removed_at IS NULL \
     AND deactivated_at IS NULL AND session_generation = generation)";

/// A condition on the row of a session of any user: it has not been ended.
const NOT_ENDED: &str = "ended_at IS NULL AND \
     generation = (SELECT session_generation FROM \"user\" WHERE \"user\".id = user_id)";

/// The same, for the user `$1`, by whom the sessions are found.
const OF_USER: &str = "user_id = $1 AND ended_at IS NULL AND \
     generation = (SELECT session_generation FROM \"user\" WHERE \"user\".id = $1)";

/// Adds a session.
pub fn insert(session: &Session, generation: i64) -> impl Batch {
    sql!(row::INSERT).with(row::values(generation, session))
}

/// Extends a session until `expires_at`, used `now` by a device that may name its user agent.
pub fn extend(
    id: SessionId,
    expires_at: Timestamp,
    now: Timestamp,
    user_agent: &Option<String>,
) -> impl Batch {
    sql!(
        one: [
            "UPDATE session SET expires_at = $2, last_used_at = greatest(last_used_at, $3), \
             user_agent = coalesce($4, user_agent) WHERE id = $1"
        ],
        many(1): [
            "UPDATE session SET expires_at = used.ends_at, last_used_at = greatest(last_used_at, used.at), \
             user_agent = coalesce(used.by, user_agent) \
             FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[]) AS used (id, ends_at, at, by) \
             WHERE session.id = used.id RETURNING session.id"
        ],
    )
    .with(values![id, expires_at, now, user_agent])
}

/// Ends the grace of a session, if one is running.
pub fn end_grace(id: SessionId) -> impl Batch {
    sql!(
        one: [
            "UPDATE refresh_token SET successor = NULL WHERE session_id = $1 AND successor IS NOT NULL"
        ],
        many(1): [
            "UPDATE refresh_token SET successor = NULL \
             WHERE session_id = ANY($1) AND successor IS NOT NULL RETURNING session_id"
        ],
    )
    .with(values![id])
}

/// Ends a session, unless it has already ended; returns whether it did. Its tokens and codes are deleted later, in the
/// background.
pub fn end(id: SessionId, now: Timestamp) -> impl Batch<Out = bool> {
    let end = sql!(
        "UPDATE session SET ended_at = $2 WHERE id = $1 AND ",
        NOT_ENDED
    );
    (end.with(values![id, now]), end_grace(id)).rule(|(ended, _)| Ok(ended > 0))
}

/// Whether the session exists. Locks it until the end of the transaction.
pub fn lock(id: SessionId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM session WHERE id = $1 FOR UPDATE")
        .with(values![id])
        .exists()
}

/// Whether this user has the session, alive or not. Locks it until the end of the transaction.
pub fn lock_of_user(user_id: UserId, id: SessionId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM session WHERE id = $1 AND user_id = $2 FOR UPDATE")
        .with(values![id, user_id])
        .exists()
}

/// Ends at most `limit` sessions of a user that have not ended yet; returns how many. A grace is treated as by [`end_all`].
pub fn end_some_of_user(user_id: UserId, now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    // In the order of their ids, as in every statement that locks several.
    sql!(
        "UPDATE session SET ended_at = $2 WHERE id IN (SELECT id FROM session WHERE ",
        OF_USER,
        " ORDER BY id LIMIT $3 FOR UPDATE)"
    )
    .with(values![user_id, now, limit])
}

/// Marks as ended at most `limit` sessions that their user has ended by starting a new generation; returns how many. In the
/// order of the index: in any other, each step would read what those before it have marked.
pub fn mark_ended(user_id: UserId, now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "UPDATE session SET ended_at = $2 WHERE id IN ( \
             SELECT id FROM session WHERE user_id = $1 AND ended_at IS NULL AND \
                 generation < (SELECT session_generation FROM \"user\" WHERE \"user\".id = $1) \
             ORDER BY generation, id LIMIT $3 FOR UPDATE)"
    )
    .with(values![user_id, now, limit])
}

/// The ids of all sessions of a user that nobody has ended. Whether one has expired is not asked, as the clock may be wrong.
pub fn ids_of_user(user_id: UserId) -> impl Batch<Out = Vec<SessionId>> {
    sql!("SELECT id FROM session WHERE ", OF_USER)
        .with(values![user_id])
        .all(|row| Ok(row.take()?))
}

/// The ids of all sessions of a client that nobody has ended, as [`ids_of_user`].
pub fn ids_of_client(id: &ClientId) -> impl Batch<Out = Vec<SessionId>> {
    sql!(
        "SELECT id FROM session WHERE client_id = $1 AND ",
        NOT_ENDED
    )
    .with(values![id])
    .all(|row| Ok(row.take()?))
}

/// Ends those of these sessions that have not ended yet; returns how many. If a session has a grace running, its pair is
/// erased when the grace is over: it is already worthless.
///
/// # Errors
/// As for every script.
pub async fn end_all(sql: Sql<'_>, ids: &[SessionId], now: Timestamp) -> Result<u64, ScriptError> {
    let end = sql!(
        sqlite: ["UPDATE session SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL"],
        postgres: [
            "WITH alive AS (SELECT id FROM session WHERE id = ANY($1::uuid[]) AND ended_at IS NULL \
                 ORDER BY id FOR UPDATE) \
             UPDATE session SET ended_at = $2 FROM alive WHERE session.id = alive.id"
        ],
    );
    if let Sql::Postgres(_) = sql {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
        return sql.run(end.with(values![&ids[..], now])).await;
    }
    let mut ended = 0;
    for id in ids {
        ended += sql.run(end.with(values![id.0, now])).await?;
    }
    Ok(ended)
}

/// At most `limit` sessions of a user, ended or not, locked until the end of the transaction.
pub fn lock_some(user_id: UserId, limit: u32) -> impl Batch<Out = Vec<SessionId>> {
    sql!("SELECT id FROM session WHERE user_id = $1 ORDER BY id LIMIT $2 FOR UPDATE")
        .with(values![user_id, limit])
        .all(|row| Ok(row.take()?))
}

/// The live sessions of a user, newest first.
pub fn list(
    user_id: UserId,
    now: Timestamp,
    part: Part<SessionId>,
) -> impl Batch<Out = Vec<Session>> {
    let after = part.after.unwrap_or(SessionId(Uuid::max()));
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM session WHERE ",
        OF_USER,
        " AND expires_at > $2 AND id < $3 ORDER BY id DESC LIMIT $4"
    )
    .with(values![user_id, now, after, part.limit])
    .all(row::read)
}

/// The live sessions of all users, newest first.
pub fn list_all(now: Timestamp, part: Part<SessionId>) -> impl Batch<Out = Vec<Session>> {
    let after = part.after.unwrap_or(SessionId(Uuid::max()));
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM session WHERE expires_at > $1 AND id < $2 AND ",
        NOT_ENDED,
        " ORDER BY id DESC LIMIT $3"
    )
    .with(values![now, after, part.limit])
    .all(row::read)
}

/// The session with that id, if it is alive.
pub fn find(id: SessionId, now: Timestamp) -> impl Batch<Out = Option<Session>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM session WHERE id = $1 AND expires_at > $2 AND ",
        NOT_ENDED
    )
    .with(values![id, now])
    .first(row::read)
}

/// Records when sessions were last used; a time before the recorded one changes nothing. Returns the sessions that others
/// have locked, whose use is not recorded.
///
/// # Errors
/// As for every script.
pub async fn record_uses(
    sql: Sql<'_>,
    uses: &[(SessionId, Timestamp)],
) -> Result<Vec<SessionId>, ScriptError> {
    let update = sql!(
        sqlite: ["UPDATE session SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2"],
        postgres: [
            "WITH used AS (SELECT * FROM unnest($1::uuid[], $2::bigint[]) AS used (id, used_at)), \
                 locked AS (SELECT session.id, used_at FROM session JOIN used USING (id) \
                     FOR NO KEY UPDATE OF session SKIP LOCKED), \
                 recorded AS (UPDATE session SET last_used_at = greatest(last_used_at, used_at) FROM locked \
                     WHERE session.id = locked.id) \
             SELECT id FROM session JOIN used USING (id) WHERE id NOT IN (SELECT id FROM locked)"
        ],
    );
    uses::record(sql, update, uses).await
}

/// At most `limit` sessions that are over, and that no other transaction has locked.
pub fn lock_expired(now: Timestamp, limit: u32) -> impl Batch<Out = Vec<SessionId>> {
    sql!(
        "SELECT id FROM session WHERE coalesce(ended_at, expires_at) <= $1 \
         LIMIT $2 FOR UPDATE SKIP LOCKED"
    )
    .with(values![now, limit])
    .all(|row| Ok(row.take()?))
}

/// The first sessions of a client, at most `limit`, locked until the end of the transaction.
pub fn lock_of_client(id: &ClientId, limit: u32) -> impl Batch<Out = Vec<SessionId>> {
    sql!("SELECT id FROM session WHERE client_id = $1 ORDER BY id LIMIT $2 FOR UPDATE")
        .with(values![id, limit])
        .all(|row| Ok(row.take()?))
}

/// Whether a client has sessions, alive or not.
pub fn exist_of_client(id: &ClientId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM session WHERE client_id = $1 LIMIT 1")
        .with(values![id])
        .exists()
}

/// Deletes at most `limit` of these sessions, whose tokens and codes must be gone; returns how many.
///
/// # Errors
/// As for every script.
pub async fn delete(sql: Sql<'_>, ids: &[SessionId], limit: u32) -> Result<u64, ScriptError> {
    let delete = sql!(
        sqlite: ["DELETE FROM session WHERE id IN (SELECT id FROM session WHERE id = $1 LIMIT $2)"],
        postgres: [
            "DELETE FROM session WHERE id IN (SELECT id FROM session WHERE id = ANY($1::uuid[]) LIMIT $2)"
        ],
    );
    delete_of_sessions(sql, delete, ids, limit).await
}

/// The end of a statement that deletes some rows of a session, for [`delete_of_sessions`] on SQLite.
pub(super) const OF_SESSION: &str = " WHERE session_id = $1 LIMIT $2)";

/// The same, for many sessions, on PostgreSQL.
pub(super) const OF_SESSIONS: &str = " WHERE session_id = ANY($1::uuid[]) LIMIT $2)";

/// Deletes at most `limit` rows of sessions; returns how many. `delete` takes an id and a limit on SQLite, where many
/// statements cost no more than one, and a list of ids and a limit on PostgreSQL.
///
/// # Errors
/// As for every script.
pub(super) async fn delete_of_sessions(
    sql: Sql<'_>,
    delete: &'static Statement<2>,
    ids: &[SessionId],
    limit: u32,
) -> Result<u64, ScriptError> {
    if let Sql::Postgres(_) = sql {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
        return sql.run(delete.with(values![&ids[..], limit])).await;
    }
    let mut left = limit;
    for id in ids {
        if left == 0 {
            break;
        }
        // At most `left`, the statement's limit.
        left -= sql.run(delete.with(values![id.0, left])).await? as u32;
    }
    Ok(u64::from(limit - left))
}
