//! The command `openapi-dropshot`: checks documents, shows or writes the code generated from them, and compares
//! them.
//!
//! Each subcommand is a function that returns whether all is well; clap reports arguments that it does not
//! understand. A reader that stops early (`| head`) is not a failure.

mod client;
mod compare;

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use openapi_dropshot::{Document, Problems};

const EXIT_CODES: &str = "Exit code: 0 when all is well, 1 when there are problems or something is stale, 2 for wrong \
                          usage.";

const EXAMPLES: &str = "\
Examples:
  openapi-dropshot check openapi/*.yaml
  openapi-dropshot server openapi/shop.yaml
  openapi-dropshot client --out client/src/openapi openapi/shop.yaml openapi/payments.yaml
  openapi-dropshot compare openapi/released/shop-1.0.0.yaml openapi/shop.yaml";

/// Makes Rust of OpenAPI documents, YAML or JSON: servers for dropshot, and clients.
#[derive(Parser)]
#[command(name = "openapi-dropshot", version, disable_help_subcommand = true, after_help = format!("{EXIT_CODES}\n\n{EXAMPLES}"))]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Says whether documents are understood, or every problem found in them
    #[command(after_help = EXIT_CODES)]
    Check {
        #[command(flatten)]
        reading: Reading,
        /// OpenAPI documents, YAML or JSON
        #[arg(required = true, value_name = "DOCUMENT")]
        documents: Vec<PathBuf>,
    },
    /// Prints the server's module that a build script would make of a document, or every problem found in it
    #[command(after_help = EXIT_CODES)]
    Server {
        #[command(flatten)]
        reading: Reading,
        /// An OpenAPI document, YAML or JSON
        document: PathBuf,
    },
    /// Writes the client's modules of documents into a folder
    #[command(after_help = EXIT_CODES)]
    Client(client::Client),
    /// Says what changed between documents, whom it breaks, and whether info.version says so
    ///
    /// Without documents, each openapi/NAME.yaml is compared with its newest release in openapi/released/
    /// (NAME-VERSION.yaml).
    #[command(after_help = EXIT_CODES)]
    Compare(compare::Compare),
}

/// How strictly documents are read.
#[derive(Args)]
struct Reading {
    /// Takes what nothing would keep, and changes nothing that is sent, as documentation; tells each such place
    #[arg(long)]
    lenient: bool,
}

impl Reading {
    /// Reads a document, and reports what of it is not kept.
    fn read(&self, path: &Path) -> Result<Document, Problems> {
        if !self.lenient {
            return Document::read(path);
        }
        let (document, not_kept) = Document::read_leniently(path)?;
        for problem in not_kept {
            eprintln!("{problem}");
        }
        Ok(document)
    }
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Check { reading, documents } => check(&reading, &documents),
        Command::Server { reading, document } => server(&reading, &document),
        Command::Client(client) => client.run(),
        Command::Compare(compare) => compare.run(),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{}", error.trim_end());
            ExitCode::FAILURE
        }
    }
}

/// Reports on every document, good or bad.
fn check(reading: &Reading, documents: &[PathBuf]) -> Result<bool, String> {
    let mut well = true;
    for path in documents {
        match reading.read(path) {
            Ok(document) => {
                let operations = document.operations.len();
                show(&format!(
                    "{}: understood, operations: {operations}\n",
                    path.display()
                ))?;
            }
            Err(problems) => {
                eprint!("{problems}");
                well = false;
            }
        }
    }
    Ok(well)
}

fn server(reading: &Reading, document: &Path) -> Result<bool, String> {
    let document = reading.read(document);
    let text = document.and_then(|document| openapi_dropshot::server(&document));
    show(&text.map_err(|problems| problems.to_string())?)?;
    Ok(true)
}

/// Prints to standard output, for as long as it is being read.
fn show(text: &str) -> Result<(), String> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}
