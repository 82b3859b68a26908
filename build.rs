//! Makes the server's modules from the published documents: editing one and building again is the
//! whole loop.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

const DOCUMENTS: [&str; 2] = ["openapi/catalog.yaml", "openapi/mobile.yaml"];

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    let mut outcome = ExitCode::SUCCESS;
    for document in DOCUMENTS {
        println!("cargo::rerun-if-changed={document}");
        if let Err(problem) = generate(document) {
            // On standard error, which cargo shows whole when a build script fails.
            eprintln!("{problem}");
            outcome = ExitCode::FAILURE;
        }
    }
    outcome
}

fn generate(path: &str) -> Result<(), String> {
    let document = codegen::Document::read(path).map_err(|problems| problems.to_string())?;
    let text = codegen::server(&document).map_err(|problems| problems.to_string())?;
    let folder = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: run this by cargo")?;
    let file = Path::new(&folder).join(format!("{}.rs", document.module));
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
}
