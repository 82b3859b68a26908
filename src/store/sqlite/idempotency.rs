//! Idempotency records in SQLite.

use rusqlite::params;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::sql::Sql;
use crate::app::Error;
use crate::app::idempotency::{IdempotentRequest, Outcome, Record};
use crate::app::product::Catalog;
use crate::app::time::Timestamp;

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

fn find_record(sql: Sql<'_>, catalog: Catalog, key: &str) -> Result<Option<Record>, Error> {
    sql.optional(
        "SELECT request, answer, created_at FROM idempotency
         WHERE team_id = ?1 AND mode = ?2 AND key = ?3",
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

/// Keeps a record, in place of one that has expired.
fn put_record(sql: Sql<'_>, catalog: Catalog, key: &str, record: &Record) -> Result<(), Error> {
    sql.execute(
        "INSERT INTO idempotency (team_id, mode, key, request, answer, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (team_id, mode, key) DO UPDATE SET
             request = excluded.request, answer = excluded.answer, created_at = excluded.created_at",
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

/// Deletes at most `limit` records made at or before `made_by`; says how many.
pub(super) fn delete_records(sql: Sql<'_>, made_by: Timestamp, limit: u32) -> Result<u32, Error> {
    let deleted = sql.execute(
        "DELETE FROM idempotency WHERE rowid IN
             (SELECT rowid FROM idempotency WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2)",
        params![made_by, limit],
    )?;
    Ok(u32::try_from(deleted).unwrap_or(limit))
}
