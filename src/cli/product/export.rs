//! `invoicing product export`: keeps one page of products in memory at a time, however many there are.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::app::App;
use crate::cli::command_error::CommandError;
use crate::cli::output::Output;
use crate::cli::word::one_of;
use crate::domain::catalog::{Catalog, Mode};
use crate::domain::csv_file::Writer;
use crate::domain::product::StatusFilter;
use crate::domain::product_csv::{cells, names};
use crate::domain::team::NamedTeam;

/// Products that are read at once.
const PAGE: u32 = 1_000;

/// Writes the products of a catalog as CSV, newest first.
///
/// The output can be imported again: into the same catalog as it is, into another one without the column `id`.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Example:
    invoicing product export --team Acme --mode live --output products.csv"#)]
pub(crate) struct Export {
    /// The team, by its id or its name.
    #[arg(long, value_name = "TEAM")]
    team: NamedTeam,
    /// Which of the team's two catalogs to export.
    #[arg(long, value_parser = one_of(Mode::ALL))]
    mode: Mode,
    /// Which products to export.
    #[arg(long, default_value_t = StatusFilter::Active, value_parser = one_of(StatusFilter::ALL))]
    status: StatusFilter,
    /// File to write, replaced only once all of it is written; by default, standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Export {
    pub(super) async fn run(self, app: &App) -> Result<Output, CommandError> {
        let catalog = Catalog {
            team_id: app.get_team(self.team.clone()).await?.id,
            mode: self.mode,
        };
        let Some(path) = &self.output else {
            return match self.write(app, catalog, io::stdout()).await {
                // A reader that has seen enough (`| head`) is not a failure.
                Err(Failed::Writing(error)) if error.kind() != ErrorKind::BrokenPipe => {
                    let why = format!("cannot write to standard output: {error}");
                    Err(CommandError::Failed(why))
                }
                Err(Failed::Reading(error)) => Err(error),
                _ => Ok(Output::nothing()),
            };
        };
        let unwritable =
            |error| CommandError::Failed(format!("cannot write {}: {error}", path.display()));
        let mut file = beside(path).map_err(unwritable)?;
        let written = self.write(app, catalog, file.as_file_mut()).await;
        let products = written.map_err(|failed| match failed {
            Failed::Writing(error) => unwritable(error),
            Failed::Reading(error) => error,
        })?;
        // Synced before it replaces the other: after a power cut, one of the two exists.
        file.as_file().sync_all().map_err(unwritable)?;
        file.persist(path)
            .map_err(|error| unwritable(error.error))?;
        let told = format!("{products} products are in {}", path.display());
        Ok(Output::nothing().with_note(told))
    }

    /// Writes all products; returns how many.
    async fn write(&self, app: &App, catalog: Catalog, file: impl Write) -> Result<u64, Failed> {
        let mut writer = Writer::new(file);
        writer.line(names()).map_err(Failed::Writing)?;
        let (mut after, mut written) = (None, 0);
        loop {
            let page = app
                .export_products(catalog, self.status, after, PAGE)
                .await
                .map_err(|error| Failed::Reading(error.into()))?;
            for product in &page {
                writer.line(cells(product)).map_err(Failed::Writing)?;
            }
            written += page.len() as u64;
            after = page.last().map(|last| last.id);
            if page.len() < PAGE as usize {
                writer.flush().map_err(Failed::Writing)?;
                return Ok(written);
            }
        }
    }
}

/// Why an export was not completed.
enum Failed {
    Reading(CommandError),
    Writing(io::Error),
}

/// A temporary file that is later moved to `path`, so that there is never half an export.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
}
