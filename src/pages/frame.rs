//! What is around every page: who is signed in, and where else to go.

use super::failure::Failure;
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::id::TeamId;
use crate::domain::member::Role;

/// What is around a page.
pub(super) struct Frame {
    /// Who is signed in, by name.
    pub(super) user: Option<String>,
    /// The team that the page is about.
    pub(super) team: Option<FramedTeam>,
}

/// A team around a page of its own.
pub(super) struct FramedTeam {
    pub(super) id: TeamId,
    pub(super) name: String,
    /// What whoever is signed in is there.
    pub(super) role: Role,
}

impl Frame {
    /// Around a page that is about no team.
    pub(super) fn of(visit: &Visit) -> Frame {
        Frame {
            user: visit.in_browser.as_ref().map(|it| it.user.name.clone()),
            team: None,
        }
    }

    /// Around a page of a team.
    pub(super) fn of_team(visit: &Visit, team: FramedTeam) -> Frame {
        Frame {
            team: Some(team),
            ..Frame::of(visit)
        }
    }
}

impl Visit {
    /// A team that whoever is signed in belongs to; `id` as the path has it.
    ///
    /// # Errors
    /// [`Failure::NotFound`] for every other team.
    pub(super) async fn team(&self, id: &str) -> Result<FramedTeam, Failure> {
        let user_id = self.user_id()?;
        let id = id.parse().map_err(|_| Failure::NotFound)?;
        let found = self.app().get_membership(id, user_id).await?;
        Ok(FramedTeam {
            id,
            name: found.team_name,
            role: found.member.role,
        })
    }

    /// The same, for whoever manages it.
    ///
    /// # Errors
    /// As of [`team`](Visit::team); [`Error::RoleInsufficient`] for the other members.
    pub(super) async fn managed_team(&self, id: &str) -> Result<FramedTeam, Failure> {
        let team = self.team(id).await?;
        match team.role.may_manage() {
            true => Ok(team),
            false => Err(Error::RoleInsufficient.into()),
        }
    }
}
