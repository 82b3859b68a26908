//! `invoicing team`: whose catalog, whose keys, whose files.

use crate::app::App;
use crate::domain::id::TeamId;
use crate::domain::team::{self, NamedTeam};

use super::command_error::CommandError;
use super::output::Output;
use super::part::PartOf;
use super::record::Record;

/// Teams: each has a catalog, API keys, members and files of its own.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Team {
    /// Makes a team, and the database, if there is none.
    #[command(after_help = r#"Example:
    invoicing team create --name "Acme""#)]
    Create {
        /// What people call it; need not be unique.
        #[arg(long)]
        name: String,
    },
    /// Lists the teams, oldest first.
    List {
        #[command(flatten)]
        part: PartOf<TeamId>,
    },
    /// Shows a team.
    Show {
        /// The team, by its id or its name.
        team: NamedTeam,
    },
}

impl Team {
    /// Whether it may be the first command on a database, which makes that.
    pub(super) fn may_begin(&self) -> bool {
        matches!(self, Self::Create { .. })
    }

    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Create { name } => Ok(record(app.create_team(&name).await?).into()),
            Self::List { part } => {
                let teams = app.list_teams(part.part()).await?;
                Ok(part.list(teams.into_iter().map(record).collect(), "id"))
            }
            Self::Show { team } => Ok(record(app.get_team(team).await?).into()),
        }
    }
}

fn record(team: team::Team) -> Record {
    Record::default()
        .with_text("id", team.id)
        .with_text("name", team.name)
        .with_time("createdAt", team.created_at)
}
