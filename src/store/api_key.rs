//! API keys.
//!
//! A change made with a key checks that the key is valid, and the key cannot be revoked before the commit. In PostgreSQL
//! both sides take an advisory lock (`fair.rs`): changes share it, and a revocation takes it alone. There is no row lock
//! besides, to which each create would write.

use std::cmp::Reverse;
use std::net::IpAddr;

use uuid::Uuid;

use super::{Batch, Sql, fair};
use crate::domain::api_key::{
    ApiKey, ApiKeyPlace, EXPIRED_FOR, KEYS_PER_TEAM, LONG_EXPIRED, ListedApiKey, ShownApiKey,
};
use crate::domain::id::{ApiKeyId, TeamId, UserId};
use crate::domain::list::Part;
use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;
use crate::sql::value::{Columns, columns};
use crate::sql::{ScriptError, lock, sql, table, text, values};

table! {
    /// The rows of API keys.
    pub(super) mod row = "api_key", key [team_id, id];
    (digest: Bytes)
    ApiKey {
        id: Uuid, team_id: Uuid, mode: Text, scope: Text, name: Text, created_at: Integer,
        created_by: Uuid, expires_at: Integer, revoked_at: Integer, last_used_at: Integer, replaced_by: Uuid,
    }
    (last_used_from: Text)
}

/// The columns of a [`ShownApiKey`].
const SHOWN: &str = text!(row::COLUMNS, ", last_used_from");

fn read_shown(row: &mut Columns<'_>) -> Result<ShownApiKey, ScriptError> {
    Ok(ShownApiKey {
        key: row::read(row)?,
        last_used_from: row.take()?,
    })
}

/// Adds a key, storing only its digest.
pub fn insert<'a>(key: &'a ApiKey, digest: &'a Digest) -> impl Batch {
    sql!(row::INSERT).with(row::values(digest, key))
}

/// The keys of a team, oldest first.
pub fn list(team_id: TeamId, part: Part<ApiKeyId>) -> impl Batch<Out = Vec<ShownApiKey>> {
    let after = part.after.unwrap_or(ApiKeyId(Uuid::nil()));
    sql!(
        "SELECT ",
        SHOWN,
        " FROM api_key WHERE team_id = $1 AND id > $2 ORDER BY id LIMIT $3"
    )
    .with(values![team_id, after, part.limit])
    .all(read_shown)
}

/// The condition for an unrevoked key of the team `$1` that expires after the time that follows. It has an index of its own
/// (`api_key_unrevoked`), as a team may have any number of expired keys.
const UNREVOKED_AFTER: &str =
    "team_id = $1 AND revoked_at IS NULL AND coalesce(expires_at, 9223372036854775807) > ";

/// A key as a page lists it, with its creator's name if the creator is still in the team.
const LISTED: &str = text!(
    "SELECT ",
    SHOWN,
    ", (SELECT \"user\".name FROM member JOIN \"user\" ON \"user\".id = user_id \
         WHERE member.team_id = $1 AND user_id = created_by) FROM api_key WHERE "
);

fn read_listed(
    row: &mut Columns<'_>,
    place: fn(ApiKeyId) -> ApiKeyPlace,
) -> Result<ListedApiKey, ScriptError> {
    let shown = read_shown(row)?;
    Ok(ListedApiKey {
        place: place(shown.key.id),
        shown,
        maker: row.take()?,
    })
}

