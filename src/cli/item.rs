//! `invoicing folder` and `invoicing file`: what share links lead to.

use crate::app::App;
use crate::domain::id::{FileId, FolderId};
use crate::domain::item;
use crate::domain::team::NamedTeam;

use super::command_error::CommandError;
use super::output::Output;
use super::part::PartOf;
use super::record::Record;

/// Folders of a team, as far as share links need them.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Folder {
    /// Makes a folder.
    #[command(after_help = r#"Example:
    invoicing folder create --team Acme --name "Contracts""#)]
    Create {
        /// The team that it belongs to, by its id or its name.
        #[arg(long, value_name = "TEAM")]
        team: NamedTeam,
        /// What people call it; need not be unique.
        #[arg(long)]
        name: String,
    },
    /// Lists the folders of a team, oldest first.
    List {
        /// The team, by its id or its name.
        #[arg(long, value_name = "TEAM")]
        team: NamedTeam,
        #[command(flatten)]
        part: PartOf<FolderId>,
    },
    /// Shows a folder.
    Show {
        /// The folder's id.
        id: FolderId,
    },
}

/// Files of a team, as far as share links need them.
#[derive(Debug, clap::Subcommand)]
pub(super) enum File {
    /// Makes a file.
    #[command(after_help = r#"Example:
    invoicing file create --team Acme --name "Offer.pdf" --folder ID"#)]
    Create {
        /// The team that it belongs to, by its id or its name.
        #[arg(long, value_name = "TEAM")]
        team: NamedTeam,
        /// What people call it; need not be unique.
        #[arg(long)]
        name: String,
        /// The folder that it lies in, of the same team; without this, at the top.
        #[arg(long, value_name = "ID")]
        folder: Option<FolderId>,
    },
    /// Lists the files of a team, oldest first.
    List {
        /// The team, by its id or its name.
        #[arg(long, value_name = "TEAM")]
        team: NamedTeam,
        #[command(flatten)]
        part: PartOf<FileId>,
    },
    /// Shows a file.
    Show {
        /// The file's id.
        id: FileId,
    },
}

impl Folder {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Create { team, name } => {
                let team = app.get_team(team).await?.id;
                Ok(folder(app.create_folder(team, &name).await?).into())
            }
            Self::List { team, part } => {
                let team = app.get_team(team).await?.id;
                let folders = app.list_folders(team, part.part()).await?;
                let records = folders.into_iter().map(folder).map(of_a_team);
                Ok(part.list(records.collect(), "id"))
            }
            Self::Show { id } => Ok(folder(app.get_folder(id).await?).into()),
        }
    }
}

impl File {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Create { team, name, folder } => {
                let team = app.get_team(team).await?.id;
                Ok(file(app.create_file(team, &name, folder).await?).into())
            }
            Self::List { team, part } => {
                let team = app.get_team(team).await?.id;
                let files = app.list_files(team, part.part()).await?;
                let records = files.into_iter().map(file).map(of_a_team);
                Ok(part.list(records.collect(), "id"))
            }
            Self::Show { id } => Ok(file(app.get_file(id).await?).into()),
        }
    }
}

fn folder(folder: item::Folder) -> Record {
    Record::default()
        .with_text("id", folder.id)
        .with_text("teamId", folder.team_id)
        .with_text("name", folder.name)
        .with_time("createdAt", folder.created_at)
}

fn file(file: item::File) -> Record {
    Record::default()
        .with_text("id", file.id)
        .with_text("teamId", file.team_id)
        .with_text("name", file.name)
        .with_optional("folderId", file.folder_id)
        .with_time("createdAt", file.created_at)
}

/// A row of a list whose team was asked for.
fn of_a_team(record: Record) -> Record {
    record.without_columns(&["teamId"])
}
