//! Idempotency records in SQLite.
//!
//! Records are appended to a table that has no other order, and found by a hash of team, mode and key: that is
//! two places to write to for each, one of them always the same. Rowids grow in the order of time, so what has
//! expired is found at the beginning. Where the clock was ahead, the records of that time are put behind all others
//! when they are found there ([`delete_records`]). Where it was ahead for less than an hour, or a copy wrote the records
//! in the order of their keys, some are deleted later, when those before them have expired too.

use aws_lc_rs::digest;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::sql::Sql;
use crate::domain::Error;
use crate::domain::idempotency::{AHEAD, IdempotentRequest, LIFETIME, Outcome, Record};
use crate::domain::product::Catalog;
use crate::domain::time::Timestamp;

/// Executes `change`, or answers what the first request like this one got. For use inside a transaction:
/// the record is found, or made, together with the change.
pub(super) fn once<T: Serialize + DeserializeOwned>(
    sql: Sql<'_>,
    catalog: Catalog,
    request: Option<&IdempotentRequest>,
    now: Timestamp,
    change: impl FnOnce() -> Result<T, Error>,
) -> Result<Outcome<T>, Error> {
    let Some(request) = request else {
        return Ok(Outcome {
            value: change()?,
            replayed: false,
        });
    };
    let record = find_record(sql, catalog, &request.key)?;
    if let Some(answer) = record
        .map(|record| record.replay(request, now))
        .transpose()?
        .flatten()
    {
        let value = serde_json::from_str(&answer).map_err(Error::internal)?;
        return Ok(Outcome {
            value,
            replayed: true,
        });
    }
    let value = change()?;
    let answer = serde_json::to_string(&value).map_err(Error::internal)?;
    put_record(
        sql,
        catalog,
        &request.key,
        &Record {
            request: request.digest,
            answer,
            created_at: now,
        },
    )?;
    Ok(Outcome {
        value,
        replayed: false,
    })
}

/// Defines `hash_key(team_id, mode, key)`, by which a record is found: the first half of the SHA-256 of all
/// three, each with its length in front. It is in SQL because the migration and a copy need it there too.
pub(super) fn define_hash_key(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("hash_key", 3, flags, |arguments| {
        let mut hash = digest::Context::new(&digest::SHA256);
        for at in 0..arguments.len() {
            let field = arguments.get_raw(at).as_bytes()?;
            hash.update(&(field.len() as u64).to_be_bytes());
            hash.update(field);
        }
        Ok(hash.finish().as_ref()[..16].to_vec())
    })
}

fn find_record(sql: Sql<'_>, catalog: Catalog, key: &str) -> Result<Option<Record>, Error> {
    // A hash may be shared, however unlikely: the key itself decides.
    sql.optional(
        "SELECT request, answer, created_at FROM idempotency
         WHERE key_hash = hash_key(?1, ?2, ?3) AND team_id = ?1 AND mode = ?2 AND key = ?3",
        params![catalog.team_id, catalog.mode, key],
        |row| {
            Ok(Record {
                request: row.get(0)?,
                answer: row.get(1)?,
                created_at: row.get(2)?,
            })
        },
    )
}

/// Keeps a record, behind all others, in place of one that has expired.
fn put_record(sql: Sql<'_>, catalog: Catalog, key: &str, record: &Record) -> Result<(), Error> {
    sql.execute(
        "INSERT OR REPLACE INTO idempotency
             (key_hash, team_id, mode, key, request, answer, created_at)
         VALUES (hash_key(?1, ?2, ?3), ?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            catalog.team_id,
            catalog.mode,
            key,
            record.request,
            record.answer,
            record.created_at
        ],
    )?;
    Ok(())
}

/// Looks at the `limit` oldest records: deletes what has expired `now`, and puts what is from the future behind all
/// others, as if it were made now. Says to how many it has seen.
pub(super) fn delete_records(sql: Sql<'_>, now: Timestamp, limit: u32) -> Result<u32, Error> {
    let bounds = "SELECT (SELECT min(rowid) FROM idempotency), (SELECT max(rowid) FROM idempotency), max(rowid)
         FROM (SELECT rowid FROM idempotency ORDER BY rowid LIMIT ?1)";
    let bounds = sql.optional(bounds, [limit], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    let Some((Some(first), Some(last), Some(looked_at))) = bounds else {
        return Ok(0);
    };
    let (first, last, looked_at): (i64, i64, i64) = (first, last, looked_at);
    let deleted = sql.execute(
        "DELETE FROM idempotency WHERE rowid <= ?1 AND created_at <= ?2",
        params![looked_at, now.before(LIFETIME)],
    )?;
    let put_behind = sql.execute(
        "UPDATE idempotency SET rowid = rowid + ?2, created_at = ?3 WHERE rowid <= ?1 AND created_at > ?4",
        params![looked_at, last - first + 1, now, now.after(AHEAD)],
    )?;
    Ok(u32::try_from(deleted + put_behind).unwrap_or(limit))
}
