//! Worker threads: whether shared state costs more, the more threads share it: `cargo run --release -p bench -- threads`.
//!
//! 1. The service is started once for each number of threads, on a separate data set, and may use all cores. The load
//!    generator runs on the last of them, and never sleeps, so that the threads of the service are interrupted
//!    anywhere, even while one holds a lock: that is worse than what as many cores would do to it.
//! 2. Rounds go over the numbers of threads, so that the machine's other load affects all of them alike.
//! 3. The result is processor time, as a multiple of that of one thread in the same round: waiting for a lock uses some
//!    to go to sleep, and some to be woken. How often threads go to sleep, for any reason, is shown beside it.

use std::fs;

use serde_json::json;

use crate::contender::{Binaries, Contender};
use crate::dataset::{BoxError, Dataset};
use crate::load::{Load, Sample};
use crate::operation::{Operation, Script};
use crate::report::Spread;
use crate::running::Running;
use crate::setting::Setting;
use crate::temporary;

/// What is measured, and how.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// How many threads answer requests, the first of which the others are compared with.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8")]
    threads: Vec<usize>,
    /// What is asked, one after the other.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "get,list20,create,patch,refresh"
    )]
    operations: Vec<Operation>,
    /// How many ask at once.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Products in the data set.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(100..))]
    products: u64,
    #[command(flatten)]
    setting: Setting,
}

/// The service with this many threads.
struct Server {
    threads: usize,
    dataset: Dataset,
    running: Running,
}

/// All rounds of an operation with this many threads.
#[derive(serde::Serialize)]
struct Measured {
    operation: Operation,
    threads: usize,
    /// One sample per round.
    samples: Vec<Sample>,
}

impl Options {
    /// Measures, and prints the table.
    ///
    /// # Errors
    /// When the service does not start, or answers wrongly.
    pub fn run(&self) -> Result<(), BoxError> {
        let binaries = self.setting.prepare()?;
        let folder = temporary::folder("invoicing-threads-")?;
        let describe = format!(
            "{} products, {} connections; the service on all cores; {}",
            self.products,
            self.connections,
            self.setting.describe_rounds()
        );
        println!("{describe}\n\n{HEAD}");
        let start = |threads: &usize| {
            let folder = folder.path().join(threads.to_string());
            fs::create_dir(&folder)?;
            let make = Dataset::make(&folder, self.products, self.connections);
            let dataset = tokio::runtime::Runtime::new()?.block_on(make)?;
            let running = self.start(*threads, &dataset, &binaries)?;
            Ok(Server {
                threads: *threads,
                dataset,
                running,
            })
        };
        let servers = self.threads.iter().map(start);
        let servers = servers.collect::<Result<Vec<_>, BoxError>>()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut all = Vec::new();
        for operation in &self.operations {
            let measured = runtime.block_on(self.measure(*operation, &servers))?;
            for one in &measured {
                println!("{}", line(one, &measured[0]));
            }
            all.extend(measured);
        }
        if let Some(path) = &self.setting.json {
            let run = json!({ "setting": describe, "measured": all });
            fs::write(path, serde_json::to_vec_pretty(&run)?)?;
        }
        Ok(())
    }

    /// Step 1.
    fn start(
        &self,
        threads: usize,
        dataset: &Dataset,
        binaries: &Binaries,
    ) -> Result<Running, BoxError> {
        let command = |address| {
            let mut command = binaries.service(address, dataset.url().as_ref());
            command.env("TOKIO_WORKER_THREADS", threads.to_string());
            command
        };
        let log = dataset.file("service.log");
        let start = || {
            let tokens = dataset.refresh_tokens();
            Running::start(Contender::Invoicing, command, &log, tokens, None)
        };
        self.setting.on_all_cores(start)
    }

    /// Steps 2 and 3.
    async fn measure(
        &self,
        operation: Operation,
        servers: &[Server],
    ) -> Result<Vec<Measured>, BoxError> {
        let begin = |server: &Server| Measured {
            operation,
            threads: server.threads,
            samples: Vec::new(),
        };
        let mut all: Vec<_> = servers.iter().map(begin).collect();
        for _ in 0..self.setting.rounds {
            for (server, measured) in servers.iter().zip(&mut all) {
                measured.samples.push(self.sample(operation, server).await?);
            }
        }
        Ok(all)
    }

    async fn sample(&self, operation: Operation, server: &Server) -> Result<Sample, BoxError> {
        let Server {
            dataset, running, ..
        } = server;
        let load = Load {
            running,
            operations: &[operation],
            script: &|operation, number| {
                Script::new(operation, dataset, None, &running.refresh_tokens, number)
            },
            connections: self.connections,
            time: self.setting.seconds,
        };
        Ok(load.run().await?[0])
    }
}

const HEAD: &str = "\
| | threads | requests/s | CPU us a request | times that of the first | sleeps a request | p99 ms |
|---|--:|--:|--:|--:|--:|--:|";

fn line(measured: &Measured, first: &Measured) -> String {
    let median =
        |figure: fn(&Sample) -> f64| Spread::new(measured.samples.iter().map(figure)).median;
    let rounds = measured.samples.iter().zip(&first.samples);
    let times = Spread::new(rounds.map(|(one, first)| one.cpu / first.cpu));
    format!(
        "| {} | {} | {:.0} | {:.1} | {times} | {:.2} | {:.2} |",
        measured.operation.name(),
        measured.threads,
        median(|sample| sample.rate),
        median(|sample| sample.cpu),
        median(|sample| sample.sleeps),
        median(|sample| sample.p99),
    )
}