/// The keys of a team: the valid ones first, then the others, each newest first.
pub fn list_newest(
    team_id: TeamId,
    now: Timestamp,
    part: Part<ApiKeyPlace>,
) -> impl Batch<Out = Vec<ListedApiKey>> {
    let limit = part.limit;
    let all = ApiKeyId(Uuid::max());
    let (valid_before, ended_before) = match part.after {
        None => (all, all),
        Some(ApiKeyPlace::Valid(id)) => (id, all),
        Some(ApiKeyPlace::Ended(id)) => (ApiKeyId(Uuid::nil()), id),
    };
    // There are at most a few hundred. They are sorted here, as PostgreSQL might scan from the newest key on.
    let valid = sql!(LISTED, UNREVOKED_AFTER, "$2 AND id < $3");
    // Few valid keys lie between these.
    let ended = sql!(
        LISTED,
        "team_id = $1 AND (revoked_at IS NOT NULL OR coalesce(expires_at, 9223372036854775807) <= $2) \
         AND id < $3 ORDER BY id DESC LIMIT $4"
    );
    let valid = valid
        .with(values![team_id, now, valid_before])
        .all(|row| read_listed(row, ApiKeyPlace::Valid));
    let ended = ended
        .with(values![team_id, now, ended_before, limit])
        .all(|row| read_listed(row, ApiKeyPlace::Ended));
    (valid, ended).rule(move |(mut keys, ended)| {
        keys.sort_by_key(|it| Reverse(it.shown.key.id));
        keys.extend(ended);
        keys.truncate(limit as usize);
        Ok(keys)
    })
}

/// The keys of all teams, oldest first.
pub fn list_all(part: Part<ApiKeyId>) -> impl Batch<Out = Vec<ShownApiKey>> {
    let after = part.after.unwrap_or(ApiKeyId(Uuid::nil()));
    sql!(
        "SELECT ",
        SHOWN,
        " FROM api_key WHERE id > $1 ORDER BY id LIMIT $2"
    )
    .with(values![after, part.limit])
    .all(read_shown)
}

/// The keys that a user has made, in any team, oldest first.
pub fn list_made_by(user_id: UserId, part: Part<ApiKeyId>) -> impl Batch<Out = Vec<ApiKey>> {
    let after = part.after.unwrap_or(ApiKeyId(Uuid::nil()));
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM api_key WHERE created_by = $1 AND id > $2 ORDER BY id LIMIT $3"
    )
    .with(values![user_id, after, part.limit])
    .all(row::read)
}

/// How many keys of a team are neither revoked nor expired at `expired_by`.
pub fn count_unrevoked(team_id: TeamId, expired_by: Timestamp) -> impl Batch<Out = Option<i64>> {
    sql!("SELECT count(*) FROM api_key WHERE ", UNREVOKED_AFTER, "$2")
        .with(values![team_id, expired_by])
        .first(|row| Ok(row.take()?))
}

/// How many keys of a team [`revoke_all`] would revoke. Unlike that, it reads nothing but an index: whoever may not delete an
/// account can try again and again.
pub fn count_that_end(team_id: TeamId, now: Timestamp) -> impl Batch<Out = Option<i64>> {
    let (expired, long_expired) = (now.before(EXPIRED_FOR), now.before(LONG_EXPIRED));
    sql!(
        "SELECT (SELECT count(*) FROM api_key WHERE ",
        UNREVOKED_AFTER,
        "$2) + (SELECT count(*) FROM (SELECT 1 FROM api_key WHERE ",
        UNREVOKED_AFTER,
        "$3 AND coalesce(expires_at, 9223372036854775807) <= $2 LIMIT $4) AS expired)"
    )
    .with(values![team_id, expired, long_expired, KEYS_PER_TEAM])
    .first(|row| Ok(row.take()?))
}

/// Whether any valid key exists.
pub fn exists_valid(now: Timestamp) -> impl Batch<Out = bool> {
    sql!(
        "SELECT 1 FROM api_key WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) LIMIT 1"
    )
    .with(values![now])
    .exists()
}

/// The key with that id, in any team.
pub fn find_id(id: ApiKeyId) -> impl Batch<Out = Option<ApiKey>> {
    sql!("SELECT ", row::COLUMNS, " FROM api_key WHERE id = $1")
        .with(values![id])
        .first(row::read)
}

