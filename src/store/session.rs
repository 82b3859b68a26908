//! Sessions, and their tokens.
//!
//! Of two exchanges that touch one session, one comes after the other: a refresh locks the row of its session before it
//! looks at the token. What is read afterwards is what the one before has committed, on whichever replica.
//!
//! SQLite keeps the sealed pair of a grace wrapped under a key that lives seconds (`sqlite/pair.rs`). In PostgreSQL a pair
//! that was erased is out of its row, not off the disk: the dead version of the row stays until it is vacuumed and written
//! over, and the write-ahead log, its archive and every backup have it for as long as they are kept. The same log would
//! have the keys. README.md tells operators.

use uuid::Uuid;

use super::user::OF_ACTIVE;
use super::{Batch, Sql, uses};
use crate::domain::id::{SessionId, UserId};
use crate::domain::list::Part;
use crate::domain::oauth_client::ClientId;
use crate::domain::secret::Digest;
use crate::domain::session::pair::PairDigests;
use crate::domain::session::rules::{KnownToken, latest_access_token};
use crate::domain::session::{Refresh, Session, SignedIn};
use crate::domain::time::Timestamp;
use crate::sql::{ScriptError, lock, sql, table, values};
use crate::sqlite::pair::{ADD_KEY, UNWRAPPED, WRAPPED};

table! {
    /// The rows of sessions.
    pub(super) mod row = "session", key [id];
    ()
    Session {
        id: Uuid, user_id: Uuid, client_id: Text, install_id: Text, user_agent: Text, created_at: Integer,
        last_used_at: Integer, expires_at: Integer,
    }
    (ended_at: Integer)
}

table! {
    /// The rows of access tokens.
    pub(super) mod access_token_row = "access_token", key [digest];
    (digest: Bytes, session_id: Uuid, expires_at: Integer)
    ()
}

table! {
    /// The rows of refresh tokens.
    pub(super) mod refresh_token_row = "refresh_token", key [digest];
    (digest: Bytes, session_id: Uuid)
    // Not `successor`: a copy is kept, or handed on, for longer than a sealed pair may be found anywhere.
    (spent_at: Integer)
}

/// Adds a session.
pub fn insert(session: &Session) -> impl Batch {
    sql!(row::INSERT).with(row::values(session))
}

/// Adds a pair of tokens, of which nothing but the digests is kept.
pub fn insert_pair(id: SessionId, pair: &PairDigests, expires_at: Timestamp) -> impl Batch {
    let access = sql!(
        one: [access_token_row::INSERT],
        many(1): [
            "INSERT INTO access_token (digest, session_id, expires_at) \
             SELECT * FROM unnest($1::bytea[], $2::uuid[], $3::bigint[]) RETURNING digest"
        ],
    );
    let refresh = sql!(
        one: [refresh_token_row::INSERT],
        many(1): [
            "INSERT INTO refresh_token (digest, session_id) \
             SELECT * FROM unnest($1::bytea[], $2::uuid[]) RETURNING digest"
        ],
    );
    (
        access.with(values![&pair.access, id, expires_at]),
        refresh.with(values![&pair.refresh, id]),
    )
}

/// Who is behind an access token that has not expired, and not for longer than [`latest_access_token`], in a session that
/// has not ended, of a user who is active and a client that is not deleted; and when the session is known to have been used last.
pub fn find_access_token(
    digest: &Digest,
    now: Timestamp,
) -> impl Batch<Out = Option<(SignedIn, Timestamp)>> {
    const FROM: &str = " FROM access_token JOIN session ON session.id = access_token.session_id \
         JOIN oauth_client ON oauth_client.id = session.client_id \
         WHERE session.ended_at IS NULL AND oauth_client.deleted_at IS NULL ";
    sql!(
        one: [
            "SELECT user_id, session_id, last_used_at", FROM,
            "AND access_token.digest = $1 AND access_token.expires_at > $2 AND access_token.expires_at <= $3 AND ",
            OF_ACTIVE
        ],
        many(3): [
            "SELECT user_id, session_id, last_used_at, asked_digest, after, latest \
             FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS asked (asked_digest, after, latest), LATERAL \
                 (SELECT user_id, session_id, last_used_at", FROM,
            "AND access_token.digest = asked_digest AND access_token.expires_at > after \
             AND access_token.expires_at <= latest AND ", OF_ACTIVE, " OFFSET 0) AS found"
        ],
    )
    .with(values![digest, now, latest_access_token(now)])
    .first(|row| {
        let signed_in = SignedIn {
            user_id: row.take()?,
            session_id: row.take()?,
        };
        Ok((signed_in, row.take()?))
    })
}

