//! The common settings of all runs: how often, how long, and where.

use std::path::PathBuf;
use std::time::Duration;

use crate::contender::Binaries;
use crate::dataset::BoxError;
use crate::process;

/// The core of the contenders, and that of the load generator.
const CORES: [usize; 2] = [0, 1];

/// What every run is told.
#[derive(Debug, clap::Args)]
pub struct Setting {
    /// How often each is measured.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// How long each time.
    #[arg(long, default_value = "1", value_parser = parse_seconds)]
    pub seconds: Duration,
    /// Lets contenders and load generator run on any core.
    #[arg(long)]
    unpinned: bool,
    /// A binary of the service, instead of one built from this workspace.
    #[arg(long)]
    invoicing: Option<PathBuf>,
    /// Writes all samples to a file.
    #[arg(long)]
    pub json: Option<PathBuf>,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

impl Setting {
    /// Prepares any run. Returns the programs.
    ///
    /// # Errors
    /// When they cannot be built.
    pub fn prepare(&self) -> Result<Binaries, BoxError> {
        process::allow_many_files()?;
        Binaries::find(self.invoicing.clone())
    }

    /// Starts a process on the core of the contenders: it inherits the caller's.
    ///
    /// # Errors
    /// Any error of `start`, or that there is no such core.
    pub fn on_their_core<T>(
        &self,
        start: impl FnOnce() -> Result<T, BoxError>,
    ) -> Result<T, BoxError> {
        if self.unpinned {
            return start();
        }
        process::stay_on(&CORES[..1])?;
        let started = start();
        process::stay_on(&CORES[1..])?;
        started
    }

    /// Starts a process on all of these cores. The load generator is back on its own afterwards.
    ///
    /// # Errors
    /// Any error of `start`, or that there is no such core.
    pub fn on_all_cores<T>(
        &self,
        start: impl FnOnce() -> Result<T, BoxError>,
    ) -> Result<T, BoxError> {
        if self.unpinned {
            return start();
        }
        process::stay_on(&CORES)?;
        let started = start();
        process::stay_on(&CORES[1..])?;
        started
    }

    /// What the figures depend on besides the contenders.
    pub fn describe(&self) -> String {
        let place = match self.unpinned {
            true => "contenders and load generator on any core".to_owned(),
            false => format!(
                "contenders on core {}, load generator on core {}",
                CORES[0], CORES[1]
            ),
        };
        format!("{place}; {}", self.describe_rounds())
    }

    /// The same without the cores, for a run that describes them itself.
    pub fn describe_rounds(&self) -> String {
        format!(
            "medians of {} rounds of {:?}, +- half of their range",
            self.rounds, self.seconds
        )
    }
}