/// As [`find_id`], to be shown.
pub fn find_shown(id: ApiKeyId) -> impl Batch<Out = Option<ShownApiKey>> {
    sql!("SELECT ", SHOWN, " FROM api_key WHERE id = $1")
        .with(values![id])
        .first(read_shown)
}

/// The key with this digest.
pub fn find(digest: Digest) -> impl Batch<Out = Option<ApiKey>> {
    sql!(
        one: ["SELECT ", row::COLUMNS, " FROM api_key WHERE digest = $1"],
        many(1): [
            "SELECT ", row::COLUMNS, ", asked_digest FROM unnest($1::bytea[]) AS asked (asked_digest), LATERAL \
                 (SELECT * FROM api_key WHERE digest = asked_digest OFFSET 0) AS found"
        ],
    )
    .with(values![digest])
    .first(row::read)
}

/// The key with that id, which cannot be revoked before the end of the transaction.
pub fn hold(team_id: TeamId, id: ApiKeyId) -> impl Batch<Out = Option<ApiKey>> {
    // A separate statement: it has to see what was committed while this waited for the lock.
    let find = sql!(
        one: ["SELECT ", row::COLUMNS, " FROM api_key WHERE team_id = $1 AND id = $2"],
        many(2): [
            "SELECT ", row::COLUMNS, ", of_team, asked_id \
             FROM unnest($1::uuid[], $2::uuid[]) AS asked (of_team, asked_id), LATERAL \
                 (SELECT * FROM api_key WHERE team_id = of_team AND id = asked_id OFFSET 0) AS found"
        ],
    )
    .with(values![team_id, id])
    .first(row::read);
    (fair::share(fair::Lock::ApiKey(id)), find).rule(|(_, key)| Ok(key))
}

/// The key with that id, in any team. Waits until no transaction holds it, and lets none hold it before the end of this.
pub fn lock(id: ApiKeyId) -> impl Batch<Out = Option<ApiKey>> {
    (fair::alone(fair::Lock::ApiKey(id)), find_id(id)).rule(|(_, key)| Ok(key))
}

/// For an answer that rests on this key, which is [locked](lock()), but not its row: as
/// [`idempotency::rely_on`](super::idempotency::rely_on).
pub fn rely_on(team_id: TeamId, id: ApiKeyId) -> impl Batch {
    lock!("SELECT 1 FROM api_key WHERE team_id = $1 AND id = $2 FOR SHARE")
        .with(values![team_id, id])
}

/// Marks a key as revoked. The key must be locked, so that no transaction holds it.
pub fn revoke(id: ApiKeyId, now: Timestamp) -> impl Batch<Out = u64> {
    sql!("UPDATE api_key SET revoked_at = $2 WHERE id = $1").with(values![id, now])
}

/// Records which key replaced a rotated one, and when that one expires. It must be locked, so that nothing holds it.
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

