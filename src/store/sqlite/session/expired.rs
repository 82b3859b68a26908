//! What the background task takes away, at most so many rows at a time.

use rusqlite::params;

use crate::domain::Error;
use crate::domain::id::SessionId;
use crate::domain::session::rules::GRACE;
use crate::domain::time::Timestamp;
use crate::store::sqlite::sql::Sql;

/// Erases sealed pairs whose grace does not run `now`.
pub(super) fn erase_successors(sql: Sql<'_>, now: Timestamp, limit: u32) -> Result<u32, Error> {
    let erase = "UPDATE refresh_token SET successor = NULL WHERE digest IN (
                     SELECT digest FROM refresh_token
                     WHERE successor IS NOT NULL AND (spent_at <= ?1 OR spent_at > ?2) LIMIT ?3)";
    let bounds = params![now.before(GRACE), now.after(GRACE), limit];
    Ok(sql.execute(erase, bounds)? as u32) // at most `limit`
}

/// Deletes what nobody can use any more.
pub(super) fn delete(sql: Sql<'_>, now: Timestamp, limit: u32) -> Result<u32, Error> {
    let access_tokens = "DELETE FROM access_token WHERE digest IN (
                             SELECT digest FROM access_token WHERE expires_at <= ?1 LIMIT ?2)";
    let unused_codes = "DELETE FROM auth_code WHERE digest IN (
                            SELECT digest FROM auth_code
                            WHERE session_id IS NULL AND expires_at <= ?1 LIMIT ?2)";
    let over = "SELECT id FROM session WHERE coalesce(ended_at, expires_at) <= ?1 LIMIT ?2";

    let mut left = limit;
    for delete in [access_tokens, unused_codes] {
        left -= sql.execute(delete, params![now, left])? as u32; // at most `left`
    }
    for id in sql.all(over, params![now, left], |row| row.get("id"))? {
        left -= delete_session(sql, id, left)?;
    }
    Ok(limit - left)
}

/// Deletes a session, or as much of what belongs to it as `limit` allows: the session itself goes last.
fn delete_session(sql: Sql<'_>, id: SessionId, limit: u32) -> Result<u32, Error> {
    let mut left = limit;
    for delete in [
        "DELETE FROM access_token WHERE digest IN (
             SELECT digest FROM access_token WHERE session_id = ?1 LIMIT ?2)",
        "DELETE FROM refresh_token WHERE digest IN (
             SELECT digest FROM refresh_token WHERE session_id = ?1 LIMIT ?2)",
        "DELETE FROM auth_code WHERE digest IN (
             SELECT digest FROM auth_code WHERE session_id = ?1 LIMIT ?2)",
    ] {
        left -= sql.execute(delete, params![id, left])? as u32; // at most `left`
    }
    if left > 0 {
        left -= sql.execute("DELETE FROM session WHERE id = ?1", [id])? as u32; // at most one
    }
    Ok(limit - left)
}
