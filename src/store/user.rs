//! Users. A removed one stays, for the share links that name it as their creator.
//!
//! Nobody is let in as a user who is removed or deactivated, by whatever they bring: each statement that lets somebody in asks
//! for that (`OF_ACTIVE` in `session.rs` and `browser_session.rs`, or [`hold_standing`]), so that it counts from the commit on, and
//! what they brought may be deleted later.

use uuid::Uuid;

use super::Batch;
use crate::domain::id::UserId;
use crate::domain::list::Part;
use crate::domain::time::Timestamp;
use crate::domain::user::User;
use crate::sql::{lock, sql, table, values};

table! {
    /// The rows of users.
    pub(super) mod row = "user", key [id];
    ()
    User { id: Uuid, email: Text, name: Text, created_at: Integer, deactivated_at: Integer }
    (
        removed_at: Integer, emptied_at: Integer, session_generation: Integer, browser_generation: Integer,
        swept_generations: Integer,
    )
}

/// Adds a user, unless another has the email, whatever the case of its letters. Says how many were added.
pub fn insert(user: &User) -> impl Batch<Out = u64> {
    sql!(
        sqlite: [row::INSERT, " ON CONFLICT (lower(email)) WHERE removed_at IS NULL DO NOTHING"],
        postgres: [
            row::INSERT,
            " ON CONFLICT (lower(email COLLATE \"C\")) WHERE removed_at IS NULL DO NOTHING",
        ],
    )
    .with(row::values(user))
}

/// Lets nobody make a user before the end of the transaction. In PostgreSQL alone: in SQLite, there is only one writer.
pub fn lock_all() -> impl Batch {
    lock!("LOCK TABLE \"user\" IN SHARE ROW EXCLUSIVE MODE").with(values![])
}

/// Users who are not removed, oldest first.
pub fn list(part: Part<UserId>) -> impl Batch<Out = Vec<User>> {
    let after = part.after.unwrap_or(UserId(Uuid::nil()));
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM \"user\" WHERE id > $1 AND removed_at IS NULL ORDER BY id LIMIT $2"
    )
    .with(values![after, part.limit])
    .all(row::read)
}

/// The user of that id, unless removed.
pub fn find(id: UserId) -> impl Batch<Out = Option<User>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM \"user\" WHERE id = $1 AND removed_at IS NULL"
    )
    .with(values![id])
    .first(row::read)
}

/// The user who has the email, whatever the case of its letters.
pub fn find_email(email: &str) -> impl Batch<Out = Option<User>> {
    sql!(
        sqlite: [
            "SELECT ",
            row::COLUMNS,
            " FROM \"user\" WHERE lower(email) = lower($1) AND removed_at IS NULL",
        ],
        postgres: [
            "SELECT ",
            row::COLUMNS,
            " FROM \"user\" WHERE lower(email COLLATE \"C\") = lower($1 COLLATE \"C\") AND removed_at IS NULL",
        ],
    )
    .with(values![email])
    .first(row::read)
}

/// Whether there is such a user, who is not removed then until the end of the transaction.
pub fn hold(id: UserId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM \"user\" WHERE id = $1 AND removed_at IS NULL FOR SHARE")
        .with(values![id])
        .exists()
}

/// The same, for those who share what they wait with: whatever else becomes of the user meanwhile is not waited for, since
/// nothing but [removal](lock_to_remove) is kept back.
pub fn keep(id: UserId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM \"user\" WHERE id = $1 AND removed_at IS NULL FOR KEY SHARE")
        .with(values![id])
        .exists()
}

/// Whether a user is active, if there is one, who is neither removed nor deactivated nor activated until the end of the
/// transaction.
pub fn hold_standing(id: UserId) -> impl Batch<Out = Option<bool>> {
    sql!(
        "SELECT deactivated_at IS NULL FROM \"user\" WHERE id = $1 AND removed_at IS NULL FOR SHARE"
    )
    .with(values![id])
    .first(|row| Ok(row.take()?))
}

/// Whether there is such a user who is active, now.
pub fn is_active(id: UserId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM \"user\" WHERE id = $1 AND removed_at IS NULL AND deactivated_at IS NULL")
        .with(values![id])
        .exists()
}

