//! The audit ([`crate::domain::audit`]).

use super::App;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent};
use crate::domain::holder::Holder;
use crate::domain::id::{AuditEventId, TeamId};
use crate::domain::list::Part;
use crate::store::{Sql, audit};

use super::team::require_team;

impl App {
    /// Something that is done now; it is written with the change.
    pub(super) fn event(&self, actor: &Actor, action: Action) -> AuditEvent {
        let now = self.now();
        AuditEvent::new(self.ids.next(now), actor, action, now)
    }

    /// What was done in a team, or in all and by users, newest first, for the operator.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown team; what the store answers.
    pub async fn list_audit_events(
        &self,
        team_id: Option<TeamId>,
        part: Part<AuditEventId>,
    ) -> Result<Vec<AuditEvent>, Error> {
        let calls = async move |sql: Sql<'_>| match team_id {
            Some(id) => {
                let ((), events) = sql.run((require_team(id), audit::list(id, part))).await?;
                Ok(events)
            }
            None => sql.run(audit::list_all(part)).await,
        };
        self.store.read(Holder::Service, calls).await
    }
}
