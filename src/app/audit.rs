//! Making and listing audit events ([`crate::domain::audit`]).

use super::App;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent, ListedAuditEvent};
use crate::domain::holder::Holder;
use crate::domain::id::{AuditEventId, TeamId, UserId};
use crate::domain::list::Part;
use crate::domain::member::Role;
use crate::domain::team::Team;
use crate::store::{Sql, audit, team};

use super::member::require_role;

impl App {
    /// An event for something done now. The caller writes it along with the change.
    pub(super) fn event(&self, actor: &Actor, action: Action) -> AuditEvent {
        let now = self.now();
        AuditEvent::new(self.ids.next(now), actor, action, now)
    }

    /// The events of a team, newest first, for a person who manages it.
    ///
    /// # Errors
    /// [`Error::NotAMember`] and [`Error::RoleInsufficient`]; any store error.
    pub async fn list_team_events(
        &self,
        holder: impl Into<Holder>,
        user_id: UserId,
        team_id: TeamId,
        part: Part<AuditEventId>,
    ) -> Result<Vec<ListedAuditEvent>, Error> {
        let calls = async move |sql: Sql<'_>| {
            let events = audit::list_named(team_id, part);
            let (_, events) = sql
                .run((require_role(team_id, user_id, Role::may_manage), events))
                .await?;
            Ok(events)
        };
        self.store.read(holder, calls).await
    }

    /// The events of a team, even a deleted one, or of all teams and of users, newest first, for the operator; no sign-ins.
    ///
    /// # Errors
    /// [`Error::Missing`] for a team of which nothing is known; any store error.
    pub async fn list_audit_events(
        &self,
        team_id: Option<TeamId>,
        part: Part<AuditEventId>,
    ) -> Result<Vec<AuditEvent>, Error> {
        let calls = async move |sql: Sql<'_>| match team_id {
            Some(id) => {
                let (exists, events) = sql.run((team::exists(id), audit::list(id, part))).await?;
                // Events are all that is kept of a deleted team.
                match exists || !events.is_empty() {
                    true => Ok(events),
                    false => Err(Team::missing(id).into()),
                }
            }
            None => sql.run(audit::list_all(part)).await,
        };
        self.store.read(Holder::Service, calls).await
    }
}
