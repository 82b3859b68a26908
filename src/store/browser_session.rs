//! Browser sessions. A session that is over is deleted.

use uuid::Uuid;

use super::{Batch, Sql, fair, uses};
use crate::domain::browser_session::{BrowserSession, IDLE, InBrowser, LIFETIME};
use crate::domain::id::{BrowserSessionId, UserId};
use crate::domain::list::Part;
use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;
use crate::domain::user::User;
use crate::sql::{ScriptError, sql, table, values};

table! {
    /// The rows of browser sessions.
    pub(super) mod row = "browser_session", key [id];
    (digest: Bytes, generation: Integer)
    BrowserSession {
        id: Uuid, user_id: Uuid, user_agent: Text, created_at: Integer, signed_in_at: Integer,
        last_used_at: Integer,
    }
    ()
}

/// A condition on the row of a session: its user is active, and has not ended all sessions since it started.
const OF_ACTIVE: &str = "EXISTS (SELECT 1 FROM \"user\" WHERE \"user\".id = user_id AND removed_at IS NULL \
     AND deactivated_at IS NULL AND browser_generation = generation)";

/// A condition on the row of a session: it is of the user `$1`, who has not ended all sessions since it started.
const OF_USER: &str = "user_id = $1 AND \
     generation = (SELECT browser_generation FROM \"user\" WHERE \"user\".id = $1)";

/// Adds a session, storing only the digest of its cookie.
pub fn insert<'a>(session: &'a BrowserSession, digest: &'a Digest, generation: i64) -> impl Batch {
    sql!(row::INSERT).with(row::values(digest, generation, session))
}

/// The session with this digest, with its user.
pub fn find(digest: &Digest) -> impl Batch<Out = Option<InBrowser>> {
    sql!(
        "SELECT browser_session.id, user_id, user_agent, browser_session.created_at, signed_in_at, last_used_at, \
         \"user\".id, email, name, \"user\".created_at \
         FROM browser_session JOIN \"user\" ON \"user\".id = user_id \
         WHERE digest = $1 AND removed_at IS NULL AND deactivated_at IS NULL AND browser_generation = generation"
    )
    .with(values![digest])
    .first(|row| {
        Ok(InBrowser {
            session: row::read(row)?,
            user: User {
                id: row.take()?,
                email: row.take()?,
                name: row.take()?,
                created_at: row.take()?,
                deactivated_at: None,
            },
        })
    })
}

/// The session with that id, if its user is active.
pub fn find_id(id: BrowserSessionId) -> impl Batch<Out = Option<BrowserSession>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM browser_session WHERE id = $1 AND ",
        OF_ACTIVE
    )
    .with(values![id])
    .first(row::read)
}

/// The session with that id, if its user is active; it cannot be ended before the end of the transaction.
pub fn hold(id: BrowserSessionId) -> impl Batch<Out = Option<BrowserSession>> {
    let hold = sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM browser_session WHERE id = $1 AND ",
        OF_ACTIVE,
        " FOR SHARE"
    )
    .with(values![id])
    .first(row::read);
    (fair::share(fair::Lock::BrowserSession(id)), hold).rule(|(_, session)| Ok(session))
}

/// Gives a session of an active user a new cookie, after the user proved their identity again. Returns how many there were.
pub fn confirm(id: BrowserSessionId, digest: &Digest, now: Timestamp) -> impl Batch<Out = u64> {
    let confirm = sql!(
        "UPDATE browser_session SET digest = $2, signed_in_at = $3 WHERE id = $1 AND ",
        OF_ACTIVE
    )
    .with(values![id, digest, now]);
    (fair::alone(fair::Lock::BrowserSession(id)), confirm).rule(|(_, confirmed)| Ok(confirmed))
}

