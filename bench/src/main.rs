//! Measures the service against others: `cargo run --release -p bench`. See `bench/README.md`.
//!
//! - `run.rs`: what happens in which order. `report.rs`: how it is shown.
//! - `operation.rs`, `dataset.rs`: what is asked, of whom all hold the same.
//! - `contender.rs`: processes to be compared; those of the bench's own are in `servers/`.
//! - `load.rs`, `wire.rs`: who asks. `process.rs`: what that costs whom.

mod contender;
mod dataset;
mod load;
mod operation;
mod process;
mod recording;
mod report;
mod run;
mod servers;
mod wire;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use contender::Contender;
use dataset::Failure;

/// Measures the service against raw hyper, bare dropshot, and a server written by hand.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    serve: Option<Serve>,
    #[command(flatten)]
    options: run::Options,
}

/// What the bench starts itself as.
#[derive(Debug, clap::Subcommand)]
enum Serve {
    /// Runs a contender of the bench's own, until it is ended.
    #[command(hide = true)]
    Serve {
        contender: Contender,
        address: SocketAddr,
        /// The recording, or the database.
        file: PathBuf,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.serve {
        Some(Serve::Serve {
            contender,
            address,
            file,
        }) => serve(contender, address, file),
        None => arguments.options.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn serve(contender: Contender, address: SocketAddr, file: PathBuf) -> Result<(), Failure> {
    match contender {
        Contender::Hyper => servers::hyper::serve(address, recording::read(&file)?).await,
        Contender::Dropshot => servers::dropshot::serve(address, recording::read(&file)?).await,
        Contender::ByHand => servers::by_hand::serve(address, &file).await,
        Contender::Invoicing => Err("the service is a binary of its own: invoicing serve".into()),
    }
}
