//! `invoicing session`: the devices that a user is signed in on.

use crate::app::App;
use crate::domain::id::SessionId;
use crate::domain::oauth_client::ClientId;
use crate::domain::session;
use crate::domain::user::NamedUser;

use super::command_error::CommandError;
use super::output::Output;
use super::part::PartOf;
use super::record::Record;

/// Sessions: the devices that a user is signed in on.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Session {
    /// Lists a user's active sessions, or all active ones, newest first.
    List {
        /// The user, by email or id; by default, all users.
        #[arg(long, value_name = "USER")]
        user: Option<NamedUser>,
        #[command(flatten)]
        part: PartOf<SessionId>,
    },
    /// Shows an active session.
    Show {
        /// The session's id, as shown by `session list`.
        id: SessionId,
    },
    /// Signs out one device, all devices of a user, or all users of an app.
    ///
    /// Their tokens are refused from the next request on. With --user, the browsers are signed out, too. Anyone who can sign
    /// in may do so again.
    #[command(after_help = r#"Examples:
    invoicing session revoke 0198c5b2-7d3c-7a44-9c58-2f6d1b0e8a11
    invoicing session revoke --user ada@example.com
    invoicing session revoke --client mobile"#)]
    Revoke(Which),
}

/// Which sessions are ended: one, those of a user, or those of an app.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Which {
    /// The session's id, as shown by `session list`.
    id: Option<SessionId>,
    /// The user to sign out everywhere, by email or id.
    #[arg(long, value_name = "USER")]
    user: Option<NamedUser>,
    /// The app to sign every user out of.
    #[arg(long, value_name = "ID")]
    client: Option<ClientId>,
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
            Self::Revoke(which) => which.revoke(app).await,
        }
    }
}

impl Which {
    async fn revoke(self, app: &App) -> Result<Output, CommandError> {
        let record = Record::default();
        let record = match (self.id, self.user, self.client) {
            (Some(id), ..) => {
                app.revoke_session(id).await?;
                record.with_text("id", id)
            }
            (_, Some(user), _) => {
                let id = app.get_user(user).await?.id;
                let ended = app.revoke_sessions_of_user(id).await?;
                record
                    .with_text("id", id)
                    .with("endedSessions", ended.apps)
                    .with("endedBrowserSessions", ended.browsers)
            }
            (.., Some(id)) => {
                let ended = app.revoke_sessions_of_client(&id).await?;
                record.with_text("id", id).with("endedSessions", ended)
            }
            _ => {
                let which = "give a session's id, --user or --client";
                return Err(CommandError::Usage(which.into()));
            }
        };
        Ok(record.into())
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
