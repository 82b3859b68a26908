//! `invoicing oauth-client`: the apps that may sign users in.

use crate::app::App;

use super::command_error::CommandError;
use super::output::{Output, Record};

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
        /// Where codes may be sent; a request must name one of them in every character.
        #[arg(long, required = true, num_args = 1.., value_name = "URI")]
        redirect_uri: Vec<String>,
    },
}

impl OauthClient {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        let Self::Create {
            id,
            name,
            redirect_uri,
        } = self;
        let client = app.create_oauth_client(&id, &name, &redirect_uri).await?;
        let record = Record::default()
            .with_text("id", client.id)
            .with_text("name", client.name)
            .with("redirectUris", client.redirect_uris)
            .with_text("createdAt", client.created_at);
        Ok(record.into())
    }
}
