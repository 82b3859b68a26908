//! What the background task takes away, at most so many rows at a time. Every replica has such a task, so
//! each leaves alone what somebody else has in hand.

use crate::domain::id::SessionId;
use crate::domain::idempotency::AHEAD;
use crate::domain::session::rules::GRACE;
use crate::domain::time::Timestamp;
use crate::store::postgres::sql::{Failure, Sql};
use crate::store::postgres::values::params;

/// Erases sealed pairs whose grace does not run `now`.
pub(super) async fn erase_successors(
    sql: &Sql,
    now: Timestamp,
    limit: u32,
) -> Result<u32, Failure> {
    let erase = "UPDATE refresh_token SET successor = NULL WHERE digest IN ( \
                     SELECT digest FROM refresh_token \
                     WHERE successor IS NOT NULL AND (spent_at <= $1 OR spent_at > $2) \
                     LIMIT $3 FOR UPDATE SKIP LOCKED)";
    // Another replica's clock may be ahead of ours by some minutes, and its pairs are good all the same.
    let (first, last) = (now.before(GRACE), now.after(AHEAD));
    let erased = sql
        .execute(erase, params![first, last, i64::from(limit)])
        .await?;
    Ok(erased as u32) // at most `limit`
}

/// Deletes what nobody can use any more.
pub(super) async fn delete(sql: &Sql, now: Timestamp, limit: u32) -> Result<u32, Failure> {
    let access_tokens = "DELETE FROM access_token WHERE digest IN ( \
                             SELECT digest FROM access_token WHERE expires_at <= $1 \
                             LIMIT $2 FOR UPDATE SKIP LOCKED)";
    let unused_codes = "DELETE FROM auth_code WHERE digest IN ( \
                            SELECT digest FROM auth_code WHERE session_id IS NULL AND expires_at <= $1 \
                            LIMIT $2 FOR UPDATE SKIP LOCKED)";
    let over = "SELECT id FROM session WHERE coalesce(ended_at, expires_at) <= $1 \
                LIMIT $2 FOR UPDATE SKIP LOCKED";

    let mut left = limit;
    for delete in [access_tokens, unused_codes] {
        left -= sql.execute(delete, params![now, i64::from(left)]).await? as u32; // at most `left`
    }
    let over = sql
        .all(over, params![now, i64::from(left)], |row| row.try_get("id"))
        .await?;
    for id in over {
        left -= delete_session(sql, id, left).await?;
    }
    Ok(limit - left)
}

/// Deletes a session, or as much of what belongs to it as `limit` allows: the session itself goes last.
async fn delete_session(sql: &Sql, id: SessionId, limit: u32) -> Result<u32, Failure> {
    let mut left = limit;
    for delete in [
        "DELETE FROM access_token WHERE digest IN ( \
             SELECT digest FROM access_token WHERE session_id = $1 LIMIT $2)",
        "DELETE FROM refresh_token WHERE digest IN ( \
             SELECT digest FROM refresh_token WHERE session_id = $1 LIMIT $2)",
        "DELETE FROM auth_code WHERE digest IN ( \
             SELECT digest FROM auth_code WHERE session_id = $1 LIMIT $2)",
    ] {
        left -= sql.execute(delete, params![id, i64::from(left)]).await? as u32; // at most `left`
    }
    if left > 0 {
        left -= sql
            .execute("DELETE FROM session WHERE id = $1", params![id])
            .await? as u32; // at most one
    }
    Ok(limit - left)
}
