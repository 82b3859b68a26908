//! Teams.

use super::App;
use crate::domain::Error;
use crate::domain::team::Team;
use crate::domain::text::command_text;

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
        self.store.create_team(team.clone()).await?;
        Ok(team)
    }

    /// All teams, oldest first.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn list_teams(&self) -> Result<Vec<Team>, Error> {
        self.store.list_teams().await
    }
}
