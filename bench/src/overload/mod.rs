//! More load than the service can take: `cargo run --release -p bench -- overload`.
//!
//! 1. The service runs alone, on one core; the other is the load generator's.
//! 2. In each round, for each operation: the most it can take, by a closed loop ([`crate::load`]), then several times
//!    as much, on a schedule (`flood.rs`). The rate that it still serves is compared with that peak.
//! 3. In each round, for each operation: the closed loop alone, then beside a crowd of connections that
//!    cost a server patience instead of work (`crowd.rs`). Processor time and latency are compared.
//! 4. In each round, for each operation: a part of the peak on a schedule, alone, then beside people who sign in.
//!    Latency is compared. (A closed loop would take all of the core, and would lose whatever the sign-ins get of it.)

mod crowd;
mod flood;

use std::fs;
use std::time::Instant;

use serde_json::json;

use crate::contender::Contender;
use crate::dataset::{BoxError, Dataset};
use crate::load::{Load, Sample};
use crate::operation::{Operation, Script};
use crate::report::Spread;
use crate::running::Running;
use crate::setting::Setting;
use crate::temporary;
use crowd::{Crowd, Size};
use flood::{Flood, Outcome};

/// Connections of the closed loop.
const CONNECTIONS: usize = 64;

/// What is measured, and how.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// What is asked.
    #[arg(long, value_delimiter = ',', default_value = "get,create")]
    operations: Vec<Operation>,
    /// How many times what the service can take is offered.
    #[arg(long, default_value_t = 4)]
    times: u32,
    /// Over how many connections.
    #[arg(long, default_value_t = 2_000)]
    connections: usize,
    /// How many connections of the crowd are idle.
    #[arg(long, default_value_t = 5_000)]
    idle: usize,
    /// How many send a body, a byte a second.
    #[arg(long, default_value_t = 1_000)]
    slow: usize,
    /// How many ask and never read.
    #[arg(long, default_value_t = 500)]
    deaf: usize,
    /// How many people sign in, again and again.
    #[arg(long, default_value_t = 64)]
    sign_ins: usize,
    /// What part of the peak is asked for beside them.
    #[arg(long, default_value_t = 0.5)]
    part: f64,
    /// Products in the data set.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(100..))]
    products: u64,
    #[command(flatten)]
    setting: Setting,
}

impl Options {
    /// Measures, and prints both tables.
    ///
    /// # Errors
    /// When the service does not start, or answers wrongly.
    pub fn run(&self) -> Result<(), BoxError> {
        let binaries = self.setting.prepare()?;
        let folder = temporary::folder("invoicing-overload-")?;
        let setting = format!("{} products; {}", self.products, self.setting.describe());
        println!("{setting}");
        let devices = self.connections.max(CONNECTIONS);
        let make = Dataset::make(folder.path(), self.products, devices);
        let dataset = tokio::runtime::Runtime::new()?.block_on(make)?;
        let start = || Contender::Invoicing.start(&dataset, &binaries);
        let running = self.setting.on_their_core(start)?;
        let overload = Overload {
            options: self,
            dataset,
            running,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let floods = runtime.block_on(overload.flood_all())?;
        let crowds = runtime.block_on(overload.crowd_all())?;
        let sign_ins = runtime.block_on(overload.sign_in_all())?;
        if let Some(path) = &self.setting.json {
            let run = json!({ "setting": setting, "floods": floods, "crowds": crowds, "sign_ins": sign_ins });
            fs::write(path, serde_json::to_vec_pretty(&run)?)?;
        }
        Ok(())
    }
}

/// Rounds of the closed loop, each with the measurement after it.
#[derive(serde::Serialize)]
struct Rounds<T> {
    operation: Operation,
    what: String,
    rounds: Vec<(Sample, T)>,
}

/// A load on a schedule, alone and beside people who sign in.
#[derive(serde::Serialize)]
struct BesideSignIns {
    alone: Outcome,
    beside: Outcome,
    /// Sign-ins a second that were answered.
    sign_ins: f64,
}

/// A run with the service up.
struct Overload<'a> {
    options: &'a Options,
    dataset: Dataset,
    running: Running,
}

