//! The check as a command: whether the documents say what changed in them, and since when.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use openapi_dropshot_compatibility::{Document, apis, changelog, compare, report};

const USAGE: &str = "\
Usage: cargo compatibility
       cargo compatibility OLD NEW
       cargo compatibility changelog [--check]

The first form compares each document openapi/NAME.yaml with its newest release in
openapi/released/, the second any two OpenAPI 3.0 documents, YAML or JSON. Both say what changed, whom
it breaks, which version that calls for, and whether info.version says so.
The third writes openapi/CHANGELOG.md; with --check it writes nothing, and says whether it is stale.

Exit code: 0 when all is well, 1 when a version does not say what changed, a file cannot be read or
the changelog is stale, 2 for wrong usage.

Examples:
  cargo compatibility
  cargo compatibility openapi/released/catalog-1.0.0.yaml openapi/catalog.yaml
";

/// Where the documents are.
const FOLDER: &str = "openapi";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|it| it.to_string_lossy().into_owned())
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["-h" | "--help"] => show(USAGE).map(|()| true),
        [] => gate(),
        ["changelog"] => write_changelog(),
        ["changelog", "--check"] => check_changelog(),
        [old, new] if !old.starts_with('-') && !new.starts_with('-') => {
            Document::read(Path::new(old))
                .and_then(|old| Ok((old, Document::read(Path::new(new))?)))
                .map_err(|problem| problem.to_string())
                .and_then(|(old, new)| judge(&old, &new))
        }
        _ => {
            eprint!("not understood: {}\n\n{USAGE}", arguments.join(" "));
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Compares every document with its newest release.
fn gate() -> Result<bool, String> {
    let mut well = true;
    for api in apis(Path::new(FOLDER)).map_err(|problem| problem.to_string())? {
        well &= judge(&api.newest, &api.present)?;
    }
    Ok(well)
}

/// Reports what changed, and answers whether the newer document says so.
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
    // What is up to date keeps its time of change.
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
            "{}: stale; run `cargo compatibility changelog`, and commit it",
            file.display()
        )),
        Err(error) => Err(format!(
            "{}: cannot be read: {error}; run `cargo compatibility changelog`, and commit it",
            file.display()
        )),
    }
}

/// Prints on standard output, as much as is wanted there.
fn show(text: &str) -> Result<(), String> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}