/// The sessions of a user, newest first.
pub fn list(
    user_id: UserId,
    now: Timestamp,
    part: Part<BrowserSessionId>,
) -> impl Batch<Out = Vec<BrowserSession>> {
    let after = part.after.unwrap_or(BrowserSessionId(Uuid::max()));
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM browser_session WHERE ",
        OF_USER,
        " AND last_used_at > $2 AND created_at > $3 AND id < $4 ORDER BY id DESC LIMIT $5"
    )
    .with(values![
        user_id,
        now.before(IDLE),
        now.before(LIFETIME),
        after,
        part.limit
    ])
    .all(row::read)
}

/// Ends a session of a user. Returns how many there were.
pub fn delete(user_id: UserId, id: BrowserSessionId) -> impl Batch<Out = u64> {
    let delete = sql!("DELETE FROM browser_session WHERE id = $1 AND user_id = $2")
        .with(values![id, user_id]);
    (fair::alone(fair::Lock::BrowserSession(id)), delete).rule(|(_, deleted)| Ok(deleted))
}

/// Ends at most `limit` sessions of a user, who is locked, except `stays`, if given. Returns how many.
pub fn delete_some_others(
    user_id: UserId,
    stays: Option<BrowserSessionId>,
    limit: u32,
) -> impl Batch<Out = u64> {
    let stays = stays.unwrap_or(BrowserSessionId(Uuid::nil()));
    sql!(
        "DELETE FROM browser_session WHERE id IN (SELECT id FROM browser_session WHERE ",
        OF_USER,
        " AND id <> $2 ORDER BY id LIMIT $3 FOR UPDATE)"
    )
    .with(values![user_id, stays, limit])
}

/// Moves a session from the previous generation to the one that its user has just started. Returns how many there were.
pub fn keep(id: BrowserSessionId) -> impl Batch<Out = u64> {
    sql!(
        "UPDATE browser_session SET generation = generation + 1 WHERE id = $1 AND generation + 1 = \
             (SELECT browser_generation FROM \"user\" WHERE \"user\".id = user_id)"
    )
    .with(values![id])
}

/// Deletes at most `limit` sessions that a user has ended by starting a new generation; returns how many.
pub fn delete_ended(user_id: UserId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM browser_session WHERE id IN ( \
             SELECT id FROM browser_session WHERE user_id = $1 AND \
                 generation < (SELECT browser_generation FROM \"user\" WHERE \"user\".id = $1) \
             ORDER BY generation, id LIMIT $2 FOR UPDATE)"
    )
    .with(values![user_id, limit])
}

/// Ends at most `limit` sessions of a user, who is locked. Returns how many.
pub fn delete_some(user_id: UserId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM browser_session WHERE id IN ( \
             SELECT id FROM browser_session WHERE user_id = $1 LIMIT $2 FOR UPDATE)"
    )
    .with(values![user_id, limit])
}

/// Deletes at most `limit` sessions that are over; returns how many.
pub fn delete_over(now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM browser_session WHERE id IN ( \
             SELECT id FROM browser_session WHERE last_used_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![now.before(IDLE), limit])
}

/// Records when sessions were last used; a time before the recorded one changes nothing. Returns the sessions that others
/// have locked, whose use is not recorded.
///
/// # Errors
/// As for every script.
pub async fn record_uses(
    sql: Sql<'_>,
    uses: &[(BrowserSessionId, Timestamp)],
) -> Result<Vec<BrowserSessionId>, ScriptError> {
    let update = sql!(
        sqlite: ["UPDATE browser_session SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2"],
        postgres: [
            "WITH used AS (SELECT * FROM unnest($1::uuid[], $2::bigint[]) AS used (id, used_at)), \
                 locked AS (SELECT browser_session.id, used_at FROM browser_session JOIN used USING (id) \
                     FOR NO KEY UPDATE OF browser_session SKIP LOCKED), \
                 recorded AS (UPDATE browser_session SET last_used_at = greatest(last_used_at, used_at) FROM locked \
                     WHERE browser_session.id = locked.id) \
             SELECT id FROM browser_session JOIN used USING (id) WHERE id NOT IN (SELECT id FROM locked)"
        ],
    );
    uses::record(sql, update, uses).await
}
