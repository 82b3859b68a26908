//! Members of teams.

use super::App;
use crate::domain::Error;
use crate::domain::id::{TeamId, UserId};
use crate::domain::member::{Member, Role};

impl App {
    /// Makes a user a member of a team.
    ///
    /// # Errors
    /// [`Error::Missing`] for a team or user that does not exist; [`Error::Refused`] for a member.
    pub async fn add_member(
        &self,
        team_id: TeamId,
        user_id: UserId,
        role: Role,
    ) -> Result<Member, Error> {
        let member = Member {
            team_id,
            user_id,
            role,
            created_at: self.now(),
        };
        self.store.add_member(member.clone()).await?;
        Ok(member)
    }

    /// Takes a user out of a team, at once. The user's sessions go on: they may serve other teams.
    ///
    /// # Errors
    /// [`Error::Refused`] when the user is no member.
    pub async fn remove_member(&self, team_id: TeamId, user_id: UserId) -> Result<(), Error> {
        self.store.remove_member(team_id, user_id).await
    }

    /// What the user is in the team, right now.
    ///
    /// # Errors
    /// [`Error::NotAMember`] when the user is no member, or there is no such team: a stranger does not
    /// learn which teams exist.
    pub async fn membership(&self, team_id: TeamId, user_id: UserId) -> Result<Role, Error> {
        let role = self.store.membership(team_id, user_id).await?;
        role.ok_or(Error::NotAMember)
    }
}
