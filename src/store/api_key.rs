//! API keys.
//!
//! A change on the word of a key finds it valid, and nobody revokes it until the commit. In PostgreSQL both take a lock
//! that the database keeps for this alone: changes share it, a revocation has it for itself, and it ends with the
//! transaction, after what was committed can be seen. A lock on the row would do the same, but each create would write to
//! it, and a key in constant use would let nobody revoke it: those who share a row may overtake one who waits for it, and
//! those who share a lock may not.

use uuid::Uuid;

use super::{Batch, Sql, uses};
use crate::domain::api_key::{ApiKey, ListedApiKey};
use crate::domain::id::{ApiKeyId, TeamId, UserId};
use crate::domain::list::Part;
use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;
use crate::sql::{ScriptError, lock, sql, table, values};

table! {
    /// The rows of API keys.
    pub(super) mod row = "api_key", key [team_id, id];
    (digest: Bytes)
    ApiKey {
        id: Uuid, team_id: Uuid, mode: Text, scope: Text, name: Text, created_at: Integer,
        created_by: Uuid, expires_at: Integer, revoked_at: Integer, last_used_at: Integer, replaced_by: Uuid,
    }
    ()
}

/// Adds a key, of which nothing but the digest is kept.
pub fn insert<'a>(key: &'a ApiKey, digest: &'a Digest) -> impl Batch {
    sql!(row::INSERT).with(row::values(digest, key))
}

/// The keys of a team, oldest first.
pub fn list(team_id: TeamId, part: Part<ApiKeyId>) -> impl Batch<Out = Vec<ApiKey>> {
    let after = part.after.unwrap_or(ApiKeyId(Uuid::nil()));
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM api_key WHERE team_id = $1 AND id > $2 ORDER BY id LIMIT $3"
    )
    .with(values![team_id, after, part.limit])
    .all(row::read)
}

/// At most `limit` keys of a team: those that are not revoked, then the others, each newest first.
pub fn list_newest(team_id: TeamId, limit: u32) -> impl Batch<Out = Vec<ListedApiKey>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        ", (SELECT \"user\".name FROM member JOIN \"user\" ON \"user\".id = user_id \
             WHERE member.team_id = $1 AND user_id = created_by) \
         FROM api_key WHERE team_id = $1 ORDER BY revoked_at IS NOT NULL, id DESC LIMIT $2"
    )
    .with(values![team_id, limit])
    .all(|row| {
        Ok(ListedApiKey {
            key: row::read(row)?,
            maker: row.take()?,
        })
    })
}

/// The keys of all teams, oldest first.
pub fn list_all(part: Part<ApiKeyId>) -> impl Batch<Out = Vec<ApiKey>> {
    let after = part.after.unwrap_or(ApiKeyId(Uuid::nil()));
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM api_key WHERE id > $1 ORDER BY id LIMIT $2"
    )
    .with(values![after, part.limit])
    .all(row::read)
}

/// The keys that a user has made, in whatever teams, oldest first, at most so many.
pub fn list_made_by(user_id: UserId, limit: u32) -> impl Batch<Out = Vec<ApiKey>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM api_key WHERE created_by = $1 ORDER BY id LIMIT $2"
    )
    .with(values![user_id, limit])
    .all(row::read)
}

/// How many keys of a team are valid.
pub fn count_valid(team_id: TeamId, now: Timestamp) -> impl Batch<Out = Option<i64>> {
    sql!(
        "SELECT count(*) FROM api_key \
         WHERE team_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)"
    )
    .with(values![team_id, now])
    .first(|row| Ok(row.take()?))
}

/// Whether there is a key that is valid.
pub fn exists_valid(now: Timestamp) -> impl Batch<Out = bool> {
    sql!(
        "SELECT 1 FROM api_key WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) LIMIT 1"
    )
    .with(values![now])
    .exists()
}

/// The key of that id, whose ever it is.
pub fn find_id(id: ApiKeyId) -> impl Batch<Out = Option<ApiKey>> {
    sql!("SELECT ", row::COLUMNS, " FROM api_key WHERE id = $1")
        .with(values![id])
        .first(row::read)
}

