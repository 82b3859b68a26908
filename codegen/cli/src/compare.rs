//! `openapi-dropshot compare`: whether the versions of documents reflect what changed in them, and
//! since when.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use openapi_dropshot_compatibility::{Document, apis, changelog, compare, report};

use crate::show;

/// Where to find the documents if none are named.
const FOLDER: &str = "openapi";

/// What the command line asks for.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    override_usage = "openapi-dropshot compare [OLD NEW]\n       openapi-dropshot compare changelog [--check]"
)]
pub(crate) struct Compare {
    /// Two OpenAPI 3.0 documents, the older one first
    #[arg(num_args = 2, value_names = ["OLD", "NEW"])]
    documents: Vec<PathBuf>,
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Subcommand)]
enum Task {
    /// Writes openapi/CHANGELOG.md: what changed with each release
    Changelog {
        /// Writes nothing, and says whether it is stale
        #[arg(long)]
        check: bool,
    },
}

impl Compare {
    pub(crate) fn run(&self) -> Result<bool, String> {
        match (&self.task, self.documents.as_slice()) {
            (Some(Task::Changelog { check: true }), _) => check_changelog(),
            (Some(Task::Changelog { check: false }), _) => write_changelog(),
            (None, [old, new]) => {
                let (old, new) = (read(old)?, read(new)?);
                judge(&old, &new)
            }
            (None, _) => gate(),
        }
    }
}

fn read(path: &Path) -> Result<Document, String> {
    Document::read(path).map_err(|problem| problem.to_string())
}

/// Compares every document with its newest release.
fn gate() -> Result<bool, String> {
    let mut well = true;
    for api in apis(Path::new(FOLDER)).map_err(|problem| problem.to_string())? {
        well &= judge(&api.newest, &api.present)?;
    }
    Ok(well)
}

/// Reports what changed, and returns whether the newer document's version reflects it.
fn judge(old: &Document, new: &Document) -> Result<bool, String> {
    let comparison = compare(old, new).map_err(|problem| problem.to_string())?;
    show(&report(old, new, &comparison))?;
    Ok(comparison.is_said())
}

fn made_changelog() -> Result<String, String> {
    let made = apis(Path::new(FOLDER)).and_then(|apis| changelog(&apis));
    made.map_err(|problem| problem.to_string())
}

fn write_changelog() -> Result<bool, String> {
    let (file, made) = (Path::new(FOLDER).join("CHANGELOG.md"), made_changelog()?);
    // A file that is up to date keeps its modification time.
    if fs::read_to_string(&file).ok().as_ref() != Some(&made) {
        let failed = |error| format!("{}: cannot be written: {error}", file.display());
        fs::write(&file, made).map_err(failed)?;
        show(&format!("wrote {}\n", file.display()))?;
    }
    Ok(true)
}

fn check_changelog() -> Result<bool, String> {
    let (file, made) = (Path::new(FOLDER).join("CHANGELOG.md"), made_changelog()?);
    match fs::read_to_string(&file) {
        Ok(text) if text == made => Ok(true),
        Ok(_) => Err(format!(
            "{}: stale; run `openapi-dropshot compare changelog`, and commit it",
            file.display()
        )),
        Err(error) => Err(format!(
            "{}: cannot be read: {error}; run `openapi-dropshot compare changelog`, and commit it",
            file.display()
        )),
    }
}
