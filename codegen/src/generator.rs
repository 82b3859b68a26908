//! The generator for build scripts: reads documents, writes modules to `OUT_DIR`, and reports problems through cargo.
//!
//! Nothing here returns an error: a build script can report errors only to cargo, which takes each problem on a line of
//! its own (`cargo::error`), fails the build, and shows nothing but these lines. So all problems of all documents are
//! reported at once, and the script carries on with its other work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use indexmap::IndexMap;

use crate::{Document, Problems};

/// Generates the server's module of a document, from a build script.
///
/// `openapi/shop.yaml` becomes `shop.rs` in `OUT_DIR`. A document with problems fails the build, which shows all of them.
/// For most build scripts, this is all of `main`:
///
/// ```no_run
/// openapi_dropshot::generate("openapi/shop.yaml");
/// ```
///
/// The crate includes the result:
///
/// ```ignore
/// pub mod shop {
///     include!(concat!(env!("OUT_DIR"), "/shop.rs"));
/// }
/// ```
///
/// [`Generator`] does more: servers for several documents, and clients.
pub fn generate(document: impl AsRef<Path>) {
    Generator::new().server(document).generate();
}

/// What a build script generates, and from which documents.
///
/// ```no_run
/// openapi_dropshot::Generator::new()
///     .server("openapi/shop.yaml")
///     .client("openapi/payments.yaml")
///     .inner("crate::Credentials")
///     .generate();
/// ```
///
/// Each server is a file in `OUT_DIR`, named after the document (`shop.rs`). All clients go into one folder there,
/// `client`, whose `mod.rs` has a module for each document. A crate includes it as a module of its own:
///
/// ```ignore
/// pub mod client {
///     include!(concat!(env!("OUT_DIR"), "/client/mod.rs"));
/// }
/// ```
///
/// To read a client's code, or to publish it without this generator, write it into the sources instead, with
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
    /// Creates a generator with nothing to generate yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the server's module of a document, by its path from the package's folder.
    pub fn server(mut self, document: impl AsRef<Path>) -> Self {
        self.servers.push(document.as_ref().to_owned());
        self
    }

    /// Adds a module for a document to the client, by its path from the package's folder.
    pub fn client(mut self, document: impl AsRef<Path>) -> Self {
        self.clients.push(document.as_ref().to_owned());
        self
    }

    /// Sets a type of the crate, by its path there, that every client carries. See [`client`](crate::client).
    pub fn inner(mut self, path: impl Into<String>) -> Self {
        self.inner = Some(path.into());
        self
    }

    /// Sets a feature of the crate that adds a mock for tests to each document of the client. See
    /// [`client`](crate::client).
    pub fn mock(mut self, feature: impl Into<String>) -> Self {
        self.mock = Some(feature.into());
        self
    }

    /// Accepts documents of which a part is documentation only ([`Document::read_leniently`]); cargo shows each such part
    /// as a warning. dropshot does not publish it, so `openapi-dropshot-test` reports it as a difference.
    pub fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// Generates everything, and tells cargo which files it depends on, or what is wrong.
    pub fn generate(&self) {
        for document in self.servers.iter().chain(&self.clients) {
            println!("cargo::rerun-if-changed={}", document.display());
        }
        let problems = match env::var_os("OUT_DIR") {
            Some(folder) => self.make(Path::new(&folder)).err().unwrap_or_default(),
            None => vec!["OUT_DIR is not set: run this by cargo".to_owned()],
        };
        for line in problems {
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

    /// Writes what it can into a folder; if two servers would be the same file, it writes neither. Each problem is one
    /// line.
    fn make(&self, folder: &Path) -> Result<(), Vec<String>> {
        let mut problems = Vec::new();
        // Each document is read once, so that its problems are reported once.
        let mut documents = IndexMap::new();
        for path in self.servers.iter().chain(&self.clients) {
            documents
                .entry(path)
                .or_insert_with(|| match self.read(path) {
                    Ok(document) => Some(document),
                    Err(found) => {
                        problems.extend(lines(&found));
                        None
                    }
                });
        }
        let servers = self.servers.iter();
        let servers: Vec<&Document> = servers
            .filter_map(|it| documents.get(it)?.as_ref())
            .collect();
        match crate::emit::check_modules(servers.iter().copied(), false) {
            Ok(()) => {
                for document in servers {
                    let file = folder.join(format!("{}.rs", document.module));
                    let made = crate::server(document).map_err(|found| lines(&found));
                    let made = made.and_then(|it| write(&file, &it).map_err(|error| vec![error]));
                    problems.extend(made.err().into_iter().flatten());
                }
            }
            Err(found) => problems.extend(lines(&found)),
        }
        if !self.clients.is_empty() && problems.is_empty() {
            let clients = self.clients.iter();
            let clients: Vec<_> = clients
                .filter_map(|it| documents.swap_remove(it)?)
                .collect();
            let modules = crate::client(&clients, self.inner.as_deref(), self.mock.as_deref());
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

/// The module without its own documentation (`//!`), which is not valid Rust where it is included.
fn without_head(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.starts_with("//!"));
    lines.map(|line| format!("{line}\n")).collect()
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    let made = file.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(file, text))
        .map_err(|error| format!("{}: it cannot be written: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder for this test alone, with these documents, each with one operation of that name.
    fn folder(name: &str, documents: &[(&str, &str)]) -> PathBuf {
        let folder = format!("openapi-dropshot-{name}-{}", std::process::id());
        let folder = env::temp_dir().join(folder);
        for (file, operation) in documents {
            let text = format!(
                "openapi: 3.0.3\ninfo: {{ title: Shop, version: '1' }}\npaths: {{ /: {{ get: {{ operationId: \
                 {operation}, responses: {{ '204': {{ description: Done. }} }} }} }} }}\n"
            );
            write(&folder.join(file), &text).unwrap();
        }
        folder
    }

    #[test]
    fn two_servers_of_one_name_are_refused_and_all_problems_told() {
        let documents = [("a/shop.yaml", "open"), ("b/shop.yaml", "close")];
        let folder = folder("alike", &documents);
        let all = documents.iter().fold(Generator::new(), |all, (file, _)| {
            all.server(folder.join(file))
        });
        let problems = all
            .server(folder.join("none.yaml"))
            .make(&folder)
            .unwrap_err();
        let [missing, alike] = &problems[..] else {
            panic!("{problems:?}");
        };
        assert!(
            missing.contains("none.yaml: the file cannot be read"),
            "{missing}"
        );
        assert!(
            alike.ends_with("a/shop.yaml becomes the module `shop`, too; rename one of the files")
        );
        assert!(!folder.join("shop.rs").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_server_and_a_client_are_made_of_one_document() {
        let folder = folder("both", &[("shop.yaml", "open")]);
        let document = folder.join("shop.yaml");
        let generator = Generator::new().server(&document).client(&document);
        generator.make(&folder).unwrap();
        for file in ["shop.rs", "client/mod.rs", "client/shop.rs"] {
            assert!(folder.join(file).is_file(), "{file}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
