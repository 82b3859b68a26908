//! What a store keeps of teams.

use async_trait::async_trait;

use crate::domain::Error;
use crate::domain::team::Team;

/// Teams in the store.
#[async_trait]
pub trait TeamStore {
    /// Adds a team.
    ///
    /// # Errors
    /// As every change: see the promises of [`crate::store`].
    async fn create_team(&self, team: Team) -> Result<(), Error>;

    /// All teams, oldest first.
    ///
    /// # Errors
    /// As every read.
    async fn list_teams(&self) -> Result<Vec<Team>, Error>;
}
