//! `invoicing user`: the people behind mobile sessions.

use crate::app::App;

use super::command_error::CommandError;
use super::output::{Output, Record};

/// Users: the people who sign in with the mobile app.
#[derive(Debug, clap::Subcommand)]
pub(super) enum User {
    /// Makes a user, who is a member of no team yet.
    #[command(after_help = r#"Example:
    invoicing user create --email ada@example.com --name "Ada Lovelace"
    invoicing member add --team ID --user ID --role owner"#)]
    Create {
        /// The email address; no two users have the same.
        #[arg(long)]
        email: String,
        /// What people call the user.
        #[arg(long)]
        name: String,
    },
}

impl User {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        let Self::Create { email, name } = self;
        let user = app.create_user(&email, &name).await?;
        let record = Record::default()
            .with_text("id", user.id)
            .with_text("email", user.email)
            .with_text("name", user.name)
            .with_text("createdAt", user.created_at);
        Ok(record.into())
    }
}
