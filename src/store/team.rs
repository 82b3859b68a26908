//! Teams. One stays for ever, so its existence needs no lock.

use uuid::Uuid;

use super::Batch;
use crate::domain::id::TeamId;
use crate::domain::list::Part;
use crate::domain::team::Team;
use crate::sql::{lock, sql, table, values};

table! {
    /// The rows of teams.
    pub(super) mod row = "team", key [id];
    ()
    Team { id: Uuid, name: Text, created_at: Integer }
    ()
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
        " FROM team WHERE id > $1 ORDER BY id LIMIT $2"
    )
    .with(values![after, part.limit])
    .all(row::read)
}

/// The team of that id.
pub fn find(id: TeamId) -> impl Batch<Out = Option<Team>> {
    sql!("SELECT ", row::COLUMNS, " FROM team WHERE id = $1")
        .with(values![id])
        .first(row::read)
}

/// The teams of that name, oldest first, at most so many. There are few teams, so that nothing orders them by name.
pub fn list_named(name: &str, limit: u32) -> impl Batch<Out = Vec<Team>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM team WHERE name = $1 ORDER BY id LIMIT $2"
    )
    .with(values![name, limit])
    .all(row::read)
}

/// Lets nobody else change who is in the team before the end of the transaction. In PostgreSQL alone: in SQLite, there is only
/// one writer. What refers to the team can be added meanwhile.
pub fn lock(id: TeamId) -> impl Batch {
    lock!("SELECT 1 FROM team WHERE id = $1 FOR NO KEY UPDATE").with(values![id])
}

/// Whether there is such a team.
pub fn exists(id: TeamId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM team WHERE id = $1")
        .with(values![id])
        .exists()
}