/// The key that has this digest.
pub fn find(digest: &Digest) -> impl Batch<Out = Option<ApiKey>> {
    sql!("SELECT ", row::COLUMNS, " FROM api_key WHERE digest = $1")
        .with(values![digest])
        .first(row::read)
}

/// The key of that id, which nobody revokes before the end of the transaction.
pub fn hold(team_id: TeamId, id: ApiKeyId) -> impl Batch<Out = Option<ApiKey>> {
    let share = lock!("SELECT pg_advisory_xact_lock_shared($1)").with(values![lock_of(id)]);
    // A statement of its own: it has to see what was committed while the lock was waited for.
    let find = sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM api_key WHERE team_id = $1 AND id = $2"
    )
    .with(values![team_id, id])
    .first(row::read);
    (share, find).rule(|(_, key)| Ok(key))
}

/// The key of that id, whose ever it is, once nobody holds it; nobody else holds it until the end of the transaction.
pub fn lock(id: ApiKeyId) -> impl Batch<Out = Option<ApiKey>> {
    let alone = lock!("SELECT pg_advisory_xact_lock($1)").with(values![lock_of(id)]);
    (alone, find_id(id)).rule(|(_, key)| Ok(key))
}

/// Marks a key as revoked. Nobody holds it: it is locked before.
pub fn revoke(id: ApiKeyId, now: Timestamp) -> impl Batch<Out = u64> {
    sql!("UPDATE api_key SET revoked_at = $2 WHERE id = $1").with(values![id, now])
}

/// Notes which key took the place of one that was rotated, and when that one ends. Nobody holds it: it is locked before.
pub fn replace(old: &ApiKey) -> impl Batch {
    sql!(
        "UPDATE api_key SET replaced_by = $3, expires_at = $4, revoked_at = $5 WHERE team_id = $1 AND id = $2"
    )
    .with(values![
        old.team_id,
        old.id,
        old.replaced_by,
        old.expires_at,
        old.revoked_at
    ])
}

/// The number of a key's lock: what is random of its id. Two keys that share one would only wait for each other.
fn lock_of(id: ApiKeyId) -> i64 {
    id.0.as_u64_pair().1.cast_signed()
}

/// The keys of a team that are not revoked, or those that a user has made.
pub fn list_unrevoked(
    team_id: TeamId,
    created_by: Option<UserId>,
) -> impl Batch<Out = Vec<ApiKeyId>> {
    sql!(
        "SELECT id FROM api_key WHERE team_id = $1 AND revoked_at IS NULL \
         AND ($2 IS NULL OR created_by = $2) ORDER BY id"
    )
    .with(values![team_id, created_by])
    .all(|row| Ok(row.take()?))
}

/// Deletes at most `limit` keys of a team; says how many.
pub fn delete_some(team_id: TeamId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM api_key WHERE team_id = $1 AND id IN ( \
             SELECT id FROM api_key WHERE team_id = $1 LIMIT $2)"
    )
    .with(values![team_id, limit])
}

/// Notes when keys were last used; a time before the one already noted changes nothing.
///
/// # Errors
/// As every script.
pub async fn record_uses(sql: Sql<'_>, uses: &[(ApiKeyId, Timestamp)]) -> Result<(), ScriptError> {
    let update = sql!(
        sqlite: [
            "UPDATE api_key SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)",
        ],
        postgres: [
            "WITH used AS (SELECT * FROM unnest($1::uuid[], $2::bigint[]) AS used (id, used_at)), \
                 locked AS (SELECT api_key.team_id, api_key.id, used_at FROM api_key JOIN used USING (id) \
                     ORDER BY api_key.id FOR UPDATE OF api_key) \
             UPDATE api_key SET last_used_at = greatest(last_used_at, used_at) FROM locked \
             WHERE api_key.team_id = locked.team_id AND api_key.id = locked.id"
        ],
    );
    uses::record(sql, update, uses).await
}
