//! Members: who belongs to which team, and as what.
//!
//! A mobile token names a user and no team; the team comes with each request. So membership is looked
//! up on each request and never remembered: removing a member takes effect at once.

use super::id::{TeamId, UserId};
use super::time::Timestamp;
use super::word::words;
use super::{App, Error};

/// A user's place in a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The team.
    pub team_id: TeamId,
    /// The user.
    pub user_id: UserId,
    /// What the user is in the team.
    pub role: Role,
    /// When the user became a member.
    pub created_at: Timestamp,
}

words! {
    /// What a member is in a team. Each of them may list share links; nothing else that is published
    /// depends on it.
    Role {
        /// Owns the team.
        Owner = "owner",
        /// Runs the team.
        Admin = "admin",
        /// Works in the team.
        Member = "member",
        /// Looks on.
        Viewer = "viewer",
    }
}

impl Member {
    /// The error for a user who is not in the team; the command line shows it.
    pub(crate) fn missing(team_id: TeamId, user_id: UserId) -> Error {
        Error::Refused(format!(
            "user {user_id} is no member of team {team_id}; `invoicing member add` makes them one"
        ))
    }

    /// The error for a user who is in the team already. Adding again does not change the role: that an
    /// owner becomes a viewer should not be a side effect.
    pub(crate) fn exists(team_id: TeamId, user_id: UserId, role: Role) -> Error {
        Error::Refused(format!(
            "user {user_id} is a member of team {team_id} already, as {role}; \
             to change the role, remove the member and add them again"
        ))
    }
}

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
