//! Idempotency records.
//!
//! In SQLite records are appended to a table that has no other order, and found by a hash of team, mode and key: that is
//! two places to write to for each, one of them always the same. Rowids grow in the order of time, so what has expired is
//! found at the beginning. Where the clock was ahead, the records of that time are put behind all others when they are found
//! there ([`delete_expired`]). Where it was ahead for less than an hour, or a copy wrote the records in the order of their
//! keys, some are deleted later, when those before them have expired too.
//!
//! In PostgreSQL two requests under one key may both find no record, whichever replicas they came to. Each writes its record
//! before its change ([`keep`]): the second waits there until the first has committed or failed. Then it begins anew, and
//! finds the record, or keeps its own.

use super::{Batch, Sql};
use crate::domain::catalog::Catalog;
use crate::domain::id::TeamId;
use crate::domain::idempotency::{AHEAD, IdempotentRequest, LIFETIME, Record};
use crate::domain::time::Timestamp;
use crate::sql::{ScriptError, sql, table, values};

table! {
    /// The rows of records. SQLite has a column more, `key_hash`, which follows from these.
    pub(super) mod row = "idempotency", key [team_id, mode, key];
    (team_id: Uuid, mode: Text, key: Text, request: Bytes, answer: Text, created_at: Integer)
    ()
}

/// The record of the key of a request.
pub fn find(catalog: Catalog, request: &IdempotentRequest) -> impl Batch<Out = Option<Record>> {
    sql!(
        // A hash may be shared, however unlikely: the key itself decides.
        sqlite: [
            "SELECT request, answer, created_at FROM idempotency \
             WHERE key_hash = hash_key($1, $2, $3) AND team_id = $1 AND mode = $2 AND key = $3"
        ],
        postgres: [
            "SELECT request, answer, created_at FROM idempotency \
             WHERE team_id = $1 AND mode = $2 AND key = $3"
        ],
        many(3): [
            "SELECT request, answer, created_at, of_team, in_mode, asked_key \
             FROM unnest($1::uuid[], $2::text[], $3::text[]) AS asked (of_team, in_mode, asked_key), LATERAL \
                 (SELECT * FROM idempotency \
                  WHERE team_id = of_team AND mode = in_mode AND key = asked_key OFFSET 0) AS found"
        ],
    )
    .with(values![catalog.team_id, catalog.mode, &request.key])
    .first(|row| {
        Ok(Record {
            request: row.take()?,
            answer: row.take()?,
            created_at: row.take()?,
        })
    })
}

/// Keeps the answer to a request in place of the record that was found, which has expired, if there was one. Where there is
/// another by now, the script begins anew.
pub fn keep<'a>(
    catalog: Catalog,
    request: &'a IdempotentRequest,
    answer: &'a str,
    (now, found): (Timestamp, Option<Timestamp>),
) -> impl Batch {
    sql!(
        sqlite: [
            "INSERT OR REPLACE INTO idempotency \
                 (key_hash, team_id, mode, key, request, answer, created_at) \
             VALUES (hash_key($1, $2, $3), $1, $2, $3, $4, $5, $6)"
        ],
        postgres: [
            row::INSERT,
            " ON CONFLICT (team_id, mode, key) DO UPDATE SET request = $4, answer = $5, created_at = $6 \
             WHERE idempotency.created_at = $7"
        ],
        many(3): [
            "INSERT INTO idempotency (team_id, mode, key, request, answer, created_at) \
             SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::bigint[]) \
             ON CONFLICT (team_id, mode, key) DO UPDATE SET \
                 request = excluded.request, answer = excluded.answer, created_at = excluded.created_at \
             WHERE (idempotency.team_id, idempotency.mode, idempotency.key, idempotency.created_at) \
                 IN (SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $7::bigint[])) \
             RETURNING team_id, mode, key"
        ],
    )
    .with(values![
        catalog.team_id,
        catalog.mode,
        &request.key,
        &request.digest,
        answer,
        now,
        found
    ])
    .rule_or_retry(|kept| match kept {
        0 => Err(ScriptError::Retry("another request has kept its answer under this key".into())),
        _ => Ok(()),
    })
}

/// Sees to at most `limit` records, and says to how many: those that have expired `now` are deleted, and those that lie
/// ahead by more than [`AHEAD`] are dated `now`.
///
/// # Errors
/// As every script.
pub async fn delete_expired(sql: Sql<'_>, now: Timestamp, limit: u32) -> Result<u32, ScriptError> {
    let (expired, ahead) = (now.before(LIFETIME), now.after(AHEAD));
    let seen_to = match sql {
        Sql::Sqlite(_) => delete_oldest(sql, now, expired, ahead, limit).await?,
        Sql::Postgres(_) => delete_some(sql, now, expired, ahead, limit).await?,
    };
    Ok(u32::try_from(seen_to).unwrap_or(limit))
}

