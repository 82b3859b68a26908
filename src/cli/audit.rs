//! `invoicing audit`: what was done, by whom, when and from where.

use crate::app::App;
use crate::domain::audit::AuditEvent;
use crate::domain::id::AuditEventId;
use crate::domain::team::NamedTeam;

use super::command_error::CommandError;
use super::output::Output;
use super::part::PartOf;
use super::record::Record;

/// Audit log: what was done in the last 400 days, by whom, when and from where.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Audit {
    /// Lists what was done in a team, or in all teams and by users, newest first.
    ///
    /// Sign-ins are shown only to the user they belong to.
    List {
        /// The team, by its name or its id (a deleted team by its id); by default, everything is listed.
        #[arg(long, value_name = "TEAM")]
        team: Option<NamedTeam>,
        #[command(flatten)]
        part: PartOf<AuditEventId>,
    },
}

impl Audit {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        let Self::List { team, part } = self;
        let named: &[&str] = if team.is_some() { &["teamId"] } else { &[] };
        let team = match team {
            // A deleted team is only known by its id.
            Some(NamedTeam::Id(id)) => Some(id),
            Some(team) => Some(app.get_team(team).await?.id),
            None => None,
        };
        let events = app.list_audit_events(team, part.part()).await?;
        let records = events.into_iter().map(record);
        let records = records.map(|record| record.without_columns(named));
        Ok(part.list(records.collect(), "id"))
    }
}

/// Without `userId` if the command line did it.
fn record(event: AuditEvent) -> Record {
    Record::default()
        .with_text("id", event.id)
        .with_optional("teamId", event.team_id)
        .with_text("action", event.action)
        .with_optional("userId", event.actor)
        .with_optional("subject", event.subject)
        .with_optional("detail", event.detail)
        .with_optional("clientAddress", event.client_address)
        .with_optional("userAgent", event.user_agent)
        .with_distant_time("createdAt", Some(event.created_at))
}
