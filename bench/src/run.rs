//! A run: all contenders up at once, measured in turns.
//!
//! 1. The data set is made, the service started, and its answers recorded for those that repeat them.
//! 2. Every contender is started on the same core, and stays up until the end. One that nobody asks
//!    takes next to nothing. The load generator has the other core.
//! 3. Rounds go over the contenders, never over one contender several times in a row: whatever else the
//!    machine does then slows down all of them alike. What counts is the median of the rounds, and only
//!    as a ratio to another contender's in the same run.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::contender::{Binaries, Contender, Running};
use crate::dataset::{Dataset, Failure};
use crate::load::Load;
use crate::operation::Operation;
use crate::process;
use crate::recording::{self, Recording};
use crate::report::{self, Measured};

/// The core of the contenders, and that of the load generator.
const CORES: [usize; 2] = [0, 1];

/// What is measured, and how.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// What is asked.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "get,list20,list100,create"
    )]
    operations: Vec<Operation>,
    /// How many ask at once.
    #[arg(long, value_delimiter = ',', default_value = "1,16,64,256,1000")]
    connections: Vec<usize>,
    /// Who answers.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "hyper,dropshot,by-hand,invoicing"
    )]
    contenders: Vec<Contender>,
    /// How often each is measured.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How long each time.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Products in the data set.
    #[arg(long, default_value_t = 100_000)]
    products: u64,
    /// Lets contenders and load generator run on any core.
    #[arg(long)]
    unpinned: bool,
    /// A binary of the service, instead of one built from this workspace.
    #[arg(long)]
    invoicing: Option<PathBuf>,
    /// Writes all samples to a file.
    #[arg(long)]
    json: Option<PathBuf>,
}

impl Options {
    /// Measures, and prints the table as it grows.
    ///
    /// # Errors
    /// When a contender does not start, or answers wrongly.
    pub fn run(&self) -> Result<(), Failure> {
        let binaries = Binaries::find(self.invoicing.clone())?;
        let folder = tempfile::Builder::new()
            .prefix("invoicing-bench-")
            .tempdir()?;
        println!("{}", self.setting());
        let make = Dataset::make(folder.path(), self.products);
        let dataset = tokio::runtime::Runtime::new()?.block_on(make)?;

        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let service = self.start(Contender::Invoicing, &dataset, &binaries)?;
        let recording = runtime.block_on(recording::record(service.address, &dataset))?;
        let mut running = Vec::new();
        for contender in self
            .contenders
            .iter()
            .filter(|it| **it != Contender::Invoicing)
        {
            contender.prepare(&dataset, &recording)?;
            running.push(self.start(*contender, &dataset, &binaries)?);
        }
        if self.contenders.contains(&Contender::Invoicing) {
            running.push(service);
        }
        let measured = runtime.block_on(self.measure_all(&running, &dataset, &recording))?;
        if let Some(path) = &self.json {
            fs::write(path, serde_json::to_vec_pretty(&measured)?)?;
        }
        Ok(())
    }

    /// What the figures depend on besides the contenders.
    fn setting(&self) -> String {
        let place = match self.unpinned {
            true => "contenders and load generator on any core".to_owned(),
            false => format!(
                "contenders on core {}, load generator on core {}",
                CORES[0], CORES[1]
            ),
        };
        format!(
            "{} products; {place}; medians of {} rounds of {} s, +- half of their range",
            self.products, self.rounds, self.seconds
        )
    }

    fn start(
        &self,
        contender: Contender,
        dataset: &Dataset,
        binaries: &Binaries,
    ) -> Result<Running, Failure> {
        if self.unpinned {
            return contender.start(dataset, binaries);
        }
        // It inherits the core that we are on.
        process::stay_on(&CORES[..1])?;
        let running = contender.start(dataset, binaries);
        process::stay_on(&CORES[1..])?;
        running
    }

    async fn measure_all(
        &self,
        running: &[Running],
        dataset: &Dataset,
        recording: &Recording,
    ) -> Result<Vec<Measured>, Failure> {
        let mut all = Vec::new();
        for operation in &self.operations {
            for connections in &self.connections {
                println!("{}", report::head(*operation, *connections));
                let measure = self.measure(*operation, *connections, running, dataset, recording);
                for measured in measure.await? {
                    println!("{}", report::line(&measured));
                    all.push(measured);
                }
            }
        }
        Ok(all)
    }

    /// Step 3.
    async fn measure(
        &self,
        operation: Operation,
        connections: usize,
        running: &[Running],
        dataset: &Dataset,
        recording: &Recording,
    ) -> Result<Vec<Measured>, Failure> {
        let mut all: Vec<_> = running
            .iter()
            .map(|running| Measured {
                operation,
                connections,
                contender: running.contender,
                samples: Vec::new(),
            })
            .collect();
        for _ in 0..self.rounds {
            for (running, measured) in running.iter().zip(&mut all) {
                let load = Load {
                    address: running.address,
                    pid: running.pid(),
                    operation,
                    dataset,
                    recorded: recording
                        .get(&operation)
                        .filter(|_| running.contender.repeats()),
                    connections,
                    time: Duration::from_secs_f64(self.seconds),
                };
                let failed = |error| format!("{}: {error}", running.contender.name());
                measured.samples.push(load.run().await.map_err(failed)?);
            }
        }
        Ok(all)
    }
}
