//! `openapi-dropshot client`: writes or compares the modules of a client in a folder of some crate's
//! sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use openapi_dropshot::Document;

use crate::{Reading, show};

/// What the command line asks for.
#[derive(Args)]
pub(crate) struct Client {
    /// Where the modules are written: a folder that holds nothing else
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// A type that every client carries a value of, by its path in the client's crate, which implements
    /// progenitor's ClientHooks for it
    #[arg(long, value_name = "TYPE")]
    inner: Option<String>,
    /// Makes for every document a mock for tests as well, under this feature of the client's crate
    #[arg(long, value_name = "FEATURE")]
    mock: Option<String>,
    /// Writes nothing, and says which files are stale
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    reading: Reading,
    /// OpenAPI documents, YAML or JSON
    #[arg(required = true, value_name = "DOCUMENT")]
    documents: Vec<PathBuf>,
}

impl Client {
    pub(crate) fn run(&self) -> Result<bool, String> {
        let modules = self.modules()?;
        match self.check {
            true => compare(&modules, &self.out),
            false => write(&modules, &self.out),
        }
    }

    /// Returns the client's modules, by file name.
    fn modules(&self) -> Result<BTreeMap<String, String>, String> {
        let documents = self.documents.iter();
        let read: Vec<_> = documents.map(|it| self.reading.read(it)).collect();
        let problems: String = read
            .iter()
            .filter_map(|it| it.as_ref().err())
            .map(ToString::to_string)
            .collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let documents: Vec<Document> = read.into_iter().flatten().collect();
        openapi_dropshot::client(&documents, self.inner.as_deref(), self.mock.as_deref())
            .map_err(|problems| problems.to_string())
    }
}

fn write(modules: &BTreeMap<String, String>, out: &Path) -> Result<bool, String> {
    let failed = |error| format!("{}: cannot be written: {error}", out.display());
    fs::create_dir_all(out).map_err(failed)?;
    for (name, text) in modules {
        // A file that is up to date keeps its modification time, so that nothing is rebuilt.
        if fs::read_to_string(out.join(name)).ok().as_ref() != Some(text) {
            fs::write(out.join(name), text).map_err(failed)?;
            show(&format!("wrote {}\n", out.join(name).display()))?;
        }
    }
    Ok(true)
}

/// Reports which files differ, are missing or do not belong there.
fn compare(modules: &BTreeMap<String, String>, out: &Path) -> Result<bool, String> {
    let mut stale: Vec<String> = modules
        .iter()
        .filter(|(name, text)| fs::read_to_string(out.join(name)).ok().as_ref() != Some(text))
        .map(|(name, _)| format!("{}: stale", out.join(name).display()))
        .collect();
    let listed = fs::read_dir(out).map_err(|e| format!("{}: {e}", out.display()))?;
    let names = listed
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    stale.extend(
        names
            .filter(|name| !modules.contains_key(name))
            .map(|name| format!("{}: not generated", out.join(name).display())),
    );
    if stale.is_empty() {
        return Ok(true);
    }
    stale.sort();
    stale.push(
        "the documents and the client differ; remove what is not generated, and generate the rest \
         anew without --check"
            .to_owned(),
    );
    Err(stale.join("\n"))
}
