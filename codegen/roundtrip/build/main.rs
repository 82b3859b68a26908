//! Generates a server's module from each test document, and a list of all components for the tests of values.

mod random;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use openapi_dropshot::{Document, names};

const FOLDER: &str = "../tests";
const DOCUMENTS: [&str; 6] = [
    "accepted/bodies.yaml",
    "accepted/security.yaml",
    "documents/library.yaml",
    "documents/parcels.yaml",
    "documents/petstore.yaml",
    "documents/shapes.json",
];

/// The documents whose components are tested with random values, besides random schemas.
const OF_VALUES: [&str; 8] = [
    "accepted/absence.yaml",
    "accepted/composed.yaml",
    "accepted/inline.yaml",
    "accepted/limits.yaml",
    "accepted/named.yaml",
    "accepted/open.yaml",
    "accepted/scalars.yaml",
    "accepted/unions.yaml",
];

/// Generated modules need these lints allowed, since only a few of their types are used.
const LENIENCE: &str = "#[allow(dead_code, unused_imports, clippy::all)]";

fn main() -> ExitCode {
    match made() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn made() -> Result<(), String> {
    for document in DOCUMENTS {
        generate(&read(document)?)?;
    }
    println!("cargo::rerun-if-env-changed=CODEGEN_SCHEMAS_SEED");
    println!("cargo::rerun-if-changed=build");
    let seed = env::var("CODEGEN_SCHEMAS_SEED").unwrap_or_else(|_| "1".to_owned());
    let seed = seed
        .parse()
        .map_err(|_| "CODEGEN_SCHEMAS_SEED is a number")?;
    let mut documents = OF_VALUES
        .iter()
        .map(|it| read(it))
        .collect::<Result<Vec<_>, _>>()?;
    documents.push(random::document(seed)?);
    for document in &documents {
        generate(document)?;
    }
    write("components.rs", &components(&documents))
}

fn read(document: &str) -> Result<Document, String> {
    let path = format!("{FOLDER}/{document}");
    println!("cargo::rerun-if-changed={path}");
    Document::read(path).map_err(|problems| problems.to_string())
}

fn generate(document: &Document) -> Result<(), String> {
    let text = openapi_dropshot::server(document).map_err(|problems| problems.to_string())?;
    write(&format!("{}.rs", document.module), &text)
}

fn write(name: &str, text: &str) -> Result<(), String> {
    let folder = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: run this by cargo")?;
    let file = Path::new(&folder).join(name);
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Returns a module for each document, and a function that lists their components.
fn components(documents: &[Document]) -> String {
    let mut modules = String::new();
    let mut list = String::new();
    for document in documents {
        let module = &document.module;
        // Writing to a string cannot fail.
        let _ = writeln!(
            modules,
            "{LENIENCE} mod {module} {{ include!(concat!(env!(\"OUT_DIR\"), \"/{module}.rs\")); }}"
        );
        let source = document.source.to_string();
        let _ = writeln!(list, "Source {{ document: {source:?}, components: vec![");
        for (name, _) in document.schemas.iter().filter(|(_, it)| !it.is_made) {
            let ty = names::of_type(name);
            let _ = writeln!(
                list,
                "Component {{ name: {name:?}, schema: &{module}::schemas::{ty}, \
                 read: reread::<{module}::types::{ty}> }},"
            );
        }
        list.push_str("] },\n");
    }
    format!("{modules}\nfn sources() -> Vec<Source> {{ vec![\n{list}] }}\n")
}
