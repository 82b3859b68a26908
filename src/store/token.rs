//! Tokens of sessions: digests of access tokens, and of refresh tokens, with the sealed pair of a grace.
//!
//! Of two exchanges that touch one session, one runs after the other: a refresh locks the row of its session before it looks
//! at the token. What it then reads includes what the one before has committed, on any replica.
//!
//! SQLite keeps the sealed pair of a grace wrapped under a key that lives for seconds (`sqlite/pair.rs`). In PostgreSQL an
//! erased pair is gone from its row, but not from the disk: the dead version of the row stays until it is vacuumed and
//! overwritten, and the write-ahead log, its archive and every backup have it for as long as they are kept. The same log
//! would contain the keys. README.md tells operators.

use super::session::{OF_ACTIVE, OF_SESSION, OF_SESSIONS, delete_of_sessions};
use super::{Batch, Sql};
use crate::domain::Error;
use crate::domain::id::{SessionId, UserId};
use crate::domain::secret::Digest;
use crate::domain::session::pair::PairDigests;
use crate::domain::session::rules::{KnownToken, latest_access_token};
use crate::domain::session::underway::TransactionId;
use crate::domain::session::{Refresh, SignedIn};
use crate::domain::time::Timestamp;
use crate::sql::{ScriptError, lock, sql, table, values};
use crate::sqlite::pair::{ADD_KEY, UNWRAPPED, WRAPPED};

table! {
    /// The rows of access tokens.
    pub(super) mod access_row = "access_token", key [digest];
    (digest: Bytes, session_id: Uuid, expires_at: Integer)
    ()
}

table! {
    /// The rows of refresh tokens.
    pub(super) mod refresh_row = "refresh_token", key [digest];
    (digest: Bytes, session_id: Uuid)
    // Not `successor`: a copy is kept, or handed on, for longer than a sealed pair may exist anywhere.
    (spent_at: Integer)
}

/// In PostgreSQL, the transaction that wrote a refresh token last.
const WRITTEN_BY: &str = "refresh_token.xmin::text::bigint";

/// Adds a pair of tokens, storing only their digests.
pub fn insert_pair(id: SessionId, pair: &PairDigests, expires_at: Timestamp) -> impl Batch {
    let access = sql!(
        one: [access_row::INSERT],
        many(1): [
            "INSERT INTO access_token (digest, session_id, expires_at) \
             SELECT * FROM unnest($1::bytea[], $2::uuid[], $3::bigint[]) RETURNING digest"
        ],
    );
    let refresh = sql!(
        one: [refresh_row::INSERT],
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

/// The user and session of an access token that has not expired, and that expires no later than [`latest_access_token`], if
/// the session has not ended, the user is active and the client is not deleted; and when the session was last used, as far
/// as recorded.
pub fn find_access_token(
    digest: Digest,
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

/// The session of an access token or a refresh token, and its user, whatever the state of any of them.
pub fn find_session(digest: Digest) -> impl Batch<Out = Option<(SessionId, UserId)>> {
    sql!(
        one: [
            "SELECT session.id, user_id FROM refresh_token JOIN session ON session.id = session_id WHERE digest = $1 \
             UNION ALL SELECT session.id, user_id FROM access_token JOIN session ON session.id = session_id \
             WHERE digest = $1"
        ],
        many(1): [
            "SELECT session.id, user_id, digest FROM refresh_token JOIN session ON session.id = session_id \
             WHERE digest = ANY($1) \
             UNION ALL SELECT session.id, user_id, digest FROM access_token JOIN session ON session.id = session_id \
             WHERE digest = ANY($1)"
        ],
    )
    .with(values![digest])
    .first(|row| Ok((row.take()?, row.take()?)))
}

/// A stored refresh token, with its session, which counts as ended if its user is not active. Locks the session until the
/// end of the transaction, in a separate statement, because the other has to see what was committed while this waited.
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
            ", NULL FROM refresh_token JOIN session ON session.id = refresh_token.session_id \
             WHERE refresh_token.digest = $1",
        ],
        postgres: [
            "SELECT session_id, user_id, client_id, install_id, created_at, expires_at, ended_at IS NOT NULL OR NOT ",
            OF_ACTIVE,
            ", spent_at, ",
            "successor, ",
            WRITTEN_BY,
            " FROM refresh_token JOIN session ON session.id = refresh_token.session_id \
             WHERE refresh_token.digest = $1",
        ],
        many(1): [
            "SELECT session_id, user_id, client_id, install_id, created_at, expires_at, ended_at IS NOT NULL OR NOT ",
            OF_ACTIVE,
            ", spent_at, successor, ",
            WRITTEN_BY,
            ", digest FROM refresh_token JOIN session ON session.id = refresh_token.session_id \
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
            written_by: row.take()?,
        })
    });
    (lock.with(values![digest]), find).rule(|(_, known)| Ok(known))
}

