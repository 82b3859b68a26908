//! Generates a server's module from each test document.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

const FOLDER: &str = "../tests";
const DOCUMENTS: [&str; 6] = [
    "accepted/bodies.yaml",
    "accepted/security.yaml",
    "documents/library.yaml",
    "documents/parcels.yaml",
    "documents/petstore.yaml",
    "documents/shapes.json",
];

fn main() -> ExitCode {
    let mut outcome = ExitCode::SUCCESS;
    for document in DOCUMENTS {
        let path = format!("{FOLDER}/{document}");
        println!("cargo::rerun-if-changed={path}");
        if let Err(problem) = generate(&path) {
            eprintln!("{problem}");
            outcome = ExitCode::FAILURE;
        }
    }
    outcome
}

fn generate(path: &str) -> Result<(), String> {
    let document =
        openapi_dropshot::Document::read(path).map_err(|problems| problems.to_string())?;
    let text = openapi_dropshot::server(&document).map_err(|problems| problems.to_string())?;
    let folder = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: run this by cargo")?;
    let file = Path::new(&folder).join(format!("{}.rs", document.module));
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
}
