//! Teams. A deleted team keeps its row but no longer counts as a team: adding something to a team locks it first.

use uuid::Uuid;

use super::Batch;
use crate::domain::id::TeamId;
use crate::domain::list::Part;
use crate::domain::team::Team;
use crate::domain::time::Timestamp;
use crate::sql::{lock, sql, table, values};

table! {
    /// The rows of teams.
    pub(super) mod row = "team", key [id];
    ()
    Team { id: Uuid, name: Text, created_at: Integer }
    (deleted_at: Integer, emptied_at: Integer)
}

/// Adds a team.
pub fn insert(team: &Team) -> impl Batch {
    sql!(row::INSERT).with(row::values(team))
}

/// Teams, oldest first.
pub fn list(part: Part<TeamId>) -> impl Batch<Out = Vec<Team>> {
    let after = part.after.unwrap_or(TeamId(Uuid::nil()));
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM team WHERE id > $1 AND deleted_at IS NULL ORDER BY id LIMIT $2"
    )
    .with(values![after, part.limit])
    .all(row::read)
}

/// The team with that id.
pub fn find(id: TeamId) -> impl Batch<Out = Option<Team>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM team WHERE id = $1 AND deleted_at IS NULL"
    )
    .with(values![id])
    .first(row::read)
}

/// The teams with that name, oldest first, at most `limit`. There are few teams, so no index orders them by name.
pub fn list_named(name: &str, limit: u32) -> impl Batch<Out = Vec<Team>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM team WHERE name = $1 AND deleted_at IS NULL ORDER BY id LIMIT $2"
    )
    .with(values![name, limit])
    .all(row::read)
}

/// Prevents other changes of who is in the team before the end of the transaction. PostgreSQL only: SQLite has only one
/// writer. Rows that refer to the team can be added meanwhile.
pub fn lock(id: TeamId) -> impl Batch {
    lock!("SELECT 1 FROM team WHERE id = $1 FOR NO KEY UPDATE").with(values![id])
}

/// Whether the team exists.
pub fn exists(id: TeamId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM team WHERE id = $1 AND deleted_at IS NULL")
        .with(values![id])
        .exists()
}

/// Gives a team another name. Returns how many have a new one.
pub fn set_name(id: TeamId, name: &str) -> impl Batch<Out = u64> {
    sql!("UPDATE team SET name = $2 WHERE id = $1 AND name <> $2 AND deleted_at IS NULL")
        .with(values![id, name])
}

/// Marks a team as deleted: from the commit on it is not a team. Returns how many were teams before.
pub fn delete(id: TeamId, now: Timestamp) -> impl Batch<Out = u64> {
    sql!("UPDATE team SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL")
        .with(values![id, now])
}

/// Deleted teams of which something may be left, oldest first, at most `limit`.
pub fn list_to_empty(limit: u32) -> impl Batch<Out = Vec<Team>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM team WHERE deleted_at IS NOT NULL AND emptied_at IS NULL ORDER BY id LIMIT $1"
    )
    .with(values![limit])
    .all(row::read)
}

/// Records that nothing is left of a deleted team, not even the name.
pub fn set_emptied(id: TeamId, now: Timestamp) -> impl Batch {
    sql!("UPDATE team SET emptied_at = $2, name = '' WHERE id = $1 AND deleted_at IS NOT NULL")
        .with(values![id, now])
}