/// Marks a refresh token as spent, for a pair that its owner may request again.
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
    let add_key = sql!(sqlite: [ADD_KEY]);
    (
        add_key.with(values![now]),
        spend.with(values![token, now, sealed]),
    )
}

/// The transactions that are under way, in PostgreSQL. In SQLite, changes run one after another, and so does this.
pub fn list_underway() -> impl Batch<Out = Option<Vec<TransactionId>>> {
    // A snapshot would not list those that began after the last that ended.
    sql!(postgres: ["SELECT COALESCE(string_agg(backend_xid::text, ','), '') FROM pg_stat_activity"])
        .with([])
        .first(|row| {
            let all: String = row.take()?;
            let ids = all.split(',').filter(|id| !id.is_empty());
            let wrong = |_| Error::internal("the id of a transaction is not a number");
            let ids: Result<_, Error> = ids.map(|id| id.parse().map_err(wrong)).collect();
            Ok(ids?)
        })
}

/// Erases the sealed pairs of at most `limit` tokens that were spent by `first` or after `last`, but in PostgreSQL not by one of
/// the transactions `except`; returns how many.
pub fn erase_successors(
    (first, last): (Timestamp, Timestamp),
    except: &[TransactionId],
    limit: u32,
) -> impl Batch<Out = u64> {
    const ERASE: &str = "UPDATE refresh_token SET successor = NULL WHERE digest IN ( \
         SELECT digest FROM refresh_token WHERE successor IS NOT NULL AND (spent_at <= $1 OR spent_at > $2) ";
    sql!(
        sqlite: [ERASE, "LIMIT $3)"],
        postgres: [ERASE, "AND NOT ", WRITTEN_BY, " = ANY($4) LIMIT $3 FOR UPDATE SKIP LOCKED)"],
    )
    .with(values![first, last, limit, except])
}

/// Deletes at most `limit` access tokens that have expired; returns how many.
pub fn delete_expired_access_tokens(now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM access_token WHERE digest IN ( \
             SELECT digest FROM access_token WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![now, limit])
}

/// Deletes at most `limit` access tokens of these sessions; returns how many.
///
/// # Errors
/// As for every script.
pub async fn delete_access_tokens(
    sql: Sql<'_>,
    ids: &[SessionId],
    limit: u32,
) -> Result<u64, ScriptError> {
    let delete = sql!(
        sqlite: ["DELETE FROM access_token WHERE digest IN (SELECT digest FROM access_token", OF_SESSION],
        postgres: ["DELETE FROM access_token WHERE digest IN (SELECT digest FROM access_token", OF_SESSIONS],
    );
    delete_of_sessions(sql, delete, ids, limit).await
}

/// Deletes at most `limit` refresh tokens of these sessions; returns how many.
///
/// # Errors
/// As for every script.
pub async fn delete_refresh_tokens(
    sql: Sql<'_>,
    ids: &[SessionId],
    limit: u32,
) -> Result<u64, ScriptError> {
    let delete = sql!(
        sqlite: ["DELETE FROM refresh_token WHERE digest IN (SELECT digest FROM refresh_token", OF_SESSION],
        postgres: ["DELETE FROM refresh_token WHERE digest IN (SELECT digest FROM refresh_token", OF_SESSIONS],
    );
    delete_of_sessions(sql, delete, ids, limit).await
}