impl Overload<'_> {
    /// Step 2.
    async fn flood_all(&self) -> Result<Vec<Rounds<Outcome>>, BoxError> {
        let Options {
            times, connections, ..
        } = self.options;
        println!("\n{}", flood_head(*times, *connections));
        let mut all = Vec::new();
        for operation in &self.options.operations {
            let mut rounds = Vec::new();
            for _ in 0..self.options.setting.rounds {
                let peak = self.closed_loop(*operation).await?;
                let flood = Flood {
                    running: &self.running,
                    operation: *operation,
                    dataset: &self.dataset,
                    connections: *connections,
                    rate: peak.rate * f64::from(*times),
                    time: self.options.setting.seconds,
                };
                rounds.push((peak, flood.run().await?));
            }
            println!("{}", flood_line(*operation, &rounds));
            all.push(Rounds {
                operation: *operation,
                what: format!("{times} x the peak, {connections} connections"),
                rounds,
            });
        }
        Ok(all)
    }

    /// Step 3.
    async fn crowd_all(&self) -> Result<Vec<Rounds<Sample>>, BoxError> {
        let Options {
            idle, slow, deaf, ..
        } = *self.options;
        println!("\n{CROWD_HEAD}");
        let size = |idle, slow, deaf| Size {
            idle,
            slow,
            deaf,
            sign_ins: 0,
        };
        let crowds = [
            (format!("{idle} idle"), size(idle, 0, 0)),
            (format!("{slow} slow bodies"), size(0, slow, 0)),
            (format!("{deaf} that never read"), size(0, 0, deaf)),
            ("all of them".to_owned(), size(idle, slow, deaf)),
        ];
        let mut all = Vec::new();
        for operation in &self.options.operations {
            for (name, size) in &crowds {
                let mut rounds = Vec::new();
                for _ in 0..self.options.setting.rounds {
                    let without = self.closed_loop(*operation).await?;
                    let crowd = Crowd::gather(*size, &self.running, &self.dataset).await?;
                    let beside = self.closed_loop(*operation).await?;
                    crowd.disperse()?;
                    rounds.push((without, beside));
                }
                println!("{}", crowd_line(*operation, name, &rounds));
                all.push(Rounds {
                    operation: *operation,
                    what: name.clone(),
                    rounds,
                });
            }
        }
        Ok(all)
    }

    /// Step 4.
    async fn sign_in_all(&self) -> Result<Vec<Rounds<BesideSignIns>>, BoxError> {
        let Options { sign_ins, part, .. } = *self.options;
        println!("\n{}", sign_ins_head(part));
        let size = Size {
            idle: 0,
            slow: 0,
            deaf: 0,
            sign_ins,
        };
        let mut all = Vec::new();
        for operation in &self.options.operations {
            let mut rounds = Vec::new();
            for _ in 0..self.options.setting.rounds {
                let peak = self.closed_loop(*operation).await?;
                let load = Flood {
                    running: &self.running,
                    operation: *operation,
                    dataset: &self.dataset,
                    connections: CONNECTIONS,
                    rate: peak.rate * part,
                    time: self.options.setting.seconds,
                };
                let alone = load.run().await?;
                let crowd = Crowd::gather(size, &self.running, &self.dataset).await?;
                let (begin, before) = (Instant::now(), crowd.signed_in());
                let beside = load.run().await?;
                let answered = crowd.signed_in() - before;
                let sign_ins = answered as f64 / begin.elapsed().as_secs_f64();
                crowd.disperse()?;
                rounds.push((
                    peak,
                    BesideSignIns {
                        alone,
                        beside,
                        sign_ins,
                    },
                ));
            }
            println!("{}", sign_ins_line(*operation, sign_ins, &rounds));
            all.push(Rounds {
                operation: *operation,
                what: format!("{part} of the peak, {CONNECTIONS} connections, {sign_ins} sign in"),
                rounds,
            });
        }
        Ok(all)
    }

    async fn closed_loop(&self, operation: Operation) -> Result<Sample, BoxError> {
        let tokens = &self.running.refresh_tokens;
        let script =
            |operation, number| Script::new(operation, &self.dataset, None, tokens, number);
        let load = Load {
            running: &self.running,
            operations: &[operation],
            script: &script,
            connections: CONNECTIONS,
            time: self.options.setting.seconds,
        };
        let samples = load.run().await?;
        samples
            .first()
            .copied()
            .ok_or_else(|| "nothing was asked".into())
    }
}

