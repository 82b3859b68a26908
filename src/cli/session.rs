//! `invoicing session`: the devices that a user is signed in on.

use crate::app::App;
use crate::domain::id::{SessionId, UserId};
use crate::domain::session;

use super::command_error::CommandError;
use super::output::{Output, Record};

/// Sessions: the devices that a user is signed in on.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Session {
    /// Lists the sessions of a user that are alive, newest first.
    List {
        /// The user.
        #[arg(long, value_name = "ID")]
        user: UserId,
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
            Self::List { user } => Ok(Output::list(
                app.list_sessions(user).await?.into_iter().map(record),
            )),
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
        .with_text("createdAt", session.created_at)
        .with_text("lastUsedAt", session.last_used_at)
        .with_text("expiresAt", session.expires_at)
}
