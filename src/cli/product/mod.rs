//! `invoicing product`: imports and exports catalogs as CSV.

mod export;
mod import;

use super::command_error::CommandError;
use super::output::Output;
use crate::app::App;

/// Products: a team's catalogs, imported from and exported to CSV.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Product {
    Import(import::Import),
    Export(export::Export),
}

impl Product {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        match self {
            Self::Import(import) => import.run(app).await,
            Self::Export(export) => export.run(app).await,
        }
    }
}
