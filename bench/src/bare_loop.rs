//! Contenders (e) and (g): no server at all. A database runs the statements of a change, with the same durability,
//! with as many changes per commit as there are connections in the same line of the table: what remains when
//! nothing is sent or queued. The statements are those of the servers written by hand; those of PostgreSQL are in
//! `bare_loop/postgres.rs`.
//!
//! It is a separate process, so that its memory and processor time are counted like the others', and it ends after
//! each sample.

mod postgres;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use r2d2::ManageConnection as _;
use rusqlite::{Connection, TransactionBehavior};
use serde_json::json;
use uuid::Uuid;

use crate::contender::{Binaries, Contender};
use crate::dataset::{BoxError, Dataset};
use crate::load::{LONGEST, Sample, WARM_UP};
use crate::operation::Operation;
use crate::postgres::Cluster;
use crate::process;
use crate::servers::by_hand::{self, Manager};
use crate::servers::by_hand_api::change::{Fields, Once};
use crate::servers::by_hand_api::{ApiError, Digest, digest};

/// The SQLite database that it works on.
pub fn database(dataset: &Dataset) -> PathBuf {
    dataset.file("loop.db")
}

/// A loop that can be measured.
#[derive(Debug)]
pub struct Loop {
    /// The contender.
    pub contender: Contender,
    /// The database that it works on, unless that is SQLite.
    pub cluster: Option<Cluster>,
}

impl Loop {
    /// The work of making changes of this kind on the data set, with `group` of them per commit, for this long.
    pub fn work(
        &self,
        operation: Operation,
        group: usize,
        time: Duration,
        dataset: &Dataset,
    ) -> Work {
        let store = match &self.cluster {
            None => Store::Sqlite(database(dataset)),
            Some(cluster) => Store::Postgres {
                url: cluster.url(),
                pid: cluster.pid(),
            },
        };
        Work {
            operation,
            group,
            seconds: time.as_secs_f64(),
            store,
            key: dataset.key.clone(),
            products: dataset.products,
        }
    }
}

/// The work of a loop.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Work {
    operation: Operation,
    /// Changes per commit.
    group: usize,
    /// How long to measure, in seconds.
    seconds: f64,
    store: Store,
    key: String,
    products: u64,
}

/// The database to work on.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
enum Store {
    Sqlite(PathBuf),
    /// `pid` is the server's first process.
    Postgres {
        url: String,
        pid: u32,
    },
}

/// One change.
struct Change {
    /// The product, unless it is a new one.
    id: Option<Uuid>,
    fields: Fields,
    request: Option<Once>,
}

impl Work {
    /// Does the work in another process, and waits.
    ///
    /// # Errors
    /// When that fails.
    pub fn measure(&self, binaries: &Binaries) -> Result<Sample, BoxError> {
        let output = Command::new(&binaries.bench)
            .arg("loop")
            .arg(serde_json::to_string(self)?)
            .stderr(Stdio::inherit())
            .output()?;
        match output.status.success() {
            true => Ok(serde_json::from_slice(&output.stdout)?),
            false => Err("the loop failed; see above".into()),
        }
    }

    /// Does the work in this process.
    ///
    /// # Errors
    /// Any error of the database.
    pub fn run(&self) -> Result<Sample, BoxError> {
        match &self.store {
            Store::Sqlite(path) => self.run_on_sqlite(path),
            Store::Postgres { url, pid } => {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()?;
                runtime.block_on(postgres::run(self, url, *pid))
            }
        }
    }

    fn run_on_sqlite(&self, path: &Path) -> Result<Sample, BoxError> {
        let mut connection = Manager::new(path).connect()?;
        self.run_for(&mut connection, WARM_UP, |_| ())?;
        let mut count = Count::begin(self.group, None)?;
        self.run_for(&mut connection, self.time(), |latency| count.add(latency))?;
        count.end()
    }

    fn run_for(
        &self,
        connection: &mut Connection,
        time: Duration,
        mut committed: impl FnMut(Duration),
    ) -> Result<(), BoxError> {
        let mut random = fastrand::Rng::new();
        let begin = Instant::now();
        while begin.elapsed() < time {
            let group = Instant::now();
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for _ in 0..self.group {
                self.make(&transaction, &mut random).map_err(failed)?;
            }
            transaction.commit()?;
            committed(group.elapsed());
        }
        Ok(())
    }

    fn make(&self, connection: &Connection, random: &mut fastrand::Rng) -> Result<(), ApiError> {
        let change = self.next(random)?;
        by_hand::once(
            connection,
            self.key(),
            change.request.as_ref(),
            |caller| match change.id {
                None => by_hand::insert_product(connection, caller, change.fields),
                Some(id) => by_hand::save_product(connection, caller, id, change.fields),
            },
        )
        .map(drop)
    }

    /// How long to measure.
    fn time(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }

    /// The stored digest of the key, computed for each change as servers do.
    fn key(&self) -> Digest {
        digest([self.key.as_bytes()])
    }

    /// The next change, as from a request.
    fn next(&self, random: &mut fastrand::Rng) -> Result<Change, ApiError> {
        let unique = random.u128(..);
        let body = self
            .operation
            .body(unique)
            .unwrap_or_else(|| json!({}))
            .to_string();
        let fields = Fields::parse(body.as_bytes())?;
        Ok(match self.operation {
            Operation::Create => Change {
                id: None,
                fields,
                request: Some(Once {
                    key: format!("{unique:032x}"),
                    request: digest([body.as_bytes()]),
                }),
            },
            _ => Change {
                id: Some(crate::dataset::any_changed_id(self.products, random)),
                fields,
                request: None,
            },
        })
    }
}

fn failed(error: ApiError) -> BoxError {
    format!("{error:?}").into()
}

/// The work done since the start, and what it used.
struct Count {
    group: usize,
    /// The first process of the database, if it has its own.
    cluster: Option<u32>,
    latencies: Histogram<u64>,
    begin: Instant,
    used: Duration,
}

impl Count {
    fn begin(group: usize, cluster: Option<u32>) -> Result<Self, BoxError> {
        Ok(Self {
            group,
            cluster,
            latencies: Histogram::new_with_max(LONGEST, 3)?,
            begin: Instant::now(),
            used: processor_time(cluster)?,
        })
    }

    /// Counts a committed group.
    fn add(&mut self, latency: Duration) {
        let latency = u64::try_from(latency.as_micros()).unwrap_or(LONGEST);
        self.latencies
            .saturating_record_n(latency, self.group as u64);
    }

    fn end(self) -> Result<Sample, BoxError> {
        let used = processor_time(self.cluster)?.saturating_sub(self.used);
        let cpu = used.as_secs_f64() * 1e6 / self.latencies.len() as f64;
        let memory = process::memory(std::process::id())?;
        Sample::new(&self.latencies, self.begin.elapsed(), cpu, memory)
    }
}

/// The processor time of this process, and of the database's processes.
fn processor_time(cluster: Option<u32>) -> Result<Duration, BoxError> {
    let of_database = cluster.map(crate::postgres::processor_time).transpose()?;
    Ok(process::processor_time(std::process::id())? + of_database.unwrap_or_default())
}
