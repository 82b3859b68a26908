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
        /// What the app calls itself in requests; public, and fixed from now on.
        #[arg(long)]
        id: String,
        /// What people call it.
        #[arg(long)]
        name: String,
        /// Where codes may be sent; a request must name one of them in every character, but for the port of http on a
        /// loopback address.
        #[arg(long, required = true, num_args = 1.., value_name = "URI")]
        redirect_uri: Vec<String>,
    },
    /// Lists the apps, in the order of their ids.
    List {
        #[command(flatten)]
        part: PartOf<ClientId>,
    },
    /// Shows an app.
    Show {
        /// What the app calls itself.
        id: ClientId,
    },
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
            Self::List { part } => {
                let clients = app.list_oauth_clients(part.part()).await?;
                Ok(part.list(clients.into_iter().map(record).collect(), "id"))
            }
            Self::Show { id } => Ok(record(app.get_oauth_client(id).await?).into()),
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
