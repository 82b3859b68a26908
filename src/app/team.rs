//! Teams.

use super::App;
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::id::TeamId;
use crate::domain::input::command_text;
use crate::domain::team::Team;
use crate::store::{Batch, team};

impl App {
    /// Makes a team.
    ///
    /// # Errors
    /// [`Error::Refused`] for a name that is empty or not plain text; what the store answers.
    pub async fn create_team(&self, name: &str) -> Result<Team, Error> {
        let name = command_text("team name", name)?;
        let now = self.now();
        let team = Team {
            id: self.ids.next(now),
            name,
            created_at: now,
        };
        self.add_team(team).await
    }

    /// All teams, oldest first.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn list_teams(&self) -> Result<Vec<Team>, Error> {
        self.store
            .read(Holder::Service, async move |sql| {
                sql.run(team::list()).await
            })
            .await
    }

    /// Adds a team that is all as given.
    pub(crate) async fn add_team(&self, team: Team) -> Result<Team, Error> {
        self.store
            .write(Holder::Service, async move |sql| {
                sql.run(team::insert(&team)).await?;
                Ok(team.clone())
            })
            .await
    }
}

/// Refuses an id that no team has.
pub(super) fn require_team(id: TeamId) -> impl Batch<Out = ()> {
    team::exists(id).rule(move |exists| match exists {
        true => Ok(()),
        false => Err(Team::missing(id)),
    })
}