/// Looks at the `limit` oldest records of SQLite. Those of the future are put behind all others.
async fn delete_oldest(
    sql: Sql<'_>,
    now: Timestamp,
    expired: Timestamp,
    ahead: Timestamp,
    limit: u32,
) -> Result<u64, ScriptError> {
    let bounds = sql!(
        sqlite: [
            "SELECT (SELECT min(rowid) FROM idempotency), (SELECT max(rowid) FROM idempotency), max(rowid) \
             FROM (SELECT rowid FROM idempotency ORDER BY rowid LIMIT $1)"
        ],
        postgres: [""],
    );
    let bounds = bounds
        .with(values![limit])
        .first(|row| Ok((row.take()?, row.take()?, row.take()?)));
    let Some((Some(first), Some(last), Some(looked_at))) = sql.run(bounds).await? else {
        return Ok(0);
    };
    let (first, last, looked_at): (i64, i64, i64) = (first, last, looked_at);
    let delete = sql!(
        sqlite: ["DELETE FROM idempotency WHERE rowid <= $1 AND created_at <= $2"],
        postgres: [""],
    );
    let put_behind = sql!(
        sqlite: [
            "UPDATE idempotency SET rowid = rowid + $2, created_at = $3 \
             WHERE rowid <= $1 AND created_at > $4"
        ],
        postgres: [""],
    );
    let (deleted, put_behind) = sql
        .run((
            delete.with(values![looked_at, expired]),
            put_behind.with(values![looked_at, last - first + 1, now, ahead]),
        ))
        .await?;
    Ok(deleted + put_behind)
}

/// Deletes expired records of PostgreSQL, but none that a transaction has locked.
async fn delete_some(
    sql: Sql<'_>,
    now: Timestamp,
    expired: Timestamp,
    ahead: Timestamp,
    limit: u32,
) -> Result<u64, ScriptError> {
    let delete = sql!(
        sqlite: [""],
        postgres: [
            "DELETE FROM idempotency WHERE (team_id, mode, key) IN \
                 (SELECT team_id, mode, key FROM idempotency WHERE created_at <= $1 \
                  ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)"
        ],
    );
    let date = sql!(
        sqlite: [""],
        postgres: [
            "UPDATE idempotency SET created_at = $1 WHERE (team_id, mode, key) IN \
                 (SELECT team_id, mode, key FROM idempotency WHERE created_at > $2 \
                  ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED)"
        ],
    );
    let deleted = sql.run(delete.with(values![expired, limit])).await?;
    let left = i64::from(limit) - deleted.cast_signed(); // at most `limit`
    let dated = sql.run(date.with(values![now, ahead, left])).await?;
    Ok(deleted + dated)
}

/// Deletes the records of a team among the `limit` records behind `after`, a place that the step before has answered; answers
/// the next, and none at the end. SQLite has its records in the order of time alone, so that each step looks at those of all
/// teams.
///
/// # Errors
/// As every script.
pub async fn delete_of_team(
    sql: Sql<'_>,
    team_id: TeamId,
    after: i64,
    limit: u32,
) -> Result<Option<i64>, ScriptError> {
    if let Sql::Postgres(_) = sql {
        let delete = sql!(
            sqlite: [""],
            postgres: [
                "DELETE FROM idempotency WHERE team_id = $1 AND (mode, key) IN \
                     (SELECT mode, key FROM idempotency WHERE team_id = $1 LIMIT $2)"
            ],
        );
        let deleted = sql.run(delete.with(values![team_id, limit])).await?;
        return Ok((deleted == u64::from(limit)).then_some(after));
    }
    let last = sql!(
        sqlite: ["SELECT max(rowid) FROM (SELECT rowid FROM idempotency WHERE rowid > $1 ORDER BY rowid LIMIT $2)"],
        postgres: [""],
    );
    let last = last
        .with(values![after, limit])
        .first(|row| Ok(row.take()?));
    let Some(Some(last)) = sql.run(last).await? else {
        return Ok(None);
    };
    let last: i64 = last;
    let delete = sql!(
        sqlite: ["DELETE FROM idempotency WHERE rowid > $1 AND rowid <= $2 AND team_id = $3"],
        postgres: [""],
    );
    sql.run(delete.with(values![after, last, team_id])).await?;
    Ok(Some(last))
}
