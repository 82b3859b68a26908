//! The generator as a build script uses it: documents in, modules in `OUT_DIR` out, problems as cargo shows them.
//!
//! Nothing here fails: a build script has nobody to hand an error to but cargo, which is told of each problem on a line of its
//! own (`cargo::error`), fails the build for it, and shows no more than these lines. So all problems of all documents
//! are told at once, and a script goes on to what else it has to do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::{Document, Problems};

/// Makes the server's module of a document, for a build script.
///
/// `openapi/shop.yaml` becomes `shop.rs` in `OUT_DIR`. A document with problems fails the build, with all of them. That
/// is all that `main` of most build scripts has to say:
///
/// ```no_run
/// openapi_dropshot::generate("openapi/shop.yaml");
/// ```
///
/// The crate includes what has been made:
///
/// ```ignore
/// pub mod shop {
///     include!(concat!(env!("OUT_DIR"), "/shop.rs"));
/// }
/// ```
///
/// [`Generator`] makes more: servers of several documents, and clients.
pub fn generate(document: impl AsRef<Path>) {
    Generator::new().server(document).generate();
}

/// What a build script makes of documents.
///
/// ```no_run
/// openapi_dropshot::Generator::new()
///     .server("openapi/shop.yaml")
///     .client("openapi/payments.yaml")
///     .inner("crate::Credentials")
///     .generate();
/// ```
///
/// Each server is a file of `OUT_DIR`, called like the document (`shop.rs`). All clients are one folder there, `client`,
/// whose `mod.rs` has a module for each document. A crate includes it as one of its own:
///
/// ```ignore
/// pub mod client {
///     include!(concat!(env!("OUT_DIR"), "/client/mod.rs"));
/// }
/// ```
///
/// A client that is to be read, or published without this generator, is written into the sources instead, by
/// `openapi-dropshot client`.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is made before `generate`"]
pub struct Generator {
    servers: Vec<PathBuf>,
    clients: Vec<PathBuf>,
    inner: Option<String>,
    mock: Option<String>,
    is_lenient: bool,
}

impl Generator {
    /// Makes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The server's module of one more document, by its path from the package's folder.
    pub fn server(mut self, document: impl AsRef<Path>) -> Self {
        self.servers.push(document.as_ref().to_owned());
        self
    }

    /// A module for one more document in the client, by its path from the package's folder.
    pub fn client(mut self, document: impl AsRef<Path>) -> Self {
        self.clients.push(document.as_ref().to_owned());
        self
    }

    /// A type of the crate, by its path there, that every client carries. See [`client`](crate::client).
    pub fn inner(mut self, path: impl Into<String>) -> Self {
        self.inner = Some(path.into());
        self
    }

    /// A feature of the crate under which each document of the client has a mock for tests. See
    /// [`client`](crate::client).
    pub fn mock(mut self, feature: impl Into<String>) -> Self {
        self.mock = Some(feature.into());
        self
    }

    /// Takes documents of which a part is documentation only ([`Document::read_leniently`]); cargo shows each of these as
    /// a warning.
    pub fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// Makes all of it, and tells cargo what it was made of, or what is wrong.
    pub fn generate(&self) {
        for document in self.servers.iter().chain(&self.clients) {
            println!("cargo::rerun-if-changed={}", document.display());
        }
        for line in self.make().err().into_iter().flatten() {
            println!("cargo::error={line}");
        }
    }

    fn read(&self, path: &Path) -> Result<Document, Problems> {
        if !self.is_lenient {
            return Document::read(path);
        }
        let (document, not_kept) = Document::read_leniently(path)?;
        for problem in not_kept {
            println!("cargo::warning={problem}");
        }
        Ok(document)
    }

    /// Writes what can be made. What is wrong has a line each.
    fn make(&self) -> Result<(), Vec<String>> {
        let folder = env::var_os("OUT_DIR").map(PathBuf::from);
        let folder =
            folder.ok_or_else(|| vec!["OUT_DIR is not set: run this by cargo".to_owned()])?;
        let mut problems = Vec::new();
        for path in &self.servers {
            match self
                .read(path)
                .and_then(|it| Ok((crate::server(&it)?, it.module)))
            {
                Ok((text, module)) => {
                    problems.extend(write(&folder.join(format!("{module}.rs")), &text).err())
                }
                Err(found) => problems.extend(lines(&found)),
            }
        }
        let mut documents = Vec::new();
        for path in &self.clients {
            match self.read(path) {
                Ok(document) => documents.push(document),
                // They have been told for the server.
                Err(_) if self.servers.contains(path) => {}
                Err(found) => problems.extend(lines(&found)),
            }
        }
        if !self.clients.is_empty() && problems.is_empty() {
            let modules = crate::client(&documents, self.inner.as_deref(), self.mock.as_deref());
            let modules = modules.map_err(|found| lines(&found))?;
            problems.extend(write_client(&folder.join("client"), modules).err());
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(problems),
        }
    }
}

fn lines(problems: &Problems) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

fn write_client(folder: &Path, modules: BTreeMap<String, String>) -> Result<(), String> {
    for (name, text) in modules {
        let text = match name.as_str() {
            "mod.rs" => without_head(&text),
            _ => text,
        };
        write(&folder.join(name), &text)?;
    }
    Ok(())
}

/// A module without what it says of itself, which is no Rust where it is included.
fn without_head(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.starts_with("//!"));
    lines.map(|line| format!("{line}\n")).collect()
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    let made = file.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(file, text))
        .map_err(|error| format!("{}: it cannot be written: {error}", file.display()))
}
