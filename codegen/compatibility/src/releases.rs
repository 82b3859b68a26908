//! The documents of a folder, and their releases.
//!
//! `FOLDER/NAME.yaml` is a document in its current state; `FOLDER/released/NAME-VERSION.yaml` is a copy
//! from its release. Each document must have at least one release, and each release a document: a
//! document that is compared with nothing would pass any gate.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use openapi_dropshot::model::Pointer;

use crate::{Document, Problem};

/// A document with its history.
#[derive(Clone, Debug)]
pub struct Api {
    /// The name of its file: `catalog` for `openapi/catalog.yaml`.
    pub name: String,
    /// The current document.
    pub present: Document,
    /// The releases before the newest, oldest first.
    pub earlier: Vec<Document>,
    /// The newest release.
    pub newest: Document,
}

/// Reads all documents of a folder, by name.
///
/// # Errors
/// If a file cannot be read or is not a document, if a release is not named after its content, and if a
/// document lacks a release or a release a document.
pub fn apis(folder: &Path) -> Result<Vec<Api>, Problem> {
    let documents = yaml(folder)?;
    if documents.is_empty() {
        let remedy = "run this where `openapi/` holds the documents, or name two files to compare";
        return Err(problem(folder, "there is no NAME.yaml here", remedy));
    }
    let released = folder.join("released");
    let mut releases: BTreeMap<String, Vec<Document>> = BTreeMap::new();
    for file in yaml(&released)? {
        let (name, release) = release(&file)?;
        releases.entry(name).or_default().push(release);
    }
    let apis = documents.into_iter().map(|file| {
        let name = stem(&file);
        let present = Document::read(&file)?;
        let mut earlier = releases.remove(&name).unwrap_or_default();
        earlier.sort_by(|one, other| one.version.cmp(&other.version));
        let newest = earlier.pop().ok_or_else(|| {
            let copy = released.join(format!("{name}-{}.yaml", present.version));
            let remedy = format!("copy it to {} when it is released first", copy.display());
            problem(&file, "it has no release to be compared with", &remedy)
        })?;
        Ok(Api {
            name,
            present,
            earlier,
            newest,
        })
    });
    let apis = apis.collect::<Result<_, _>>()?;
    if let Some((name, _)) = releases.first_key_value() {
        let cause = format!("it has releases of `{name}`, but {name}.yaml is not there any more");
        let remedy = "put the document back: its consumers still use it";
        return Err(problem(&released, &cause, remedy));
    }
    Ok(apis)
}

/// Reads a release, and returns it with the name of its document.
fn release(file: &Path) -> Result<(String, Document), Problem> {
    let document = Document::read(file)?;
    let stem = stem(file);
    let suffix = format!("-{}", document.version);
    match stem.strip_suffix(&suffix) {
        Some(name) if !name.is_empty() => Ok((name.to_owned(), document)),
        _ => {
            let cause = format!(
                "its name does not end with its info.version, {}",
                document.version
            );
            Err(problem(
                file,
                &cause,
                "name it NAME-VERSION.yaml, as in `catalog-1.4.0.yaml`",
            ))
        }
    }
}

/// Returns the YAML files of a folder, by name.
fn yaml(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|error| {
        let cause = format!("the folder cannot be read: {error}");
        let remedy =
            "run this where `openapi/` holds the documents, and `openapi/released/` their releases";
        problem(folder, &cause, remedy)
    })?;
    let files = entries.into_iter().map(|entry| entry.path());
    let mut files: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|it| it == "yaml"))
        .collect();
    files.sort();
    Ok(files)
}

fn stem(file: &Path) -> String {
    file.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn problem(file: &Path, cause: &str, remedy: &str) -> Problem {
    Problem {
        file: file.display().to_string(),
        pointer: Pointer::default(),
        cause: cause.to_owned(),
        remedy: remedy.to_owned(),
    }
}
