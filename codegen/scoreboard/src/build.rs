//! Crates of accepted documents: written, built by a single call of cargo, and run.
//!
//! They are a workspace of their own, with the same versions as this one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use openapi_dropshot::Document;
use serde_json::Value;

/// The dependencies of generated modules.
const DEPENDENCIES: &str = r#"
base64 = "0.23"
bytes = "1"
chrono = { version = "0.4", default-features = false, features = ["serde", "std"] }
dropshot = "0.18"
futures = "0.3"
httpmock = { version = "0.9", default-features = false }
progenitor-client = "0.15"
rand = "0.10"
regex = "1"
regress = "0.12"
reqwest = { version = "0.13", default-features = false, features = ["json", "multipart", "query", "stream"] }
schemars = "0.8"
serde = { version = "1", features = ["derive"] }
serde_json = { version = "1", features = ["raw_value"] }
uuid = { version = "1", features = ["serde"] }
"#;

/// Prints the document that dropshot makes for the service.
const MAIN: &str = r#"#![allow(warnings)]
mod client;
mod server;
mod stub;

fn main() {
    let mut api = dropshot::ApiDescription::new();
    server::register::<stub::Stub>(&mut api).unwrap();
    let version = "1.0.0".parse().unwrap();
    println!("{}", api.openapi("", version).json().unwrap());
}
"#;

/// The most bytes of compile errors that are reported.
const MAX_ERRORS: usize = 2000;

/// The crate of a document.
#[derive(Debug)]
pub struct Crate {
    package: String,
    files: BTreeMap<String, String>,
}

impl Crate {
    /// Creates the files of the crate of a document, named after its file.
    ///
    /// # Errors
    /// If generation fails for a document that was accepted.
    pub fn of(file: &str, document: &Document) -> Result<Crate, String> {
        let failed = |problems: openapi_dropshot::Problems| problems.to_string();
        let package = package(file);
        let runtime = repository().join("codegen/runtime");
        let mut files = BTreeMap::from([
            ("src/main.rs".to_owned(), MAIN.to_owned()),
            ("src/stub.rs".to_owned(), crate::stub::text(document)),
        ]);
        files.insert(
            "Cargo.toml".to_owned(),
            format!(
                "[package]\nname = \"{package}\"\nedition = \"2024\"\n[features]\ndefault = [\"mock\"]\nmock = []\n\
                 [dependencies]\n\
                 openapi-dropshot-runtime = {{ path = {runtime:?} }}{DEPENDENCIES}"
            ),
        );
        let server = openapi_dropshot::server(document).map_err(failed)?;
        files.insert("src/server.rs".to_owned(), server);
        let client = openapi_dropshot::client(std::slice::from_ref(document), None, Some("mock"));
        for (name, text) in client.map_err(failed)? {
            files.insert(format!("src/client/{name}"), text);
        }
        Ok(Crate { package, files })
    }
}

/// Returns the package name for a document.
pub fn package(file: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("document-{}", file.chars().map(plain).collect::<String>()).to_lowercase()
}

/// Returns the folder of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Calls cargo in the repository, and returns its output as JSON.
///
/// # Errors
/// If it fails, or prints something else.
pub fn cargo_json(arguments: &[&str]) -> Result<Value, String> {
    let output = cargo(&repository())
        .args(arguments)
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo: {error}"))
}

fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    // Variables that a build sets concern the crate being built, not these.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG") {
            command.env_remove(name);
        }
    }
    command.current_dir(folder);
    command
}

/// Builds and runs all crates. Returns, by package, the document that it printed, or the compiler's
/// errors.
///
/// # Errors
/// If a file cannot be written, or cargo cannot be run.
pub fn all(
    crates: &[Crate],
    folder: &Path,
) -> Result<BTreeMap<String, Result<Value, String>>, String> {
    if crates.is_empty() {
        return Ok(BTreeMap::new());
    }
    write(crates, folder)?;
    let output = cargo(folder)
        .args(["build", "--offline", "--keep-going"])
        .args(["--message-format", "json", "--target-dir"])
        // Dependencies have already been built there, if they have the same features.
        .arg(repository().join("target"))
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    let (mut programs, mut errors) = (BTreeMap::new(), BTreeMap::<String, String>::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        let package = message["target"]["name"].as_str().unwrap_or_default();
        if let Some(program) = message["executable"].as_str() {
            programs.insert(package.to_owned(), program.to_owned());
        } else if message["message"]["level"] == "error" {
            let text = message["message"]["rendered"].as_str().unwrap_or_default();
            errors.entry(package.to_owned()).or_default().push_str(text);
        }
    }
    Ok(crates
        .iter()
        .map(|it| {
            let outcome = match programs.get(&it.package) {
                Some(program) => run(program),
                None => {
                    let errors = errors.remove(&it.package).unwrap_or_default();
                    Err(errors.chars().take(MAX_ERRORS).collect())
                }
            };
            (it.package.clone(), outcome)
        })
        .collect())
}

/// Writes the files that have changed, so that the rest is not rebuilt.
fn write(crates: &[Crate], folder: &Path) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let put = |path: PathBuf, text: &str| {
        if fs::read_to_string(&path).is_ok_and(|it| it == text) {
            return Ok(());
        }
        fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(failed)?;
        fs::write(path, text).map_err(failed)
    };
    for it in crates {
        for (name, text) in &it.files {
            put(folder.join(&it.package).join(name), text)?;
        }
    }
    let members: Vec<_> = crates.iter().map(|it| &it.package).collect();
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\
         [profile.dev]\ndebug = false\nincremental = false\n"
    );
    put(folder.join("Cargo.toml"), &manifest)?;
    if folder.join("Cargo.lock").exists() {
        return Ok(());
    }
    let lock = fs::read_to_string(repository().join("Cargo.lock")).map_err(failed)?;
    put(folder.join("Cargo.lock"), &lock)
}

fn run(program: &str) -> Result<Value, String> {
    let output = Command::new(program)
        .output()
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
}
