//! Teams. One stays for ever, so its existence needs no lock.

use super::Batch;
use crate::domain::id::TeamId;
use crate::domain::team::Team;
use crate::sql::{sql, table, values};

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

/// All teams, oldest first.
pub fn list() -> impl Batch<Out = Vec<Team>> {
    sql!("SELECT ", row::COLUMNS, " FROM team ORDER BY id")
        .with([])
        .all(row::read)
}

/// Whether there is such a team.
pub fn exists(id: TeamId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM team WHERE id = $1")
        .with(values![id])
        .exists()
}
