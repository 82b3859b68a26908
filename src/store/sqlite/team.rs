//! Teams in SQLite.

use async_trait::async_trait;
use rusqlite::{Row, params};

use super::Sqlite;
use super::sql::Sql;
use crate::domain::Error;
use crate::domain::id::TeamId;
use crate::domain::team::Team;
use crate::store::TeamStore;

#[async_trait]
impl TeamStore for Sqlite {
    async fn create_team(&self, team: Team) -> Result<(), Error> {
        let insert = "INSERT INTO team (id, name, created_at) VALUES (?1, ?2, ?3)";
        self.write(move |sql| {
            sql.execute(insert, params![team.id, team.name, team.created_at])?;
            Ok(())
        })
        .await
    }

    async fn list_teams(&self) -> Result<Vec<Team>, Error> {
        self.read(|sql| {
            sql.all(
                "SELECT id, name, created_at FROM team ORDER BY id",
                [],
                read_team,
            )
        })
    }
}

fn read_team(row: &Row<'_>) -> rusqlite::Result<Team> {
    Ok(Team {
        id: row.get("id")?,
        name: row.get("name")?,
        created_at: row.get("created_at")?,
    })
}

/// Refuses an id that no team has. For use inside a transaction.
pub(super) fn require_team(sql: Sql<'_>, id: TeamId) -> Result<(), Error> {
    sql.optional("SELECT 1 FROM team WHERE id = ?1", params![id], |_| Ok(()))?
        .ok_or_else(|| Team::missing(id))
}
