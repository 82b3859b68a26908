//! `invoicing session`: the devices that a user is signed in on.

use crate::app::App;
use crate::domain::id::SessionId;
use crate::domain::session;
use crate::domain::user::NamedUser;

use super::command_error::CommandError;
use super::output::Output;
use super::part::PartOf;
use super::record::Record;

/// Sessions: the devices that a user is signed in on.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Session {
    /// Lists the sessions of a user, or of all, that are alive, newest first.
    List {
        /// The user, by email or id; without this, all of them.
        #[arg(long, value_name = "USER")]
        user: Option<NamedUser>,
        #[command(flatten)]
        part: PartOf<SessionId>,
    },
    /// Shows a session that is alive.
    Show {
        /// The session's id, as the list shows it.
        id: SessionId,
    },
    /// Signs a device out, at once: its tokens are refused from the next request on.
    Revoke {
        /// The session's id, as the list shows it.
        id: SessionId,
    },
}

impl Session {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::List { user, part } => {
                let named: &[&str] = if user.is_some() { &["userId"] } else { &[] };
                let user = match user {
                    Some(user) => Some(app.get_user(user).await?.id),
                    None => None,
                };
                let sessions = app.list_sessions(user, part.part()).await?;
                let records = sessions.into_iter().map(record);
                let records = records.map(|record| record.without_columns(named));
                Ok(part.list(records.collect(), "id"))
            }
            Self::Show { id } => Ok(record(app.get_session(id).await?).into()),
            Self::Revoke { id } => {
                app.revoke_session(id).await?;
                Ok(Record::default().with_text("id", id).into())
            }
        }
    }
}

fn record(session: session::Session) -> Record {
    Record::default()
        .with_text("id", session.id)
        .with_text("userId", session.user_id)
        .with_text("clientId", session.client_id)
        .with_optional("installId", session.install_id)
        .with_optional("userAgent", session.user_agent)
        .with_time("createdAt", session.created_at)
        .with_distant_time("lastUsedAt", Some(session.last_used_at))
        .with_distant_time("expiresAt", Some(session.expires_at))
}