/// A refresh token on record, with its session, which counts as ended where its user is
/// not active, and which nobody else changes until the end of the transaction. A statement of its own takes the lock, because the other has to see what was committed while it was waited for.
pub fn lock_refresh_token(digest: &Digest) -> impl Batch<Out = Option<KnownToken>> {
    let lock = lock!(
        one: [
            "SELECT 1 FROM session \
             WHERE id = (SELECT session_id FROM refresh_token WHERE digest = $1) FOR UPDATE"
        ],
        many(1): [
            "SELECT digest FROM session JOIN refresh_token ON refresh_token.session_id = session.id \
             WHERE digest = ANY($1) ORDER BY session.id FOR UPDATE OF session"
        ],
    );
    let find = sql!(
        sqlite: [
            "SELECT session_id, user_id, client_id, install_id, created_at, expires_at, ended_at IS NOT NULL OR NOT ",
            OF_ACTIVE,
            ", spent_at, ",
            UNWRAPPED,
            " FROM refresh_token JOIN session ON session.id = refresh_token.session_id \
             WHERE refresh_token.digest = $1",
        ],
        postgres: [
            "SELECT session_id, user_id, client_id, install_id, created_at, expires_at, ended_at IS NOT NULL OR NOT ",
            OF_ACTIVE,
            ", spent_at, ",
            "successor",
            " FROM refresh_token JOIN session ON session.id = refresh_token.session_id \
             WHERE refresh_token.digest = $1",
        ],
        many(1): [
            "SELECT session_id, user_id, client_id, install_id, created_at, expires_at, ended_at IS NOT NULL OR NOT ",
            OF_ACTIVE,
            ", spent_at, successor, digest \
             FROM refresh_token JOIN session ON session.id = refresh_token.session_id \
             WHERE refresh_token.digest = ANY($1)",
        ],
    );
    let find = find.with(values![digest]).first(|row| {
        Ok(KnownToken {
            session_id: row.take()?,
            user_id: row.take()?,
            client_id: row.take()?,
            install_id: row.take()?,
            created_at: row.take()?,
            expires_at: row.take()?,
            ended: row.take()?,
            spent_at: row.take()?,
            successor: row.take()?,
        })
    });
    (lock.with(values![digest]), find).rule(|(_, known)| Ok(known))
}

/// Marks a refresh token as spent, for a pair that its owner may ask for again.
pub fn mark_spent(refresh: &Refresh) -> impl Batch {
    let Refresh {
        token, sealed, now, ..
    } = refresh;
    let spend = sql!(
        sqlite: ["UPDATE refresh_token SET spent_at = $2, successor = ", WRAPPED, " WHERE digest = $1"],
        postgres: ["UPDATE refresh_token SET spent_at = $2, successor = $3 WHERE digest = $1"],
        many(1): [
            "UPDATE refresh_token SET spent_at = spent.at, successor = spent.successor \
             FROM unnest($1::bytea[], $2::bigint[], $3::bytea[]) AS spent (digest, at, successor) \
             WHERE refresh_token.digest = spent.digest RETURNING refresh_token.digest"
        ],
    );
    let add_key = sql!(sqlite: [ADD_KEY], postgres: [""]);
    (
        add_key.with(values![now]),
        spend.with(values![token, now, sealed]),
    )
}

/// Lets a session live until `expires_at`, used `now` by a device that may say what it is.
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

