//! `invoicing api-key`: what a team's integrations present instead of a password.

use crate::app::App;
use crate::domain::api_key::{ApiKey as Key, Scope};
use crate::domain::catalog::Mode;
use crate::domain::id::{ApiKeyId, TeamId};
use crate::settings::Span;

use super::command_error::CommandError;
use super::output::{Output, Record};

/// API keys: a team's integrations call the catalog API with one.
#[derive(Debug, clap::Subcommand)]
pub(super) enum ApiKey {
    /// Makes a key and prints it, this once: the database keeps a hash.
    #[command(after_help = r#"Examples:
    invoicing api-key create --team ID --mode live --scope read-write --name "Web shop"
    invoicing api-key create --team ID --mode test --scope read-only --expires-in 90d

To keep the key out of the terminal's history:
    invoicing api-key create --team ID --mode live --scope read-write --json | jq -r .key > key"#)]
    Create {
        /// The team that the key acts for.
        #[arg(long, value_name = "ID")]
        team: TeamId,
        /// Which of the team's two catalogs it sees: the real one, or the one to try things with.
        #[arg(long, value_name = "live|test")]
        mode: Mode,
        /// What it may do: only GET, or everything.
        #[arg(long, value_name = "read-only|read-write")]
        scope: Scope,
        /// What people call it, to recognize it in the list.
        #[arg(long)]
        name: Option<String>,
        /// How long it is valid, such as 12h or 90d; without this, until it is revoked.
        #[arg(long, value_name = "SPAN")]
        expires_in: Option<Span>,
    },
    /// Lists the keys of a team, oldest first, without the keys themselves.
    List {
        /// The team.
        #[arg(long, value_name = "ID")]
        team: TeamId,
    },
    /// Ends a key for ever; when this returns, all running servers refuse it.
    Revoke {
        /// The key's id, as the list shows it; not the key.
        id: ApiKeyId,
    },
}

impl ApiKey {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Create {
                team,
                mode,
                scope,
                name,
                expires_in,
            } => {
                let expires_in = expires_in.map(Span::duration);
                let (key, secret) = app
                    .create_api_key(team, mode, scope, name.as_deref(), expires_in)
                    .await?;
                let id = Record::default()
                    .with_text("id", key.id)
                    .with("key", secret.reveal());
                Ok(Output::from(describe(id, &key))
                    .with_note("this is the only time that the key is shown; keep it now"))
            }
            Self::List { team } => Ok(Output::list(
                app.list_api_keys(team).await?.iter().map(record),
            )),
            Self::Revoke { id } => Ok(record(&app.revoke_api_key(id).await?).into()),
        }
    }
}

fn record(key: &Key) -> Record {
    let record = describe(Record::default().with_text("id", key.id), key);
    record
        .with_optional("revokedAt", key.revoked_at)
        .with_optional("lastUsedAt", key.last_used_at)
}

fn describe(record: Record, key: &Key) -> Record {
    record
        .with_text("teamId", key.team_id)
        .with_text("mode", key.mode)
        .with_text("scope", key.scope)
        .with_optional("name", key.name.as_ref())
        .with_text("createdAt", key.created_at)
        .with_optional("expiresAt", key.expires_at)
}
