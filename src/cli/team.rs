//! `invoicing team`: whose catalog, whose keys, whose files.

use crate::app::App;
use crate::domain::team;

use super::command_error::CommandError;
use super::output::{Output, Record};

/// Teams: each has a catalog, API keys, members and files of its own.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Team {
    /// Makes a team.
    #[command(after_help = r#"Example:
    invoicing team create --name "Acme""#)]
    Create {
        /// What people call it; need not be unique.
        #[arg(long)]
        name: String,
    },
    /// Lists all teams, oldest first.
    List,
}

impl Team {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Create { name } => Ok(record(app.create_team(&name).await?).into()),
            Self::List => Ok(Output::list(
                app.list_teams().await?.into_iter().map(record),
            )),
        }
    }
}

fn record(team: team::Team) -> Record {
    Record::default()
        .with_text("id", team.id)
        .with_text("name", team.name)
        .with_text("createdAt", team.created_at)
}