fn flood_head(times: u32, connections: usize) -> String {
    format!(
        "| {times} x the peak, {connections} connections | peak/s | served/s | of the peak | refused/s | unsent/s \
         | broken | served p99 ms | served last ms | refused last ms | CPU us an answer | peak MiB |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    )
}

fn flood_line(operation: Operation, rounds: &[(Sample, Outcome)]) -> String {
    let of = |figure: fn(&Outcome) -> f64| {
        Spread::new(rounds.iter().map(|(_, outcome)| figure(outcome)))
    };
    let peaks = Spread::new(rounds.iter().map(|(peak, _)| peak.rate));
    let kept = rounds
        .iter()
        .map(|(peak, outcome)| outcome.served / peak.rate);
    format!(
        "| {} | {:.0} | {:.0} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} | {:.0} |",
        operation.name(),
        peaks.median,
        of(|outcome| outcome.served).median,
        Spread::new(kept),
        of(|outcome| outcome.refused).median,
        of(|outcome| outcome.unsent).median,
        of(|outcome| outcome.broken as f64).most,
        of(|outcome| outcome.served_p99).median,
        of(|outcome| outcome.served_last).most,
        of(|outcome| outcome.refused_last).most,
        of(|outcome| outcome.cpu).median,
        of(|outcome| outcome.memory.peak as f64 / 1024.0).most,
    )
}

const CROWD_HEAD: &str = "\
| beside | CPU us a request | with them | times | p99 ms | with them | times | peak MiB |
|---|--:|--:|--:|--:|--:|--:|--:|";

fn crowd_line(operation: Operation, name: &str, rounds: &[(Sample, Sample)]) -> String {
    let alone = |figure: fn(&Sample) -> f64| {
        Spread::new(rounds.iter().map(|(alone, _)| figure(alone))).median
    };
    let beside = |figure: fn(&Sample) -> f64| {
        Spread::new(rounds.iter().map(|(_, beside)| figure(beside))).median
    };
    let times = |figure: fn(&Sample) -> f64| {
        let ratios = rounds
            .iter()
            .map(|(alone, beside)| figure(beside) / figure(alone));
        Spread::new(ratios)
    };
    format!(
        "| {}, {name} | {:.1} | {:.1} | {} | {:.2} | {:.2} | {} | {:.0} |",
        operation.name(),
        alone(|sample| sample.cpu),
        beside(|sample| sample.cpu),
        times(|sample| sample.cpu),
        alone(|sample| sample.p99),
        beside(|sample| sample.p99),
        times(|sample| sample.p99),
        beside(|sample| sample.memory.peak as f64 / 1024.0),
    )
}

fn sign_ins_head(part: f64) -> String {
    format!(
        "| {part} of the peak, {CONNECTIONS} connections, beside | asked/s | p99 ms | with them | times | last ms | with them \
         | unsent | sign-ins/s |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|"
    )
}

fn sign_ins_line(
    operation: Operation,
    sign_ins: usize,
    rounds: &[(Sample, BesideSignIns)],
) -> String {
    let of = |figure: fn(&BesideSignIns) -> f64| {
        Spread::new(rounds.iter().map(|(_, round)| figure(round)))
    };
    format!(
        "| {}, {sign_ins} who sign in | {:.0} | {:.2} | {:.2} | {} | {:.1} | {:.1} | {:.0} | {:.0} |",
        operation.name(),
        of(|round| round.alone.served).median,
        of(|round| round.alone.served_p99).median,
        of(|round| round.beside.served_p99).median,
        of(|round| round.beside.served_p99 / round.alone.served_p99),
        of(|round| round.alone.served_last).most,
        of(|round| round.beside.served_last).most,
        of(|round| round.beside.unsent).most,
        of(|round| round.sign_ins).median,
    )
}
