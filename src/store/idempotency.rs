//! Idempotency records.
//!
//! SQLite appends records to a table that has no other order, and finds them by a hash of team, mode and key: each record is
//! written in three places, two of them always the same, since its time is about that of the one before.
//!
//! In PostgreSQL two requests with one key may both find no record, on any replicas. Each writes its record before its
//! change ([`keep`]): the second waits there until the first has committed or failed. Then it starts again, and finds the
//! record, or keeps its own.

use super::{Batch, Sql};
use crate::domain::catalog::Catalog;
use crate::domain::id::TeamId;
use crate::domain::idempotency::{AHEAD, IdempotentRequest, LIFETIME, Record};
use crate::domain::time::Timestamp;
use crate::sql::{ScriptError, lock, sql, table, values};

table! {
    /// The rows of records. SQLite has an additional column, `key_hash`, which is derived from these.
    pub(super) mod row = "idempotency", key [team_id, mode, key];
    (team_id: Uuid, mode: Text, key: Text, request: Bytes, answer: Text, created_at: Integer)
    ()
}

/// The record of a request's key.
pub fn find(catalog: Catalog, request: &IdempotentRequest) -> impl Batch<Out = Option<Record>> {
    sql!(
        // Two keys may share a hash, however unlikely: the key itself decides.
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

/// For an answer that rests on this record, and on no row that is locked: has the commit wait until a synchronous standby has
/// the record, too. A server that crashed shows, once it runs again, also what was still waiting for its standby; and a
/// transaction that neither writes nor locks a row is committed without it. If the standby took over then, what was answered
/// would be gone.
pub fn rely_on<'a>(catalog: Catalog, request: &'a IdempotentRequest) -> impl Batch + use<'a> {
    lock!("SELECT 1 FROM idempotency WHERE team_id = $1 AND mode = $2 AND key = $3 FOR SHARE")
        .with(values![catalog.team_id, catalog.mode, &request.key])
}

/// Keeps the answer to a request, replacing the expired record that was found, if any. If another record has been written
/// meanwhile, the script starts again.
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

/// Deletes at most `limit` records that have expired at `now`, and returns how many. Those that a transaction of PostgreSQL has
/// locked are left.
pub fn delete_expired(now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        sqlite: [
            "DELETE FROM idempotency WHERE rowid IN \
                 (SELECT rowid FROM idempotency WHERE created_at <= $1 ORDER BY created_at LIMIT $2)"
        ],
        postgres: [
            "DELETE FROM idempotency WHERE (team_id, mode, key) IN \
                 (SELECT team_id, mode, key FROM idempotency WHERE created_at <= $1 \
                  ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)"
        ],
    )
    .with(values![now.before(LIFETIME), limit])
}

/// Whether there are records that are dated ahead by more than [`AHEAD`].
pub fn are_ahead(now: Timestamp) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM idempotency WHERE created_at > $1 LIMIT 1")
        .with(values![now.after(AHEAD)])
        .exists()
}

/// Dates at most `limit` of those records `now`, and returns how many; others are left as in [`delete_expired`].
pub fn date_ahead(now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        sqlite: [
            "UPDATE idempotency SET created_at = $1 WHERE rowid IN \
                 (SELECT rowid FROM idempotency WHERE created_at > $2 ORDER BY created_at LIMIT $3)"
        ],
        postgres: [
            "UPDATE idempotency SET created_at = $1 WHERE (team_id, mode, key) IN \
                 (SELECT team_id, mode, key FROM idempotency WHERE created_at > $2 \
                  ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED)"
        ],
    )
    .with(values![now, now.after(AHEAD), limit])
}

/// Deletes the records of a team among the `limit` records behind `after`, a position that the previous step returned;
/// returns the next one, or `None` at the end. SQLite orders its records only by time, so each step looks at those of all
/// teams.
///
/// # Errors
/// As for every script.
pub async fn delete_of_team(
    sql: Sql<'_>,
    team_id: TeamId,
    after: i64,
    limit: u32,
) -> Result<Option<i64>, ScriptError> {
    if let Sql::Postgres(_) = sql {
        let delete = sql!(
            postgres: [
                "DELETE FROM idempotency WHERE (team_id, mode, key) IN \
                     (SELECT team_id, mode, key FROM idempotency WHERE team_id = $1 LIMIT $2)"
            ],
        );
        let deleted = sql.run(delete.with(values![team_id, limit])).await?;
        return Ok((deleted == u64::from(limit)).then_some(after));
    }
    let last = sql!(
        sqlite: ["SELECT max(rowid) FROM (SELECT rowid FROM idempotency WHERE rowid > $1 ORDER BY rowid LIMIT $2)"],
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
    );
    sql.run(delete.with(values![after, last, team_id])).await?;
    Ok(Some(last))
}
