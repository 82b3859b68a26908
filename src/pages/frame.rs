//! The frame around every page: who is signed in, and where else to go.

use super::failure::Failure;
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::id::TeamId;
use crate::domain::member::{Role, RoleRule};

/// The frame around a page.
pub(super) struct Frame {
    /// The name of the signed-in user.
    pub(super) user: Option<String>,
    /// The team that the page is about.
    pub(super) team: Option<FramedTeam>,
}

/// The team of a page.
pub(super) struct FramedTeam {
    pub(super) id: TeamId,
    pub(super) name: String,
    /// The role of the signed-in user there.
    pub(super) role: Role,
}

impl Frame {
    /// Returns the frame of a page that is about no team.
    pub(super) fn of(visit: &Visit) -> Frame {
        Frame {
            user: visit.in_browser.as_ref().map(|it| it.user.name.clone()),
            team: None,
        }
    }

    /// Returns the frame of a team's page.
    pub(super) fn of_team(visit: &Visit, team: FramedTeam) -> Frame {
        Frame {
            team: Some(team),
            ..Frame::of(visit)
        }
    }
}

impl Visit {
    /// Returns a team that the signed-in user belongs to; `id` is as the path has it.
    ///
    /// # Errors
    /// [`Failure::NotFound`] for every other team.
    pub(super) async fn team(&self, id: &str) -> Result<FramedTeam, Failure> {
        self.team_for(id, |_| true).await
    }

    /// The same, for users who manage it.
    ///
    /// # Errors
    /// As for [`team`](Visit::team); [`Error::RoleInsufficient`] for the other members.
    pub(super) async fn managed_team(&self, id: &str) -> Result<FramedTeam, Failure> {
        self.team_for(id, Role::may_manage).await
    }

    /// The same, for users with a role that `may` see it.
    ///
    /// # Errors
    /// As for [`managed_team`](Visit::managed_team).
    pub(super) async fn team_for(&self, id: &str, may: RoleRule) -> Result<FramedTeam, Failure> {
        let user_id = self.user_id()?;
        let id = id.parse().map_err(|_| Failure::NotFound)?;
        let found = self.app().get_membership(id, user_id).await?;
        let role = found.member.role;
        if !may(role) {
            return Err(Error::RoleInsufficient.into());
        }
        self.is_about(id, may);
        Ok(FramedTeam {
            id,
            name: found.team_name,
            role,
        })
    }
}
