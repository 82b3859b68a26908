//! Teams in PostgreSQL.

use async_trait::async_trait;
use tokio_postgres::Row;

use super::Postgres;
use super::sql::{Failure, Sql};
use super::values::params;
use crate::domain::Error;
use crate::domain::id::TeamId;
use crate::domain::team::Team;
use crate::store::TeamStore;

#[async_trait]
impl TeamStore for Postgres {
    async fn create_team(&self, team: Team) -> Result<(), Error> {
        let insert = "INSERT INTO team (id, name, created_at) VALUES ($1, $2, $3)";
        let team = &team;
        self.write(|sql| async move {
            sql.execute(insert, params![team.id, team.name, team.created_at])
                .await?;
            Ok(())
        })
        .await
    }

    async fn list_teams(&self) -> Result<Vec<Team>, Error> {
        let select = "SELECT id, name, created_at FROM team ORDER BY id";
        self.read(|sql| async move { sql.all(select, &[], read_team).await })
            .await
    }
}

fn read_team(row: &Row) -> Result<Team, tokio_postgres::Error> {
    Ok(Team {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        created_at: row.try_get("created_at")?,
    })
}

/// Refuses an id that no team has. A team stays for ever, so that nothing has to be locked.
pub(super) async fn require_team(sql: &Sql, id: TeamId) -> Result<(), Failure> {
    match sql
        .exists("SELECT 1 FROM team WHERE id = $1", params![id])
        .await?
    {
        true => Ok(()),
        false => Err(Team::missing(id).into()),
    }
}
