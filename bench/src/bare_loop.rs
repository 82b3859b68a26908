//! Contender (e): no server at all. SQLite does the statements of a change, with the same durability,
//! as many in one commit as there are connections in the same line of the table: what is left when
//! nothing is sent or queued. The statements are those of the server written by hand.
//!
//! It is a process of its own, so that its memory and processor time are counted as the others' are,
//! and ends after each sample.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use r2d2::ManageConnection as _;
use rusqlite::{Connection, TransactionBehavior};
use serde_json::json;

use crate::contender::Binaries;
use crate::dataset::{BoxError, Dataset};
use crate::load::{LONGEST, Sample, WARM_UP};
use crate::operation::Operation;
use crate::process;
use crate::servers::by_hand::{self, Fields, Manager, Once, digest};

/// The database that it works on.
pub fn database(dataset: &Dataset) -> PathBuf {
    dataset.file("loop.db")
}

/// What is to be done.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Work {
    operation: Operation,
    /// Changes in one commit.
    group: usize,
    /// How long it counts, in seconds.
    seconds: f64,
    database: PathBuf,
    key: String,
    products: u64,
}

impl Work {
    /// Changes of that kind on the data set.
    pub fn new(operation: Operation, group: usize, time: Duration, dataset: &Dataset) -> Self {
        Self {
            operation,
            group,
            seconds: time.as_secs_f64(),
            database: database(dataset),
            key: dataset.key.clone(),
            products: dataset.products,
        }
    }

    /// Does it in another process, and waits.
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

    /// Does it in this process.
    ///
    /// # Errors
    /// What SQLite answers.
    pub fn run(&self) -> Result<Sample, BoxError> {
        let mut connection = Manager::new(&self.database).connect()?;
        let pid = std::process::id();
        let mut latencies = Histogram::<u64>::new_with_max(LONGEST, 3)?;
        self.run_for(&mut connection, WARM_UP, |_| ())?;

        let (begin, used) = (Instant::now(), process::processor_time(pid)?);
        self.run_for(
            &mut connection,
            Duration::from_secs_f64(self.seconds),
            |latency| {
                let latency = u64::try_from(latency.as_micros()).unwrap_or(LONGEST);
                latencies.saturating_record_n(latency, self.group as u64);
            },
        )?;
        let used = process::processor_time(pid)? - used;
        let cpu = used.as_secs_f64() * 1e6 / latencies.len() as f64;
        Sample::new(&latencies, begin.elapsed(), cpu, process::memory(pid)?)
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
                self.change(&transaction, &mut random)?;
            }
            transaction.commit()?;
            committed(group.elapsed());
        }
        Ok(())
    }

    fn change(&self, connection: &Connection, random: &mut fastrand::Rng) -> Result<(), BoxError> {
        let unique = random.u128(..);
        let body = self
            .operation
            .body(unique)
            .unwrap_or_else(|| json!({}))
            .to_string();
        let fields = Fields::parse(body.as_bytes());
        let key = digest([self.key.as_bytes()]);
        let changed = match self.operation {
            Operation::Create => {
                let request = Once {
                    key: format!("{unique:032x}"),
                    request: digest([body.as_bytes()]),
                };
                by_hand::once(connection, key, Some(&request), |caller| {
                    by_hand::insert_product(connection, caller, fields?)
                })
            }
            _ => {
                let id = crate::dataset::any_changed_id(self.products, random);
                by_hand::once(connection, key, None, |caller| {
                    by_hand::save_product(connection, caller, id, fields?)
                })
            }
        };
        changed
            .map(drop)
            .map_err(|error| format!("{error:?}").into())
    }
}
