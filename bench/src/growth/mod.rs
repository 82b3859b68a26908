//! Growth: what a request costs the service as the catalogue and the number of teams grow.
//!
//! 1. A database is made for each size ([`catalog`]): an SQLite file, or a PostgreSQL, removed at the end.
//! 2. The service is started on each of them, in turns, once per round, and timed from its start to its first answer.
//!    The last processes stay up, all at once.
//! 3. Rounds go over the sizes, so that the machine's other load affects all of them alike. Creates come last, since
//!    they change what is read.
//! 4. The result is processor time, as a multiple of that of the smallest catalogue in the same round.

mod catalog;
mod fill;
mod plot;
mod question;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;

use crate::contender::{Binaries, Contender};
use crate::dataset::{BoxError, RefreshTokens};
use crate::load::{Ask as _, Load, Sample};
use crate::postgres::Cluster;
use crate::running::{Running, free_address};
use crate::setting::Setting;
use crate::temporary;
use crate::wire::Connection;

use catalog::Catalog;
use question::{Question, Script};
use report::Report;

/// What is measured, and how.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Products in each of the catalogues, from few to many.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "10000,100000,1000000,10000000",
        value_parser = clap::value_parser!(u64).range(200..)
    )]
    products: Vec<u64>,
    /// How many ask at once.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Measures the service on PostgreSQL instead of SQLite, each catalogue in one of its own. Needs PostgreSQL's
    /// programs.
    #[arg(long)]
    postgres: bool,
    /// Draws the figures into a file.
    #[arg(long)]
    svg: Option<PathBuf>,
    #[command(flatten)]
    setting: Setting,
}

/// All rounds of a size.
#[derive(Debug, serde::Serialize)]
struct Size {
    products: u64,
    teams: usize,
    /// The size of the database before anything is created, in bytes.
    file: u64,
    /// From the start of the process to its first answer, in milliseconds, one per round.
    starts: Vec<f64>,
    /// The measurements, one sample per round.
    measured: Vec<(Question, Vec<Sample>)>,
}

/// The service on a catalogue.
struct Server {
    catalog: Catalog,
    running: Running,
    size: Size,
}

impl Options {
    /// Measures, prints the table, and draws it.
    ///
    /// # Errors
    /// When a data set cannot be made, or the service does not start or answers wrongly.
    pub fn run(&self) -> Result<(), BoxError> {
        let binaries = self.setting.prepare()?;
        let folder = temporary::folder("invoicing-growth-")?;
        let describe = format!(
            "{}{} connections; {}",
            if self.postgres { "on PostgreSQL, " } else { "" },
            self.connections,
            self.setting.describe()
        );
        println!("{describe}");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let catalogs = self.make_catalogs(folder.path())?;
        let mut servers = runtime.block_on(self.start(catalogs, &binaries))?;
        runtime.block_on(self.measure(&mut servers))?;

        let report = Report::new(servers.into_iter().map(|server| server.size).collect());
        println!("\n{report}");
        if let Some(path) = &self.svg {
            fs::write(path, plot::svg(&report))?;
        }
        if let Some(path) = &self.setting.json {
            let run = json!({ "setting": describe, "sizes": report.sizes });
            fs::write(path, serde_json::to_vec_pretty(&run)?)?;
        }
        Ok(())
    }

    /// Step 1.
    fn make_catalogs(&self, folder: &Path) -> Result<Vec<Catalog>, BoxError> {
        let runtime = tokio::runtime::Runtime::new()?;
        let make = |products: &u64| {
            let begin = Instant::now();
            let start = || Cluster::start(|| Ok(free_address()?.port()));
            let cluster = self.postgres.then(|| self.setting.on_their_core(start));
            let make = Catalog::make(folder, *products, cluster.transpose()?);
            let catalog = runtime.block_on(make)?;
            let (teams, time) = (catalog.teams(), begin.elapsed().as_secs_f64());
            println!("{products} products of {teams} teams, made in {time:.1} s");
            Ok(catalog)
        };
        self.products.iter().map(make).collect()
    }

    /// Step 2.
    async fn start(
        &self,
        catalogs: Vec<Catalog>,
        binaries: &Binaries,
    ) -> Result<Vec<Server>, BoxError> {
        let mut starts = vec![Vec::new(); catalogs.len()];
        for _ in 1..self.setting.rounds {
            for (catalog, starts) in catalogs.iter().zip(&mut starts) {
                starts.push(self.start_one(catalog, binaries).await?.1);
            }
        }
        let mut servers = Vec::new();
        for (mut catalog, mut starts) in catalogs.into_iter().zip(starts) {
            let (running, time) = self.start_one(&catalog, binaries).await?;
            starts.push(time);
            catalog.find_deepest_page(running.address).await?;
            let size = Size {
                products: catalog.products,
                teams: catalog.teams(),
                file: catalog.size,
                starts,
                measured: Vec::new(),
            };
            servers.push(Server {
                catalog,
                running,
                size,
            });
        }
        Ok(servers)
    }

    /// Starts the service, and asks it for a product. Also returns how long that took, in milliseconds.
    async fn start_one(
        &self,
        catalog: &Catalog,
        binaries: &Binaries,
    ) -> Result<(Running, f64), BoxError> {
        let contender = match catalog.cluster {
            Some(_) => Contender::Postgres,
            None => Contender::Invoicing,
        };
        let mut script = Script::new(Question::Get, catalog);
        let mut request = Vec::new();
        script.next(&mut request);
        let begin = Instant::now();
        let running = self.setting.on_their_core(|| {
            let command = |address| binaries.service(address, catalog.url.as_ref());
            Running::start(
                contender,
                command,
                &catalog.log,
                RefreshTokens::default(),
                catalog.cluster.clone(),
            )
        })?;
        let mut connection = Connection::open(running.address).await?;
        let answer = connection.ask(&request).await?;
        let time = begin.elapsed().as_secs_f64() * 1000.0;
        script.check(answer)?;
        Ok((running, time))
    }

    /// Step 3.
    async fn measure(&self, servers: &mut [Server]) -> Result<(), BoxError> {
        for question in Question::ALL {
            let mut rounds = vec![Vec::new(); servers.len()];
            for _ in 0..self.setting.rounds {
                for (server, rounds) in servers.iter().zip(&mut rounds) {
                    let load = Load {
                        running: &server.running,
                        operations: &[question],
                        script: &|question, _| Script::new(question, &server.catalog),
                        connections: self.connections,
                        time: self.setting.seconds,
                    };
                    rounds.extend(load.run().await?);
                }
            }
            for (server, samples) in servers.iter_mut().zip(rounds) {
                server.size.measured.push((question, samples));
            }
        }
        Ok(())
    }
}
