//! Teams.

use super::App;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor};
use crate::domain::holder::Holder;
use crate::domain::id::TeamId;
use crate::domain::input::typed_text;
use crate::domain::list::Part;
use crate::domain::team::{NamedTeam, Team};
use crate::store::{Batch, Sql, audit, team};

impl App {
    /// Makes a team.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that is empty or not plain text; any store error.
    pub async fn create_team(&self, name: &str) -> Result<Team, Error> {
        let name = typed_text("team name", name)?;
        let now = self.now();
        let team = Team {
            id: self.ids.next(now),
            name,
            created_at: now,
        };
        self.add_team(team).await
    }

    /// Teams, oldest first.
    ///
    /// # Errors
    /// Any store error.
    pub async fn list_teams(&self, part: Part<TeamId>) -> Result<Vec<Team>, Error> {
        self.store
            .read(Holder::Service, async move |sql| {
                sql.run(team::list(part)).await
            })
            .await
    }

    /// The team with this id, or with this name if no other team has it.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none, [`Error::Refused`] for a name that several teams have; any store error.
    pub async fn get_team(&self, team: NamedTeam) -> Result<Team, Error> {
        self.store
            .read(Holder::Service, async move |sql| match &team {
                NamedTeam::Id(id) => {
                    let found = sql.run(team::find(*id)).await?;
                    Ok(found.ok_or_else(|| Team::missing(id))?)
                }
                NamedTeam::Name(name) => {
                    // Two are enough to tell that the name is ambiguous.
                    let mut found = sql.run(team::list_named(name, 2)).await?;
                    match found.len() {
                        0 | 1 => Ok(found.pop().ok_or_else(|| Team::missing(name))?),
                        _ => Err(Team::ambiguous(name, &found).into()),
                    }
                }
            })
            .await
    }

    /// Renames a team, for the operator. Returns the team as it is now.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that is empty or not plain text; [`Error::Missing`] for an unknown team; any store
    /// error.
    pub async fn rename_team(&self, id: TeamId, name: &str) -> Result<Team, Error> {
        let name = typed_text("team name", name)?;
        let event = self.event(&Actor::Operator, Action::RenameTeam);
        let event = event.in_team(id).to(id.0);
        let rename = async move |sql: Sql<'_>| {
            // Locked in any case, so that the commit waits for a synchronous standby. A name that stays the same leaves no event.
            let (_, renamed) = sql.run((team::lock(id), team::set_name(id, &name))).await?;
            if renamed > 0 {
                sql.run(audit::insert(&event)).await?;
            }
            let found = sql.run(team::find(id)).await?;
            Ok(found.ok_or_else(|| Team::missing(id))?)
        };
        self.store.write(Holder::Service, rename).await
    }

    /// Adds a team exactly as given.
    pub(crate) async fn add_team(&self, team: Team) -> Result<Team, Error> {
        let event = self.event(&Actor::Operator, Action::CreateTeam);
        let event = event.in_team(team.id).to(team.id.0);
        self.store
            .write(Holder::Service, async move |sql| {
                sql.run((team::insert(&team), audit::insert(&event)))
                    .await?;
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
