//! A run: all contenders up at once, measured in turns.
//!
//! 1. The data set is made, the service started, and its answers recorded for the contenders that repeat them.
//! 2. Every server is started on the same core, and stays up until the end. An idle one uses next to nothing. The load
//!    generator has the other core. A bare loop is not a server: it runs for each of its samples, on the core of the
//!    servers.
//! 3. Rounds go over the contenders, never over one contender several times in a row: the machine's other load then
//!    slows down all of them alike. The result is the median of the rounds, and only as a ratio to another contender's
//!    in the same run.

use std::fs;

use serde_json::json;

use crate::bare_loop::Loop;
use crate::contender::{self, Binaries, Contender};
use crate::dataset::{BoxError, Dataset};
use crate::goals;
use crate::load::{Load, Sample};
use crate::operation::{Operation, Script};
use crate::peers;
use crate::recording::{self, Recording};
use crate::report::{self, Measured, Part};
use crate::running::Running;
use crate::setting::Setting;
use crate::temporary;

/// What is measured, and how.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// What is asked.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "get,list20,list100,links,create,patch,refresh,mixed"
    )]
    operations: Vec<Operation>,
    /// How many ask at once.
    #[arg(long, value_delimiter = ',', default_value = "1,16,64,256,1000")]
    connections: Vec<usize>,
    /// Who answers.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "hyper,dropshot,by-hand,invoicing,loop"
    )]
    contenders: Vec<Contender>,
    /// Adds what a spec-first team would pick instead: fastify, connexion, fastapi. Needs npm and Python.
    #[arg(long)]
    peers: bool,
    /// Adds those that store in a PostgreSQL of their own: by-hand-postgres, postgres, postgres-replicas,
    /// loop-postgres. Needs PostgreSQL's programs.
    #[arg(long)]
    postgres: bool,
    /// Products in the data set: enough for a page of 100.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..))]
    products: u64,
    /// Prints the goals too: what was measured of each, and whether it is met.
    #[arg(long)]
    goals: bool,
    #[command(flatten)]
    setting: Setting,
}

impl Options {
    /// Measures, and prints the table as it grows.
    ///
    /// # Errors
    /// When a contender does not start, or answers wrongly.
    pub fn run(&self) -> Result<(), BoxError> {
        let binaries = self.setting.prepare()?;
        let contenders = self.contenders();
        if contenders
            .iter()
            .any(|each| Contender::PEERS.contains(each))
        {
            peers::install()?;
        }
        let folder = temporary::folder("invoicing-bench-")?;
        println!("{}", self.describe());
        let devices = self.connections.iter().copied().max().unwrap_or(1);
        let make = Dataset::make(folder.path(), self.products, devices);
        let dataset = tokio::runtime::Runtime::new()?.block_on(make)?;
        contender::keep_untouched(&dataset)?;

        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let service = self.start(Contender::Invoicing, &dataset, &binaries)?;
        let record = recording::record(service.address, &dataset, &service.refresh_tokens);
        let recording = runtime.block_on(record)?;
        let run = Run {
            options: self,
            participants: self.participants(
                &contenders,
                service,
                &dataset,
                &recording,
                &binaries,
            )?,
            binaries,
            dataset,
            recording,
        };
        let measured = runtime.block_on(run.measure_all())?;
        if self.goals {
            println!("\n{}", goals::report(&measured));
        }
        if let Some(path) = &self.setting.json {
            let run = json!({ "setting": self.describe(), "measured": measured });
            fs::write(path, serde_json::to_vec_pretty(&run)?)?;
        }
        Ok(())
    }

    /// What the figures depend on besides the contenders.
    fn describe(&self) -> String {
        format!("{} products; {}", self.products, self.setting.describe())
    }

    /// The contenders to measure, each once.
    fn contenders(&self) -> Vec<Contender> {
        let peers = Contender::PEERS.into_iter().filter(|_| self.peers);
        let postgres = Contender::ON_POSTGRES.into_iter();
        let postgres = postgres.filter(|_| self.postgres);
        let mut all = Vec::new();
        for contender in self.contenders.iter().copied().chain(postgres).chain(peers) {
            if !all.contains(&contender) {
                all.push(contender);
            }
        }
        all
    }

