//! Generates the server's modules from the published documents, and the lists of migrations from their folders: after
//! editing a document or adding a file, building again is all that is needed.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use openapi_dropshot::Generator;

/// The folders of migrations. Both engines have the same ones, under the same names.
const MIGRATIONS: [(&str, &str); 2] = [
    ("src/sqlite/migrations", "sqlite_migrations.rs"),
    ("src/postgres/migrations", "postgres_migrations.rs"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    Generator::new()
        .server("openapi/catalog.yaml")
        .server("openapi/mobile.yaml")
        .generate();
    for (folder, _) in MIGRATIONS {
        println!("cargo::rerun-if-changed={folder}");
    }
    tell_version();
    if let Err(problem) = list_migrations() {
        println!("cargo::error={problem}");
    }
}

/// Gives the program its version, with the commit: that of `INVOICING_COMMIT`, which a packager sets, or else that of git,
/// in release builds. Other builds are marked as neither, because each commit would rebuild everything.
fn tell_version() {
    println!("cargo::rerun-if-env-changed=INVOICING_COMMIT");
    let given = env::var("INVOICING_COMMIT")
        .ok()
        .filter(|it| !it.is_empty());
    let shipped = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = given.or_else(|| shipped.then(commit_of_git)?);
    println!(
        "cargo::rustc-env=COMMIT={}",
        commit.as_deref().unwrap_or_default()
    );
    let build = match (commit, shipped) {
        (Some(commit), _) => format!("commit {commit}"),
        (None, true) => "commit not known".to_owned(),
        (None, false) => "development build".to_owned(),
    };
    // Not `INVOICING_...`: cargo passes it on to the programs it runs, which would take it for a setting.
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo::rustc-env=VERSION_AND_COMMIT={version} ({build})");
}

/// Returns the commit that is checked out, if this is a checkout and git is installed; cargo runs this again when the commit
/// changes. A copy of the files inside a repository of something else has none: that repository's commit would be
/// meaningless for it.
fn commit_of_git() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let below_the_root = git(&["rev-parse", "--show-prefix"])?;
    if !below_the_root.is_empty() {
        return None;
    }
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// Writes, for each engine, an array of its migrations in order: the first is version 1.
fn list_migrations() -> Result<(), String> {
    let [sqlite, postgres] = MIGRATIONS.map(|(folder, _)| migrations(folder));
    let (sqlite, postgres) = (sqlite?, postgres?);
    if sqlite != postgres {
        return Err(format!(
            "the engines' migrations differ: SQLite has {sqlite:?}, PostgreSQL has {postgres:?}. Add the missing \
             file, under the same name"
        ));
    }
    for (folder, list) in MIGRATIONS {
        let includes: String = sqlite
            .iter()
            .map(|name| {
                format!(
                    "include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{folder}/{name}\")),\n"
                )
            })
            .collect();
        write(list, &format!("[\n{includes}]\n"))?;
    }
    Ok(())
}

/// Returns the file names in a folder, which are numbered from 0001 without gaps.
fn migrations(folder: &str) -> Result<Vec<String>, String> {
    let failed = |error: std::io::Error| format!("{folder}: {error}");
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.push(
            entry
                .map_err(failed)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    names.sort();
    for (version, name) in (1..).zip(&names) {
        if !name.starts_with(&format!("{version:04}_")) || !name.ends_with(".sql") {
            return Err(format!(
                "{folder}/{name}: migration {version} is called {version:04}_WHAT_IT_DOES.sql"
            ));
        }
    }
    Ok(names)
}

fn write(name: &str, text: &str) -> Result<(), String> {
    let folder = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: run this by cargo")?;
    let file = Path::new(&folder).join(name);
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
}
