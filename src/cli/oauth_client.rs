//! `invoicing oauth-client`: the apps that may sign users in.

use crate::app::App;
use crate::domain::oauth_client::{self, ClientId};

use super::command_error::CommandError;
use super::output::Output;
use super::part::PartOf;
use super::record::Record;

/// OAuth clients: the apps that may sign users in.
#[derive(Debug, clap::Subcommand)]
pub(super) enum OauthClient {
    /// Registers an app.
    #[command(after_help = r#"Example:
    invoicing oauth-client create --id mobile --name "Our app" \
        --redirect-uri com.example.app:/signed-in https://example.com/signed-in"#)]
    Create {
        /// The client id that the app sends in requests; public, and cannot be changed later.
        #[arg(long)]
        id: String,
        /// The app's name.
        #[arg(long)]
        name: String,
        /// Where codes may be sent. The redirect URI of a request must match one of these exactly, except for the port of an
        /// http URI on a loopback address.
        #[arg(long, required = true, num_args = 1.., value_name = "URI")]
        redirect_uri: Vec<String>,
    },
    /// Deletes an app: signs out its users, and stops all sign-ins with it.
    ///
    /// This takes effect at once, for its sessions, codes and tokens. What remains is then deleted in small steps. If that
    /// is interrupted, running the same command again continues it, as does a running server. This cannot be undone.
    #[command(after_help = r#"Example:
    invoicing oauth-client delete mobile"#)]
    Delete {
        /// The app's client id.
        id: ClientId,
    },
    /// Lists the apps, ordered by id.
    List {
        #[command(flatten)]
        part: PartOf<ClientId>,
    },
    /// Shows an app.
    Show {
        /// The app's client id.
        id: ClientId,
    },
    /// Changes an app's name, its redirect URIs, or both, and prints the old ones.
    ///
    /// Signed-in users stay signed in. If the app loses a redirect URI, sign-ins in progress have to start over.
    #[command(after_help = r#"Examples:
    invoicing oauth-client update mobile --name "Our new app"
    invoicing oauth-client update mobile \
        --redirect-uri com.example.app:/signed-in https://example.com/back"#)]
    Update {
        /// The app's client id.
        id: ClientId,
        #[command(flatten)]
        change: Change,
    },
}

/// What is to change; at least one of them.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
pub(super) struct Change {
    /// The app's new name.
    #[arg(long)]
    name: Option<String>,
    /// Where codes may be sent from now on; replaces all existing redirect URIs.
    #[arg(long, num_args = 1.., value_name = "URI")]
    redirect_uri: Option<Vec<String>>,
}

impl OauthClient {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Create {
                id,
                name,
                redirect_uri,
            } => {
                let client = app.create_oauth_client(&id, &name, &redirect_uri).await?;
                Ok(record(client).into())
            }
            Self::Delete { id } => {
                let (client, ended) = app.delete_oauth_client(&id).await?;
                Ok(record(client).with("endedSessions", ended).into())
            }
            Self::List { part } => {
                let clients = app.list_oauth_clients(part.part()).await?;
                Ok(part.list(clients.into_iter().map(record).collect(), "id"))
            }
            Self::Show { id } => Ok(record(app.get_oauth_client(id).await?).into()),
            Self::Update { id, change } => {
                let Change { name, redirect_uri } = change;
                let changed =
                    app.update_oauth_client(&id, name.as_deref(), redirect_uri.as_deref());
                let (old, new) = changed.await?;
                let record = record(new)
                    .with_text("previousName", old.name)
                    .with("previousRedirectUris", old.redirect_uris);
                Ok(record.into())
            }
        }
    }
}

fn record(client: oauth_client::OauthClient) -> Record {
    Record::default()
        .with_text("id", client.id)
        .with_text("name", client.name)
        .with("redirectUris", client.redirect_uris)
        .with_time("createdAt", client.created_at)
}
