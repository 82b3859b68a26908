//! `invoicing team`: the owners of catalogs, keys and files.

use crate::app::App;
use crate::domain::id::TeamId;
use crate::domain::team::{self, NamedTeam};

use super::command_error::CommandError;
use super::output::Output;
use super::part::PartOf;
use super::record::Record;

/// Teams: each has its own catalog, API keys, members and files.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Team {
    /// Creates a team, and the database if there is none.
    #[command(after_help = r#"Example:
    invoicing team create --name "Acme""#)]
    Create {
        /// The team's name; need not be unique.
        #[arg(long)]
        name: String,
    },
    /// Deletes a team and everything it has, for good.
    ///
    /// This includes its products, keys, files, links, members and invitations. Its keys are refused and its members removed
    /// at once; the rest is then deleted in small steps, so that others do not have to wait. After an interruption, run the
    /// same command again, or leave it to a running server. The audit log stays.
    #[command(after_help = r#"Example:
    invoicing team delete Acme --confirm Acme"#)]
    Delete {
        /// The team, by its id or its name.
        team: NamedTeam,
        /// The team's name again, to confirm.
        #[arg(long, value_name = "NAME")]
        confirm: String,
    },
    /// Lists the teams, oldest first.
    List {
        #[command(flatten)]
        part: PartOf<TeamId>,
    },
    /// Renames a team.
    #[command(after_help = r#"Example:
    invoicing team rename Acme --name "Acme Ltd""#)]
    Rename {
        /// The team, by its id or its name.
        team: NamedTeam,
        /// The team's new name; need not be unique.
        #[arg(long)]
        name: String,
    },
    /// Shows a team.
    Show {
        /// The team, by its id or its name.
        team: NamedTeam,
    },
}

impl Team {
    /// Whether it may be the first command on a database, and thus create it.
    pub(super) fn may_begin(&self) -> bool {
        matches!(self, Self::Create { .. })
    }

    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Create { name } => Ok(record(app.create_team(&name).await?).into()),
            Self::Delete { team, confirm } => {
                Ok(record(app.delete_team(team, &confirm).await?).into())
            }
            Self::List { part } => {
                let teams = app.list_teams(part.part()).await?;
                Ok(part.list(teams.into_iter().map(record).collect(), "id"))
            }
            Self::Rename { team, name } => {
                let team = app.get_team(team).await?.id;
                Ok(record(app.rename_team(team, &name).await?).into())
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
