//! `invoicing folder` and `invoicing file`: the targets of share links.

use crate::app::App;
use crate::domain::id::{FileId, FolderId};
use crate::domain::item;
use crate::domain::team::NamedTeam;

use super::command_error::CommandError;
use super::output::Output;
use super::part::PartOf;
use super::record::Record;

/// Folders of a team, for share links only.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Folder {
    /// Creates a folder.
    #[command(after_help = r#"Example:
    invoicing folder create --team Acme --name "Contracts""#)]
    Create {
        /// The team that it belongs to, by its id or its name.
        #[arg(long, value_name = "TEAM")]
        team: NamedTeam,
        /// The name; need not be unique.
        #[arg(long)]
        name: String,
    },
    /// Deletes a folder, along with the share links to it.
    ///
    /// A folder that contains files is refused, unless they are deleted with it (--recursive). If that is interrupted, run
    /// the same command again to finish. This cannot be undone.
    #[command(after_help = r#"Example:
    invoicing folder delete 0198c5b2-7d3c-7a44-9c58-2f6d1b0e8a11 --recursive"#)]
    Delete {
        /// The folder's id.
        id: FolderId,
        /// Also delete the files in it, along with the share links to them.
        #[arg(long)]
        recursive: bool,
    },
    /// Lists the folders of a team, oldest first.
    List {
        /// The team, by its id or its name.
        #[arg(long, value_name = "TEAM")]
        team: NamedTeam,
        #[command(flatten)]
        part: PartOf<FolderId>,
    },
    /// Renames a folder, and prints its old name.
    #[command(after_help = r#"Example:
    invoicing folder rename 0198c5b2-7d3c-7a44-9c58-2f6d1b0e8a11 --name "Contracts""#)]
    Rename {
        /// The folder's id.
        id: FolderId,
        /// The new name; need not be unique.
        #[arg(long)]
        name: String,
    },
    /// Shows a folder.
    Show {
        /// The folder's id.
        id: FolderId,
    },
}

/// Files of a team, for share links only.
#[derive(Debug, clap::Subcommand)]
pub(super) enum File {
    /// Creates a file.
    #[command(after_help = r#"Example:
    invoicing file create --team Acme --name "Offer.pdf" --folder ID"#)]
    Create {
        /// The team that it belongs to, by its id or its name.
        #[arg(long, value_name = "TEAM")]
        team: NamedTeam,
        /// The name; need not be unique.
        #[arg(long)]
        name: String,
        /// The folder to put it in, of the same team; by default, the top level.
        #[arg(long, value_name = "ID")]
        folder: Option<FolderId>,
    },
    /// Deletes a file, along with the share links to it. This cannot be undone.
    #[command(after_help = r#"Example:
    invoicing file delete 0198c5b2-7d3c-7a44-9c58-2f6d1b0e8a11"#)]
    Delete {
        /// The file's id.
        id: FileId,
    },
    /// Lists the files of a team, oldest first.
    List {
        /// The team, by its id or its name.
        #[arg(long, value_name = "TEAM")]
        team: NamedTeam,
        #[command(flatten)]
        part: PartOf<FileId>,
    },
    /// Renames a file, and prints its old name.
    #[command(after_help = r#"Example:
    invoicing file rename 0198c5b2-7d3c-7a44-9c58-2f6d1b0e8a11 --name "Offer.pdf""#)]
    Rename {
        /// The file's id.
        id: FileId,
        /// The new name; need not be unique.
        #[arg(long)]
        name: String,
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
            Self::Delete { id, recursive } => {
                let deleted = app.delete_folder(id, recursive).await?;
                let record = folder(deleted.folder)
                    .with("deletedFiles", deleted.files)
                    .with("revokedLinks", deleted.links);
                Ok(record.into())
            }
            Self::List { team, part } => {
                let team = app.get_team(team).await?.id;
                let folders = app.list_folders(team, part.part()).await?;
                let records = folders.into_iter().map(folder).map(of_a_team);
                Ok(part.list(records.collect(), "id"))
            }
            Self::Rename { id, name } => {
                let (old, new) = app.rename_folder(id, &name).await?;
                Ok(folder(new).with_text("previousName", old.name).into())
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
            Self::Delete { id } => {
                let (deleted, links) = app.delete_file(id).await?;
                Ok(file(deleted).with("revokedLinks", links).into())
            }
            Self::List { team, part } => {
                let team = app.get_team(team).await?.id;
                let files = app.list_files(team, part.part()).await?;
                let records = files.into_iter().map(file).map(of_a_team);
                Ok(part.list(records.collect(), "id"))
            }
            Self::Rename { id, name } => {
                let (old, new) = app.rename_file(id, &name).await?;
                Ok(file(new).with_text("previousName", old.name).into())
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

/// A row of a list for one team.
fn of_a_team(record: Record) -> Record {
    record.without_columns(&["teamId"])
}