    /// Step 2. The service is already running.
    fn participants(
        &self,
        contenders: &[Contender],
        service: Running,
        dataset: &Dataset,
        recording: &Recording,
        binaries: &Binaries,
    ) -> Result<Vec<Participant>, BoxError> {
        let (mut service, mut participants) = (Some(service), Vec::new());
        for contender in contenders {
            contender.prepare(dataset, recording)?;
            match contender {
                Contender::Invoicing => {
                    participants.extend(service.take().map(Participant::Server));
                }
                Contender::Loop | Contender::LoopPostgres => {
                    let cluster = || contender.cluster(dataset, binaries);
                    participants.push(Participant::Loop(Loop {
                        contender: *contender,
                        cluster: self.setting.on_their_core(cluster)?,
                    }));
                }
                server => {
                    let running = self.start(*server, dataset, binaries)?;
                    participants.push(Participant::Server(running));
                }
            }
        }
        Ok(participants)
    }

    fn start(
        &self,
        contender: Contender,
        dataset: &Dataset,
        binaries: &Binaries,
    ) -> Result<Running, BoxError> {
        let start = || contender.start(dataset, binaries);
        self.setting.on_their_core(start)
    }
}

/// A contender in a run.
enum Participant {
    /// A server, which is up.
    Server(Running),
    /// A bare loop.
    Loop(Loop),
}

impl Participant {
    fn contender(&self) -> Contender {
        match self {
            Self::Server(running) => running.contender,
            Self::Loop(bare) => bare.contender,
        }
    }
}

/// A run with its contenders up.
struct Run<'a> {
    options: &'a Options,
    participants: Vec<Participant>,
    binaries: Binaries,
    dataset: Dataset,
    recording: Recording,
}

impl Run<'_> {
    async fn measure_all(&self) -> Result<Vec<Measured>, BoxError> {
        let mut all = Vec::new();
        for operation in &self.options.operations {
            for connections in &self.options.connections {
                println!("{}", report::head(*operation, *connections));
                for measured in self.measure(*operation, *connections).await? {
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
    ) -> Result<Vec<Measured>, BoxError> {
        let samples = samples(operation);
        let mut lines: Vec<_> = self
            .participants
            .iter()
            .filter(|participant| participant.contender().knows(operation))
            .map(|participant| {
                let parts = samples.iter().flat_map(|(_, parts)| parts);
                let measured = parts.map(|part| Measured {
                    operation,
                    connections,
                    contender: participant.contender(),
                    part: *part,
                    samples: Vec::new(),
                });
                (participant, measured.collect::<Vec<_>>())
            })
            .collect();
        for _ in 0..self.options.setting.rounds {
            for (participant, lines) in &mut lines {
                let mut round = Vec::new();
                for (operations, _) in &samples {
                    let sample = self.sample(participant, operations, connections).await;
                    let failed = |error| format!("{}: {error}", participant.contender().name());
                    round.extend(sample.map_err(failed)?);
                }
                for (measured, sample) in lines.iter_mut().zip(round) {
                    measured.samples.push(sample);
                }
            }
        }
        Ok(lines.into_iter().flat_map(|(_, lines)| lines).collect())
    }

    /// One sample for each of the operations, which are requested at once.
    async fn sample(
        &self,
        participant: &Participant,
        operations: &[Operation],
        connections: usize,
    ) -> Result<Vec<Sample>, BoxError> {
        let Self {
            options, dataset, ..
        } = self;
        let time = options.setting.seconds;
        let running = match participant {
            Participant::Server(running) => running,
            Participant::Loop(bare) => {
                let work = bare.work(operations[0], connections, time, dataset);
                // Nothing else runs meanwhile, so blocking holds up nothing.
                let measure = || Ok(vec![work.measure(&self.binaries)?]);
                return options.setting.on_their_core(measure);
            }
        };
        let recording = Some(&self.recording).filter(|_| running.contender.repeats());
        let script = |operation, number| {
            let recorded = recording.and_then(|recording| recording.get(&operation));
            let tokens = &running.refresh_tokens;
            Script::new(operation, dataset, recorded, tokens, number)
        };
        let load = Load {
            running,
            operations,
            script: &script,
            connections,
            time,
        };
        load.run().await
    }
}

/// The samples of a contender in a round, in order: the operations that are requested at once, and the part of the
/// report for each.
fn samples(operation: Operation) -> Vec<(Vec<Operation>, Vec<Part>)> {
    use Operation::{Create, Get, Mixed};
    match operation {
        Mixed => vec![
            (vec![Get], vec![Part::Alone]),
            (vec![Get, Create], vec![Part::Readers, Part::Writers]),
        ],
        one => vec![(vec![one], vec![Part::All])],
    }
}
