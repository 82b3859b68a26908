//! Counts the instructions of the hot paths and compares them with the accepted ones: `cargo instructions`.
//! See `bench/README.md`, "Instructions".
//!
//! 1. This program starts itself under callgrind, with the paths to walk (`paths.rs`). Callgrind counts every
//!    instruction of every thread, even on a machine that is busy with something else.
//! 2. At every call of [`paths::write_counts_down`], callgrind writes the counts since the previous call to a
//!    separate file (`callgrind.rs`).
//! 3. The counts are compared with `figures.txt` (`figures.rs`), or replace it.
//!
//! It needs nothing but Debian's valgrind. A framework for such benchmarks (gungraun) brings a runner that
//! must be installed in the matching version, and keeps its baseline under `target/`, where no review sees
//! it.

mod callgrind;
mod figures;
mod paths;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use figures::Figures;
use paths::HotPath;

/// As shipped.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A boxed error: this program prints it and exits.
type BoxError = Box<dyn Error + Send + Sync>;

/// How often each path is walked while it is counted.
const ROUNDS: u64 = 100;

/// Compares the instructions of the hot paths with those that were accepted.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Where the accepted figures are.
    #[arg(long, global = true, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/figures.txt"))]
    figures: PathBuf,
    /// Walks each path so many percent more often than it is counted for: to see the check fail.
    #[arg(long, default_value_t = 0, value_name = "PERCENT")]
    burden: u64,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Takes the figures of now as accepted.
    Accept,
    /// Walks the paths, counted by the process that started this.
    #[command(hide = true)]
    Walk {
        /// How often each.
        rounds: u64,
    },
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether the figures may stay as they are.
fn run(arguments: &Arguments) -> Result<bool, BoxError> {
    let file = &arguments.figures;
    match arguments.command {
        Some(Command::Walk { rounds }) => paths::walk(rounds).map(|()| true),
        Some(Command::Accept) => {
            fs::write(file, count(0)?.to_string())?;
            println!(
                "{} is written; commit it, and say what changed it",
                file.display()
            );
            Ok(true)
        }
        None => compare(file, &count(arguments.burden)?),
    }
}

fn count(burden: u64) -> Result<Figures, BoxError> {
    let rounds = ROUNDS + ROUNDS * burden / 100;
    let counts = callgrind::count(rounds, HotPath::ALL.len())?;
    let names = HotPath::ALL.map(HotPath::name);
    Ok(Figures::new(
        names
            .into_iter()
            .zip(counts.iter().map(|count| count / ROUNDS)),
    ))
}

fn compare(file: &Path, now: &Figures) -> Result<bool, BoxError> {
    let accepted = fs::read_to_string(file).map_err(|error| {
        format!(
            "{}: {error}; `cargo instructions accept` writes it",
            file.display()
        )
    })?;
    let accepted: Figures = accepted
        .parse()
        .map_err(|error| format!("{}: {error}", file.display()))?;
    let comparison = accepted.compare(now);
    print!("{comparison}");
    Ok(comparison.holds())
}
