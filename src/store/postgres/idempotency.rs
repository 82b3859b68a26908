//! Idempotency records in PostgreSQL.
//!
//! A request claims its key before anything else, with a record that has no answer yet. Whoever comes second
//! waits, on whichever replica, until the first has committed or failed: then it finds the answer, or claims
//! the key itself.

use futures::future::join;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::sql::{Failure, Sql};
use super::values::params;
use crate::app::Error;
use crate::app::idempotency::{AHEAD, IdempotentRequest, LIFETIME, Outcome, Record};
use crate::app::product::Catalog;
use crate::app::time::Timestamp;

/// Makes a change, or answers what the first request like this one got. For use inside a transaction: the record
/// is found, or made, together with the change.
///
/// `decide` says what the change comes to, under the locks that it takes; `write` writes that.
pub(super) async fn once<T: Serialize + DeserializeOwned>(
    sql: &Sql,
    catalog: Catalog,
    request: Option<&IdempotentRequest>,
    now: Timestamp,
    decide: impl Future<Output = Result<T, Failure>>,
    write: impl AsyncFnOnce(&T) -> Result<(), Failure>,
) -> Result<Outcome<T>, Failure> {
    let done = |value, replayed| Ok(Outcome { value, replayed });
    let Some(request) = request else {
        let value = decide.await?;
        write(&value).await?;
        return done(value, false);
    };
    let answer = match claim(sql, catalog, request, now).await? {
        Some(record) => record.replay(request, now)?,
        None => None,
    };
    if let Some(answer) = answer {
        return done(
            serde_json::from_str(&answer).map_err(Error::internal)?,
            true,
        );
    }
    let value = decide.await?;
    let answer = serde_json::to_string(&value).map_err(Error::internal)?;
    // Both to the end: if what is written fails, the record only knows that the transaction has ended.
    let (written, kept) = join(
        write(&value),
        put_answer(sql, catalog, request, answer, now),
    )
    .await;
    written.and(kept)?;
    done(value, false)
}

/// Takes the key for this transaction. The record that is there comes back, locked; none when there was none.
async fn claim(
    sql: &Sql,
    catalog: Catalog,
    request: &IdempotentRequest,
    now: Timestamp,
) -> Result<Option<Record>, Failure> {
    // The update changes nothing: it is there to lock the row and to return it.
    let claim = "INSERT INTO idempotency (team_id, mode, key, request, answer, created_at) \
         VALUES ($1, $2, $3, $4, '', $5) \
         ON CONFLICT (team_id, mode, key) DO UPDATE SET answer = idempotency.answer \
         RETURNING request, answer, created_at";
    let Catalog { team_id, mode } = catalog;
    let values = params![team_id, mode, request.key, request.digest, now];
    let record = sql
        .optional(claim, values, |row| {
            Ok(Record {
                request: row.try_get("request")?,
                answer: row.try_get("answer")?,
                created_at: row.try_get("created_at")?,
            })
        })
        .await?;
    Ok(record.filter(|record| !record.answer.is_empty()))
}

/// Keeps the answer, in place of one that has expired.
async fn put_answer(
    sql: &Sql,
    catalog: Catalog,
    request: &IdempotentRequest,
    answer: String,
    now: Timestamp,
) -> Result<(), Failure> {
    let update = "UPDATE idempotency SET request = $4, answer = $5, created_at = $6 \
         WHERE team_id = $1 AND mode = $2 AND key = $3";
    let Catalog { team_id, mode } = catalog;
    let values = params![team_id, mode, request.key, request.digest, answer, now];
    sql.execute(update, values).await?;
    Ok(())
}

/// Deletes what has expired `now`, and dates what is from the future anew, at most `limit` records together; says how
/// many. Those that somebody has in hand are left for another time.
pub(super) async fn delete_records(sql: &Sql, now: Timestamp, limit: u32) -> Result<u32, Failure> {
    let delete = "DELETE FROM idempotency WHERE (team_id, mode, key) IN \
         (SELECT team_id, mode, key FROM idempotency WHERE created_at <= $1 \
          ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)";
    let date = "UPDATE idempotency SET created_at = $1 WHERE (team_id, mode, key) IN \
         (SELECT team_id, mode, key FROM idempotency WHERE created_at > $2 \
          ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED)";
    let (expired, ahead) = (now.before(LIFETIME), now.after(AHEAD));
    let deleted = sql
        .execute(delete, params![expired, i64::from(limit)])
        .await?;
    let left = i64::from(limit) - deleted as i64; // at most `limit`
    let dated = sql.execute(date, params![now, ahead, left]).await?;
    Ok((deleted + dated) as u32) // at most `limit`
}
