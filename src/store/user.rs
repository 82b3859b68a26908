//! Users. A removed user's row stays, for the share links that name it as their creator.
//!
//! A removed or deactivated user cannot authenticate, whatever the credential: each statement that authenticates checks this
//! (`OF_ACTIVE` in `session.rs` and `browser_session.rs`, or [`hold_standing`]), so that it applies from the commit on, and
//! the credentials may be deleted later.

use std::borrow::Cow;

use uuid::Uuid;

use super::{Batch, fair};
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

/// Adds a user, unless another has the email, ignoring case. Returns how many were added.
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

/// Prevents the creation of users before the end of the transaction. PostgreSQL only: SQLite has only one writer.
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

/// The user with that id, unless removed.
pub fn find(id: UserId) -> impl Batch<Out = Option<User>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM \"user\" WHERE id = $1 AND removed_at IS NULL"
    )
    .with(values![id])
    .first(row::read)
}

/// The user who has the email, ignoring case.
pub fn find_email<'a>(email: impl Into<Cow<'a, str>>) -> impl Batch<Out = Option<User>> {
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
    .with(values![email.into()])
    .first(row::read)
}

/// Whether the user exists; if so, they are not removed before the end of the transaction.
pub fn hold(id: UserId) -> impl Batch<Out = bool> {
    let hold = sql!("SELECT 1 FROM \"user\" WHERE id = $1 AND removed_at IS NULL FOR SHARE")
        .with(values![id])
        .exists();
    (fair::share(fair::Lock::User(id)), hold).rule(|(_, exists)| Ok(exists))
}

/// As [`hold`], for transactions that others wait for: it waits for no other change to the user, since it blocks only
/// [removal](lock_to_remove).
pub fn keep(id: UserId) -> impl Batch<Out = bool> {
    let keep = sql!("SELECT 1 FROM \"user\" WHERE id = $1 AND removed_at IS NULL FOR KEY SHARE")
        .with(values![id])
        .exists();
    (fair::share(fair::Lock::UserRemoval(id)), keep).rule(|(_, exists)| Ok(exists))
}

/// Whether a user is active, if they exist. They are neither removed, deactivated nor activated before the end of the
/// transaction.
pub fn hold_standing(id: UserId) -> impl Batch<Out = Option<bool>> {
    let hold = sql!(
        "SELECT deactivated_at IS NULL FROM \"user\" WHERE id = $1 AND removed_at IS NULL FOR SHARE"
    )
    .with(values![id])
    .first(|row| Ok(row.take()?));
    (fair::share(fair::Lock::User(id)), hold).rule(|(_, is_active)| Ok(is_active))
}

/// Whether the user exists and is active now.
pub fn is_active(id: UserId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM \"user\" WHERE id = $1 AND removed_at IS NULL AND deactivated_at IS NULL")
        .with(values![id])
        .exists()
}

/// Prevents all sessions of a user from being ended before the end of the transaction; a script that ends them [locks](lock)
/// the user. PostgreSQL only. Must precede the statement that looks at a session, which has to see what was committed while
/// this waited.
pub fn share(id: UserId) -> impl Batch {
    let share = lock!("SELECT 1 FROM \"user\" WHERE id = $1 FOR SHARE").with(values![id]);
    (fair::share(fair::Lock::User(id)), share)
}

/// Locks a user, so that nothing is added for them before the end of the transaction.
pub fn lock(id: UserId) -> impl Batch {
    let lock = lock!("SELECT 1 FROM \"user\" WHERE id = $1 FOR NO KEY UPDATE").with(values![id]);
    (fair::alone(fair::Lock::User(id)), lock)
}

/// Once the user is [locked](lock()): keeps others from [keeping](keep) them, too.
pub fn lock_to_remove(id: UserId) -> impl Batch {
    let lock = lock!("SELECT 1 FROM \"user\" WHERE id = $1 FOR UPDATE").with(values![id]);
    (fair::alone(fair::Lock::UserRemoval(id)), lock)
}

