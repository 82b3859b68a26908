//! What is around every page: who is signed in, and where else to go.

use super::visit::Visit;
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