/// Ends a session, unless it has ended before; says whether it has now. Its tokens and codes go later, in the background.
pub fn end(id: SessionId, now: Timestamp) -> impl Batch<Out = bool> {
    let end = sql!("UPDATE session SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL");
    (end.with(values![id, now]), end_grace(id)).rule(|(ended, _)| Ok(ended > 0))
}

/// Whether there is such a session, which nobody else changes until the end of the transaction.
pub fn lock(id: SessionId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM session WHERE id = $1 FOR UPDATE")
        .with(values![id])
        .exists()
}

/// Whether there is such a session of this user, alive or not, which nobody else changes until the end of the transaction.
pub fn lock_of_user(user_id: UserId, id: SessionId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM session WHERE id = $1 AND user_id = $2 FOR UPDATE")
        .with(values![id, user_id])
        .exists()
}

/// Ends all sessions of a user that have not ended before, however many; says how many. As to a grace, as [`end_all`].
pub fn end_all_of_user(user_id: UserId, now: Timestamp) -> impl Batch<Out = u64> {
    // In the order of their ids, as everybody locks several.
    let lock = lock!(
        "SELECT count(*) FROM (SELECT 1 FROM session WHERE user_id = $1 AND ended_at IS NULL ORDER BY id FOR UPDATE) AS alive"
    );
    let end = sql!("UPDATE session SET ended_at = $2 WHERE user_id = $1 AND ended_at IS NULL");
    (lock.with(values![user_id]), end.with(values![user_id, now])).rule(|(_, ended)| Ok(ended))
}

/// The ids of all sessions of a user that are alive.
pub fn ids_of_user(user_id: UserId, now: Timestamp) -> impl Batch<Out = Vec<SessionId>> {
    sql!("SELECT id FROM session WHERE user_id = $1 AND ended_at IS NULL AND expires_at > $2")
        .with(values![user_id, now])
        .all(|row| Ok(row.take()?))
}

/// The same, of a client.
pub fn ids_of_client(id: &ClientId, now: Timestamp) -> impl Batch<Out = Vec<SessionId>> {
    sql!("SELECT id FROM session WHERE client_id = $1 AND ended_at IS NULL AND expires_at > $2")
        .with(values![id, now])
        .all(|row| Ok(row.take()?))
}

/// Ends those of these sessions that have not ended before; says how many. Where the grace of one runs, its pair is erased
/// when that is over: it is worth nothing by now.
///
/// # Errors
/// As every script.
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

/// At most `limit` sessions of a user, ended or not, which nobody else changes until the end of the transaction.
pub fn lock_some(user_id: UserId, limit: u32) -> impl Batch<Out = Vec<SessionId>> {
    sql!("SELECT id FROM session WHERE user_id = $1 ORDER BY id LIMIT $2 FOR UPDATE")
        .with(values![user_id, limit])
        .all(|row| Ok(row.take()?))
}

/// The sessions of a user that are alive, newest first.
pub fn list(
    user_id: UserId,
    now: Timestamp,
    part: Part<SessionId>,
) -> impl Batch<Out = Vec<Session>> {
    let after = part.after.unwrap_or(SessionId(Uuid::max()));
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM session WHERE user_id = $1 AND ended_at IS NULL AND expires_at > $2 AND id < $3 \
         ORDER BY id DESC LIMIT $4"
    )
    .with(values![user_id, now, after, part.limit])
    .all(row::read)
}

/// The sessions of all users that are alive, newest first.
pub fn list_all(now: Timestamp, part: Part<SessionId>) -> impl Batch<Out = Vec<Session>> {
    let after = part.after.unwrap_or(SessionId(Uuid::max()));
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM session WHERE ended_at IS NULL AND expires_at > $1 AND id < $2 ORDER BY id DESC LIMIT $3"
    )
    .with(values![now, after, part.limit])
    .all(row::read)
}

/// The session of that id, if it is alive.
pub fn find(id: SessionId, now: Timestamp) -> impl Batch<Out = Option<Session>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM session WHERE id = $1 AND ended_at IS NULL AND expires_at > $2"
    )
    .with(values![id, now])
    .first(row::read)
}

