//! Teams: whose catalog, whose keys, whose files.

use super::id::TeamId;
use super::time::Timestamp;
use super::{App, Error};

/// A team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    /// Identifies it.
    pub id: TeamId,
    /// What people call it; not unique.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Team {
    /// The error for an id that no team has; the command line shows it.
    pub(crate) fn missing(id: TeamId) -> Error {
        let remedy = "`invoicing team list` shows the teams";
        Error::Missing {
            noun: "team",
            id: id.to_string(),
            remedy,
        }
    }
}

impl App {
    /// Makes a team.
    ///
    /// # Errors
    /// [`Error::Refused`] for a name that is empty or not plain text; what the store answers.
    pub async fn create_team(&self, name: &str) -> Result<Team, Error> {
        let name = super::command_text("team name", name)?;
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
