//! Which catalog a page belongs to, and where the pages of a catalog are.
//!
//! `mode` in the query names it, for pages and for what their forms are sent to; without it, it is the live one. So a user
//! who has to sign in first comes back to the same catalog.

use std::fmt;

use crate::domain::author::CatalogMember;
use crate::domain::catalog::{Catalog, Mode};
use crate::domain::member::Role;
use crate::domain::product::StatusFilter;
use crate::pages::failure::Failure;
use crate::pages::frame::FramedTeam;
use crate::pages::text::encoded;
use crate::pages::visit::Visit;

/// One of a team's catalogs, for the signed-in user.
pub(super) struct Shelf {
    pub(super) team: FramedTeam,
    pub(super) member: CatalogMember,
}

impl Shelf {
    /// Returns the catalog of the query; `team` is as the path has it.
    ///
    /// # Errors
    /// As for [`Visit::team`]; [`Failure::NotFound`] for an unknown mode.
    pub(super) async fn of(visit: &Visit, team: &str) -> Result<Shelf, Failure> {
        Shelf::in_mode(visit, visit.team(team)).await
    }

    /// The same, for users who may change it.
    ///
    /// # Errors
    /// As for [`of`](Shelf::of); [`Error::RoleInsufficient`](crate::domain::Error::RoleInsufficient) for viewers.
    pub(super) async fn to_change(visit: &Visit, team: &str) -> Result<Shelf, Failure> {
        Shelf::in_mode(visit, visit.team_for(team, Role::may_write)).await
    }

    async fn in_mode(
        visit: &Visit,
        team: impl Future<Output = Result<FramedTeam, Failure>>,
    ) -> Result<Shelf, Failure> {
        let mode = visit.query("mode");
        let mode = mode.map_or(Ok(Mode::Live), |it| it.parse());
        let mode = mode.map_err(|_| Failure::NotFound)?;
        let team = team.await?;
        let member = CatalogMember {
            catalog: Catalog {
                team_id: team.id,
                mode,
            },
            role: team.role,
            user_id: visit.user_id()?,
            session_id: visit.signed_in()?.session.id,
        };
        Ok(Shelf { team, member })
    }

    /// Returns which products a query asks for: the active ones, unless it says otherwise.
    ///
    /// # Errors
    /// [`Failure::NotFound`] for an unknown status.
    pub(super) fn status(visit: &Visit) -> Result<StatusFilter, Failure> {
        let status = visit.query("status");
        let status = status.map_or(Ok(StatusFilter::Active), |it| it.parse());
        status.map_err(|_| Failure::NotFound)
    }

    pub(super) fn mode(&self) -> Mode {
        self.member.catalog.mode
    }

    /// Where its pages are.
    pub(super) fn at(&self) -> Place {
        Place {
            team: self.team.id.to_string(),
            mode: self.mode(),
        }
    }
}

/// Where the pages of a catalog are: as text, its list.
pub(super) struct Place {
    pub(super) team: String,
    pub(super) mode: Mode,
}

impl Place {
    /// A page below the list, such as `/new`.
    pub(super) fn page(&self, rest: &str) -> String {
        format!("/teams/{}/products{rest}?mode={}", self.team, self.mode)
    }

    /// The list, by status and from a cursor on.
    pub(super) fn list(&self, status: impl fmt::Display, after: Option<&str>) -> String {
        let list = self.page("");
        match after {
            Some(after) => format!("{list}&status={status}&after={}", encoded(after)),
            None => format!("{list}&status={status}"),
        }
    }
}