/// Notes when sessions were last used; a time before the one already noted changes nothing.
///
/// # Errors
/// As every script.
pub async fn record_uses(sql: Sql<'_>, uses: &[(SessionId, Timestamp)]) -> Result<(), ScriptError> {
    let update = sql!(
        sqlite: ["UPDATE session SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2"],
        postgres: [
            "WITH used AS (SELECT * FROM unnest($1::uuid[], $2::bigint[]) AS used (id, used_at)), \
                 locked AS (SELECT session.id, used_at FROM session JOIN used USING (id) \
                     ORDER BY session.id FOR UPDATE OF session) \
             UPDATE session SET last_used_at = greatest(last_used_at, used_at) FROM locked \
             WHERE session.id = locked.id"
        ],
    );
    uses::record(sql, update, uses).await
}

/// Erases the sealed pairs of at most `limit` tokens that were spent by `first` or after `last`; says how many.
pub fn erase_successors(first: Timestamp, last: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "UPDATE refresh_token SET successor = NULL WHERE digest IN ( \
             SELECT digest FROM refresh_token \
             WHERE successor IS NOT NULL AND (spent_at <= $1 OR spent_at > $2) \
             LIMIT $3 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![first, last, limit])
}

/// Deletes at most `limit` access tokens that have expired; says how many.
pub fn delete_expired_access_tokens(now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM access_token WHERE digest IN ( \
             SELECT digest FROM access_token WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![now, limit])
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

/// The first sessions of a client, at most `limit`, which nobody else changes until the end of the transaction.
pub fn lock_of_client(id: &ClientId, limit: u32) -> impl Batch<Out = Vec<SessionId>> {
    sql!("SELECT id FROM session WHERE client_id = $1 ORDER BY id LIMIT $2 FOR UPDATE")
        .with(values![id, limit])
        .all(|row| Ok(row.take()?))
}

/// Deletes at most `limit` access tokens of the first `sessions` of a client; says how many.
pub fn delete_access_tokens_of_client(
    id: &ClientId,
    sessions: u32,
    limit: u32,
) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM access_token WHERE digest IN ( \
             SELECT digest FROM access_token WHERE session_id IN ( \
                 SELECT id FROM session WHERE client_id = $1 ORDER BY id LIMIT $2) LIMIT $3)"
    )
    .with(values![id, sessions, limit])
}

/// Deletes at most `limit` refresh tokens of the first `sessions` of a client; says how many.
pub fn delete_refresh_tokens_of_client(
    id: &ClientId,
    sessions: u32,
    limit: u32,
) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM refresh_token WHERE digest IN ( \
             SELECT digest FROM refresh_token WHERE session_id IN ( \
                 SELECT id FROM session WHERE client_id = $1 ORDER BY id LIMIT $2) LIMIT $3)"
    )
    .with(values![id, sessions, limit])
}

/// Deletes the first sessions of a client, at most `limit`, to which nothing belongs any more.
pub fn delete_of_client(id: &ClientId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM session WHERE id IN ( \
             SELECT id FROM session WHERE client_id = $1 ORDER BY id LIMIT $2)"
    )
    .with(values![id, limit])
}

/// Whether a client has sessions, alive or not.
pub fn exist_of_client(id: &ClientId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM session WHERE client_id = $1 LIMIT 1")
        .with(values![id])
        .exists()
}

/// Deletes at most `limit` access tokens of a session; says how many.
pub fn delete_access_tokens(id: SessionId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM access_token WHERE digest IN ( \
             SELECT digest FROM access_token WHERE session_id = $1 LIMIT $2)"
    )
    .with(values![id, limit])
}

/// Deletes at most `limit` refresh tokens of a session; says how many.
pub fn delete_refresh_tokens(id: SessionId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM refresh_token WHERE digest IN ( \
             SELECT digest FROM refresh_token WHERE session_id = $1 LIMIT $2)"
    )
    .with(values![id, limit])
}

/// Deletes a session to which nothing belongs any more.
pub fn delete(id: SessionId) -> impl Batch<Out = u64> {
    sql!("DELETE FROM session WHERE id = $1").with(values![id])
}