/// Revokes the keys of these teams that may be valid at `now`, even if that is up to a day ahead ([`LONG_EXPIRED`]); with
/// `created_by`, only that user's. Waits until no transaction holds any of them. The teams must be locked, so that none is
/// added meanwhile. Returns which, the oldest of each team first.
///
/// # Errors
/// As for every script.
pub async fn revoke_all(
    sql: Sql<'_>,
    (teams, created_by): (&[TeamId], Option<UserId>),
    now: Timestamp,
) -> Result<Vec<(TeamId, ApiKeyId)>, ScriptError> {
    let (expired, long_expired) = (now.before(EXPIRED_FOR), now.before(LONG_EXPIRED));
    // All that expire after `$3`; and of those between `$4` and `$3`, the `$5` of the team that expire last, which are valid if
    // the clock is ahead. However many have expired, a few hundred are read.
    let find = sql!(
        "SELECT team_id, id FROM api_key WHERE ",
        UNREVOKED_AFTER,
        "$3 AND ($2 IS NULL OR created_by = $2) UNION ALL \
         SELECT team_id, id FROM ( \
             SELECT team_id, id, created_by FROM api_key WHERE ",
        UNREVOKED_AFTER,
        "$4 AND coalesce(expires_at, 9223372036854775807) <= $3 \
             ORDER BY coalesce(expires_at, 9223372036854775807) DESC LIMIT $5) AS expired \
         WHERE ($2 IS NULL OR created_by = $2)"
    );
    let find = |id: &TeamId| {
        let find = find.with(values![
            *id,
            created_by,
            expired,
            long_expired,
            KEYS_PER_TEAM
        ]);
        find.all(|row| Ok((row.take()?, row.take()?)))
    };
    let found: Vec<Vec<(TeamId, ApiKeyId)>> =
        sql.run(teams.iter().map(find).collect::<Vec<_>>()).await?;
    let found = found.concat();
    let locks = found.iter().map(|(_, id)| fair::Lock::ApiKey(*id));
    fair::all_alone(sql, locks).await?;
    // Without those that were revoked while this waited.
    let revoke = sql!(
        "UPDATE api_key SET revoked_at = $3 WHERE team_id = $1 AND id = $2 AND revoked_at IS NULL RETURNING team_id, id"
    );
    let revoke = |(team_id, id): &(TeamId, ApiKeyId)| {
        let revoke = revoke.with(values![*team_id, *id, now]);
        revoke.all(|row| Ok((row.take()?, row.take()?)))
    };
    let revoked: Vec<Vec<(TeamId, ApiKeyId)>> = sql
        .run(found.iter().map(revoke).collect::<Vec<_>>())
        .await?;
    let mut revoked = revoked.concat();
    revoked.sort();
    Ok(revoked)
}

/// Deletes at most `limit` keys of a team; returns how many.
pub fn delete_some(team_id: TeamId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM api_key WHERE (team_id, id) IN ( \
             SELECT team_id, id FROM api_key WHERE team_id = $1 LIMIT $2)"
    )
    .with(values![team_id, limit])
}

/// Records when keys were last used, and from which client address; a time before the recorded one changes nothing.
/// Returns the keys that others have locked, whose use is not recorded.
///
/// # Errors
/// As for every script.
pub async fn record_uses(
    sql: Sql<'_>,
    uses: &[(ApiKeyId, Timestamp, Option<IpAddr>)],
) -> Result<Vec<ApiKeyId>, ScriptError> {
    let update = sql!(
        sqlite: [
            "UPDATE api_key SET last_used_at = $2, last_used_from = $3 \
             WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $2)",
        ],
        postgres: [
            "WITH used AS (SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[]) \
                     AS used (id, used_at, used_from)), \
                 locked AS (SELECT api_key.team_id, api_key.id, used_at, used_from FROM api_key JOIN used USING (id) \
                     FOR NO KEY UPDATE OF api_key SKIP LOCKED), \
                 recorded AS (UPDATE api_key SET last_used_at = used_at, last_used_from = used_from FROM locked \
                     WHERE api_key.team_id = locked.team_id AND api_key.id = locked.id \
                     AND (last_used_at IS NULL OR last_used_at <= used_at)) \
             SELECT id FROM api_key JOIN used USING (id) WHERE id NOT IN (SELECT id FROM locked)"
        ],
    );
    let from = |from: &Option<IpAddr>| from.map(|it| it.to_string());
    let places: Vec<_> = uses.iter().map(|(_, _, it)| from(it)).collect();
    let rows = uses.iter().zip(&places);
    let rows = rows.map(|((id, at, _), from)| values![id.0, at, from]);
    if let Sql::Postgres(_) = sql {
        let [ids, times, places] = columns(rows);
        let lists = values![&ids[..], &times[..], &places[..]];
        let busy = update.with(lists).all(|row| Ok(row.take()?));
        return sql.run(busy).await;
    }
    for row in rows {
        sql.run(update.with(row)).await?;
    }
    Ok(Vec::new())
}