/// For a transaction in which the user joins a team: precedes the team's lock.
pub fn share_joins(id: UserId) -> impl Batch {
    fair::share(fair::Lock::UserJoins(id))
}

/// Keeps a user from [joining](share_joins) teams before the end of the transaction.
pub fn lock_joins(id: UserId) -> impl Batch {
    fair::alone(fair::Lock::UserJoins(id))
}

/// Marks a user as removed, and forgets email and name. Returns how many were. Waits for scripts that hold the user.
pub fn remove(id: UserId, now: Timestamp) -> impl Batch<Out = u64> {
    sql!(
        "UPDATE \"user\" SET removed_at = $2, email = '', name = 'Deleted user' \
         WHERE id = $1 AND removed_at IS NULL"
    )
    .with(values![id, now])
}

/// Deactivates or activates a user. Returns how many changed.
pub fn set_deactivated(id: UserId, at: Option<Timestamp>) -> impl Batch<Out = u64> {
    sql!(
        "UPDATE \"user\" SET deactivated_at = $2 \
         WHERE id = $1 AND (deactivated_at IS NULL) <> ($2 IS NULL) AND removed_at IS NULL"
    )
    .with(values![id, at])
}

/// Removed users of whom something may be left, at most `limit`.
pub fn list_to_empty(limit: u32) -> impl Batch<Out = Vec<UserId>> {
    sql!(
        "SELECT id FROM \"user\" WHERE removed_at IS NOT NULL AND emptied_at IS NULL ORDER BY id LIMIT $1"
    )
    .with(values![limit])
    .all(|row| Ok(row.take()?))
}

/// Records that nothing is left of a removed user.
pub fn set_emptied(id: UserId, now: Timestamp) -> impl Batch {
    sql!("UPDATE \"user\" SET emptied_at = $2 WHERE id = $1 AND removed_at IS NOT NULL")
        .with(values![id, now])
}

/// Ends all app sessions of a user, whatever their rows say.
pub fn begin_session_generation(id: UserId) -> impl Batch {
    sql!("UPDATE \"user\" SET session_generation = session_generation + 1 WHERE id = $1")
        .with(values![id])
}

/// Ends all browser sessions of a user, whatever their rows say.
pub fn begin_browser_generation(id: UserId) -> impl Batch {
    sql!("UPDATE \"user\" SET browser_generation = browser_generation + 1 WHERE id = $1")
        .with(values![id])
}

/// Users who may have rows of sessions that were ended in this way, at most `limit`.
pub fn list_to_sweep(limit: u32) -> impl Batch<Out = Vec<UserId>> {
    sql!(
        "SELECT id FROM \"user\" WHERE swept_generations < session_generation + browser_generation \
         ORDER BY id LIMIT $1"
    )
    .with(values![limit])
    .all(|row| Ok(row.take()?))
}

/// Records that a user, who is locked, has none left.
pub fn set_swept(id: UserId) -> impl Batch {
    sql!(
        "UPDATE \"user\" SET swept_generations = session_generation + browser_generation WHERE id = $1"
    )
    .with(values![id])
}

/// The generation of a browser session that the user starts now. No other generation starts before the end of the
/// transaction.
pub fn hold_browser_generation(id: UserId) -> impl Batch<Out = Option<i64>> {
    let hold = sql!("SELECT browser_generation FROM \"user\" WHERE id = $1 FOR SHARE")
        .with(values![id])
        .first(|row| Ok(row.take()?));
    (fair::share(fair::Lock::User(id)), hold).rule(|(_, generation)| Ok(generation))
}

/// Gives a user another email.
pub fn set_email(id: UserId, email: &str) -> impl Batch {
    sql!("UPDATE \"user\" SET email = $2 WHERE id = $1 AND removed_at IS NULL")
        .with(values![id, email])
}

/// Gives a user another name. Returns how many have a new one.
pub fn set_name(id: UserId, name: &str) -> impl Batch<Out = u64> {
    sql!("UPDATE \"user\" SET name = $2 WHERE id = $1 AND name <> $2 AND removed_at IS NULL")
        .with(values![id, name])
}
