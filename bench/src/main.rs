//! Measures the service against others: `cargo run --release -p bench`. See `bench/README.md`.
//!
//! - `run.rs`, `setting.rs`: the order of a run. `report.rs`: its output. `goals.rs`: its goals.
//! - `growth/`: the same for catalogues of several sizes.
//! - `operation.rs`, `dataset/`: the requests, and the data that every contender holds.
//! - `contender.rs`, `running.rs`: the processes to compare; the bench's own are in `servers/` and
//!   `bare_loop.rs`, those in other languages in `bench/peers/`. `postgres.rs`: databases for some of them.
//! - `overload/`: the service alone, under more load than it can take.
//! - `threads.rs`: the service alone, with several numbers of threads.
//! - `load.rs`, `wire.rs`: the load generator. `process.rs`: what a process uses.

mod bare_loop;
mod contender;
mod dataset;
mod goals;
mod growth;
mod load;
mod operation;
mod overload;
mod peers;
mod postgres;
mod process;
mod recording;
mod report;
mod run;
mod running;
mod servers;
mod setting;
mod temporary;
mod threads;
mod wire;

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use contender::Contender;
use dataset::BoxError;

/// Measures the service against raw hyper, bare dropshot, and a server written by hand.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: run::Options,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Measures the service on catalogues of four sizes: what grows with them, and what does not.
    Growth(growth::Options),
    /// Asks the service for more than it can take, and beside crowds that keep connections busy.
    Overload(overload::Options),
    /// Asks the service with several numbers of threads: whether what they share costs more, the more there are.
    Threads(threads::Options),
    /// Runs a contender of the bench's own, until it is ended.
    #[command(hide = true)]
    Serve {
        contender: Contender,
        address: SocketAddr,
        /// The file of the recording, or the file or address of the database.
        store: OsString,
    },
    /// Makes changes without a server, and prints what that took.
    #[command(hide = true)]
    Loop {
        /// What to do, in JSON.
        work: String,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Some(Command::Serve {
            contender,
            address,
            store,
        }) => serve(contender, address, &store),
        Some(Command::Loop { work }) => run_loop(&work),
        Some(Command::Growth(options)) => options.run(),
        Some(Command::Overload(options)) => options.run(),
        Some(Command::Threads(options)) => options.run(),
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

fn run_loop(work: &str) -> Result<(), BoxError> {
    let work: bare_loop::Work = serde_json::from_str(work)?;
    println!("{}", serde_json::to_string(&work.run()?)?);
    Ok(())
}

#[tokio::main]
async fn serve(contender: Contender, address: SocketAddr, store: &OsStr) -> Result<(), BoxError> {
    let file = Path::new(store);
    match contender {
        Contender::Hyper => servers::hyper::serve(address, recording::read(file)?).await,
        Contender::Dropshot => servers::dropshot::serve(address, recording::read(file)?).await,
        Contender::ByHand => servers::by_hand::serve(address, file).await,
        Contender::ByHandPostgres => {
            let url = store.to_str().ok_or("the address is no text")?;
            servers::by_hand_postgres::serve(address, url).await
        }
        _ => Err(format!("{} is not started like this", contender.name()).into()),
    }
}
