//! Runs the generator on other people's documents: which it accepts, and whether the result holds up.
//!
//! A document counts as accepted if [`openapi_dropshot::Document`] has no problem with it. Then:
//!
//! 1. its server, its client and a mock of it are written into a crate of its own, with a service that does nothing
//!    ([`stub`]);
//! 2. all crates are built at once, by a single call of cargo ([`build`]), such that one that does not compile does
//!    not affect the others;
//! 3. each registers its service with dropshot and prints the document that dropshot makes of it;
//! 4. that is compared with the published one, as strictly as this project's own documents are.
//!
//! A refusal is counted by its cause, once for every operation that it affects ([`reasons`]).

pub mod build;
pub mod reasons;
pub mod stub;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use openapi_dropshot::Document;
use openapi_dropshot_test::differences;

/// The result for one document.
#[derive(Debug)]
pub struct Row {
    /// The name of the file.
    pub document: String,
    /// How many operations it has.
    pub operations: usize,
    /// The outcome.
    pub outcome: Outcome,
}

/// The outcome for a document.
#[derive(Debug)]
pub enum Outcome {
    /// It was refused: the causes, and how many operations each affects.
    Refused(BTreeMap<String, usize>),
    /// It was accepted, and the generated code does not compile: the first errors.
    Broken(String),
    /// It was accepted, compiled, and came back with these differences.
    Served(Vec<String>),
}

/// The results for all documents of some folders.
#[derive(Debug)]
pub struct Scoreboard(Vec<Row>);

/// Returns the documents of a folder, by name: everything that ends in `.json`, `.yaml` or `.yml`.
///
/// # Errors
/// If the folder cannot be read.
pub fn documents(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let is_document = |path: &PathBuf| {
        let extension = path.extension().and_then(|it| it.to_str());
        matches!(extension, Some("json" | "yaml" | "yml"))
    };
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|it| it.path()).collect();
    paths.retain(is_document);
    paths.sort();
    Ok(paths)
}

/// Returns the documents of this repository that show what is accepted.
///
/// # Errors
/// If a folder cannot be read.
pub fn of_tests() -> Result<Vec<PathBuf>, String> {
    let tests = build::repository().join("codegen/tests");
    let folders = ["accepted", "documents"].map(|it| documents(&tests.join(it)));
    let all = folders.into_iter().collect::<Result<Vec<_>, _>>();
    all.map(|folders| folders.concat())
}

/// Returns the documents that dropshot tests itself with. They are in cargo's registry.
///
/// # Errors
/// If cargo does not report where dropshot is.
pub fn of_dropshot() -> Result<Vec<PathBuf>, String> {
    // Only dependencies that are built here have been downloaded.
    let arguments = ["metadata", "--format-version", "1", "--offline"];
    let here = ["--filter-platform", "host-tuple"];
    let metadata = build::cargo_json(&[&arguments[..], &here].concat())?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages
        .filter(|it| it["name"] == "dropshot")
        .find_map(|it| it["manifest_path"].as_str());
    let folder = manifest.and_then(|it| Path::new(it).parent());
    documents(&folder.ok_or("cargo knows no dropshot")?.join("tests"))
}

/// Tries all of these documents. Crates are built in `folder`.
///
/// # Errors
/// If a file cannot be read or written, or cargo cannot be run.
pub fn try_all(paths: &[PathBuf], folder: &Path) -> Result<Scoreboard, String> {
    let mut tried = Vec::new();
    for path in paths {
        let source = openapi_dropshot::source(path).map_err(|problem| problem.to_string())?;
        tried.push((path, source, Document::read(path)));
    }
    let mut crates = Vec::new();
    for (path, _, read) in &tried {
        if let Ok(document) = read {
            crates.push(build::Crate::of(&name(path), document)?);
        }
    }
    let mut built = build::all(&crates, folder)?;
    let rows = tried.into_iter().map(|(path, source, read)| {
        let outcome = match read {
            Err(problems) => Outcome::Refused(reasons::count(&source, &problems)),
            Ok(_) => match built.remove(&build::package(&name(path))) {
                Some(Ok(emitted)) => Outcome::Served(differences(&source, &emitted)),
                Some(Err(errors)) => Outcome::Broken(errors),
                None => Outcome::Broken("cargo says nothing about it".to_owned()),
            },
        };
        Row {
            document: name(path),
            operations: reasons::operations(&source).count(),
            outcome,
        }
    });
    Ok(Scoreboard(rows.collect()))
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

impl Scoreboard {
    /// Returns what is wrong with accepted documents: nothing, unless the generator has a bug.
    pub fn mistakes(&self) -> Vec<String> {
        let of_row = |row: &Row| match &row.outcome {
            Outcome::Refused(_) => Vec::new(),
            Outcome::Broken(errors) => vec![format!("{}: {errors}", row.document)],
            Outcome::Served(differences) => {
                let told = differences
                    .iter()
                    .map(|it| format!("{}: {it}", row.document));
                told.collect()
            }
        };
        self.0.iter().flat_map(of_row).collect()
    }

    /// Returns how many documents are refused.
    pub fn refused(&self) -> usize {
        let refused = |row: &&Row| matches!(row.outcome, Outcome::Refused(_));
        self.0.iter().filter(refused).count()
    }

    /// Returns all causes of refusals, with the number of documents and operations that each affects.
    fn causes(&self) -> Vec<(String, usize, usize)> {
        let mut causes: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for row in &self.0 {
            let Outcome::Refused(of_row) = &row.outcome else {
                continue;
            };
            for (cause, operations) in of_row {
                let sums = causes.entry(cause).or_default();
                *sums = (sums.0 + 1, sums.1 + operations);
            }
        }
        let mut causes: Vec<_> = causes
            .into_iter()
            .map(|(cause, (documents, operations))| (cause.to_owned(), documents, operations))
            .collect();
        causes.sort_by_key(|(_, _, operations)| std::cmp::Reverse(*operations));
        causes
    }
}

impl fmt::Display for Scoreboard {
    /// Writes two tables in Markdown: the documents, and why some are refused.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| document | operations | accepted | compiles | differences |"
        )?;
        writeln!(f, "|---|---|---|---|---|")?;
        for row in &self.0 {
            let (accepted, compiles, differences) = match &row.outcome {
                Outcome::Refused(_) => ("no", "", String::new()),
                Outcome::Broken(_) => ("yes", "no", String::new()),
                Outcome::Served(differences) => ("yes", "yes", differences.len().to_string()),
            };
            let (document, operations) = (&row.document, row.operations);
            writeln!(
                f,
                "| {document} | {operations} | {accepted} | {compiles} | {differences} |"
            )?;
        }
        let refused = |row: &&Row| matches!(row.outcome, Outcome::Refused(_));
        let operations = |row: &Row| row.operations;
        let all: usize = self.0.iter().map(operations).sum();
        let without: usize = self.0.iter().filter(refused).map(operations).sum();
        let accepted = self.0.len() - self.refused();
        writeln!(
            f,
            "\n{accepted} of {} documents, {} of {all} operations\n",
            self.0.len(),
            all - without
        )?;
        writeln!(f, "| why refused | documents | operations |\n|---|---|---|")?;
        for (cause, documents, operations) in self.causes() {
            writeln!(f, "| {cause} | {documents} | {operations} |")?;
        }
        Ok(())
    }
}
