//! `invoicing folder` and `invoicing file`: what share links lead to.

use crate::app::App;
use crate::domain::id::{FolderId, TeamId};

use super::command_error::CommandError;
use super::output::{Output, Record};

/// Folders of a team, as far as share links need them.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Folder {
    /// Makes a folder.
    #[command(after_help = r#"Example:
    invoicing folder create --team ID --name "Contracts""#)]
    Create {
        /// The team that it belongs to.
        #[arg(long, value_name = "ID")]
        team: TeamId,
        /// What people call it; need not be unique.
        #[arg(long)]
        name: String,
    },
}

/// Files of a team, as far as share links need them.
#[derive(Debug, clap::Subcommand)]
pub(super) enum File {
    /// Makes a file.
    #[command(after_help = r#"Example:
    invoicing file create --team ID --name "Offer.pdf" --folder ID"#)]
    Create {
        /// The team that it belongs to.
        #[arg(long, value_name = "ID")]
        team: TeamId,
        /// What people call it; need not be unique.
        #[arg(long)]
        name: String,
        /// The folder that it lies in, of the same team; without this, at the top.
        #[arg(long, value_name = "ID")]
        folder: Option<FolderId>,
    },
}

impl Folder {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        let Self::Create { team, name } = self;
        let folder = app.create_folder(team, &name).await?;
        let record = Record::default()
            .with_text("id", folder.id)
            .with_text("teamId", folder.team_id)
            .with_text("name", folder.name)
            .with_text("createdAt", folder.created_at);
        Ok(record.into())
    }
}

impl File {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        let Self::Create { team, name, folder } = self;
        let file = app.create_file(team, &name, folder).await?;
        let record = Record::default()
            .with_text("id", file.id)
            .with_text("teamId", file.team_id)
            .with_text("name", file.name)
            .with_optional("folderId", file.folder_id)
            .with_text("createdAt", file.created_at);
        Ok(record.into())
    }
}