/// Lets nobody end all sessions of a user before the end of the transaction, for which a script [locks](lock) the user. In
/// PostgreSQL alone, in front of what looks at a session: that has to see what was committed while this was waited for.
pub fn share(id: UserId) -> impl Batch {
    lock!(
        one: ["SELECT 1 FROM \"user\" WHERE id = $1 FOR SHARE"],
        many(1): ["SELECT id FROM \"user\" WHERE id = ANY($1) ORDER BY id FOR SHARE"],
    )
    .with(values![id])
}

/// Locks a user, for whom nobody adds anything before the end of the transaction.
pub fn lock(id: UserId) -> impl Batch {
    lock!("SELECT 1 FROM \"user\" WHERE id = $1 FOR NO KEY UPDATE").with(values![id])
}

/// The same, and nobody [keeps](keep) the user.
pub fn lock_to_remove(id: UserId) -> impl Batch {
    lock!("SELECT 1 FROM \"user\" WHERE id = $1 FOR UPDATE").with(values![id])
}

/// Marks a user as removed, and forgets email and name. Says how many were. Scripts that hold the user go first.
pub fn remove(id: UserId, now: Timestamp) -> impl Batch<Out = u64> {
    sql!(
        "UPDATE \"user\" SET removed_at = $2, email = '', name = 'Deleted user' \
         WHERE id = $1 AND removed_at IS NULL"
    )
    .with(values![id, now])
}

/// Deactivates or activates a user. Says how many were something else before.
pub fn set_deactivated(id: UserId, at: Option<Timestamp>) -> impl Batch<Out = u64> {
    sql!(
        "UPDATE \"user\" SET deactivated_at = $2 \
         WHERE id = $1 AND (deactivated_at IS NULL) <> ($2 IS NULL) AND removed_at IS NULL"
    )
    .with(values![id, at])
}

/// Removed users of whom something may be left, at most so many.
pub fn list_to_empty(limit: u32) -> impl Batch<Out = Vec<UserId>> {
    sql!(
        "SELECT id FROM \"user\" WHERE removed_at IS NOT NULL AND emptied_at IS NULL ORDER BY id LIMIT $1"
    )
    .with(values![limit])
    .all(|row| Ok(row.take()?))
}

/// Notes that nothing is left of a removed user.
pub fn set_emptied(id: UserId, now: Timestamp) -> impl Batch {
    sql!("UPDATE \"user\" SET emptied_at = $2 WHERE id = $1 AND removed_at IS NOT NULL")
        .with(values![id, now])
}

/// Ends all sessions of apps that a user has, whatever their rows say.
pub fn begin_session_generation(id: UserId) -> impl Batch {
    sql!("UPDATE \"user\" SET session_generation = session_generation + 1 WHERE id = $1")
        .with(values![id])
}

/// The same, of browsers.
pub fn begin_browser_generation(id: UserId) -> impl Batch {
    sql!("UPDATE \"user\" SET browser_generation = browser_generation + 1 WHERE id = $1")
        .with(values![id])
}

/// Users who may have rows of sessions that have ended in this way, at most so many.
pub fn list_to_sweep(limit: u32) -> impl Batch<Out = Vec<UserId>> {
    sql!(
        "SELECT id FROM \"user\" WHERE swept_generations < session_generation + browser_generation \
         ORDER BY id LIMIT $1"
    )
    .with(values![limit])
    .all(|row| Ok(row.take()?))
}

/// Notes that a user, who is locked, has none.
pub fn set_swept(id: UserId) -> impl Batch {
    sql!(
        "UPDATE \"user\" SET swept_generations = session_generation + browser_generation WHERE id = $1"
    )
    .with(values![id])
}

/// Of which generation a user's session of a browser is that begins now. No other generation begins before the end of the
/// transaction.
pub fn hold_browser_generation(id: UserId) -> impl Batch<Out = Option<i64>> {
    sql!("SELECT browser_generation FROM \"user\" WHERE id = $1 FOR SHARE")
        .with(values![id])
        .first(|row| Ok(row.take()?))
}

/// Gives a user another email.
pub fn set_email(id: UserId, email: &str) -> impl Batch {
    sql!("UPDATE \"user\" SET email = $2 WHERE id = $1 AND removed_at IS NULL")
        .with(values![id, email])
}

/// Gives a user another name. Says how many have one.
pub fn set_name(id: UserId, name: &str) -> impl Batch<Out = u64> {
    sql!("UPDATE \"user\" SET name = $2 WHERE id = $1 AND name <> $2 AND removed_at IS NULL")
        .with(values![id, name])
}
