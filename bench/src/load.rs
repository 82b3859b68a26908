//! The load generator: so many connections, each asking again as soon as it is answered.
//!
//! It is one thread on one core, because the contender has the other, and does little beside reading and
//! writing: `bench/README.md` compares its rate with that of wrk against the same server. A sample is:
//!
//! 1. All connections are opened, and ask for [`WARM_UP`].
//! 2. For the time asked for, or until the first answer, every answer counts: its latency goes into a
//!    histogram, which keeps three digits of each. The contender's processor time is read at the
//!    beginning and at the end.
//! 3. Connections finish what they wait for, and are closed.
//!
//! Latencies are those of a closed loop: while a connection waits, it asks nothing. They compare
//! contenders at the same number of connections; they do not say how a queue of strangers would fare.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use hdrhistogram::Histogram;
use tokio::sync::Barrier;
use tokio::time::sleep;

use crate::contender::Running;
use crate::dataset::{Dataset, Failure};
use crate::operation::{Operation, Script};
use crate::process::{self, Memory};
use crate::recording::Recorded;
use crate::wire::Connection;

/// How long a sample runs before it counts.
pub const WARM_UP: Duration = Duration::from_millis(200);

/// The longest latency that is told from longer ones, in microseconds.
pub const LONGEST: u64 = 60_000_000;

/// How long a sample waits for its first answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// Who is asked.
    pub running: &'a Running,
    /// What is asked of it.
    pub operation: Operation,
    /// What it holds.
    pub dataset: &'a Dataset,
    /// What it repeats, if it does that.
    pub recorded: Option<&'a Recorded>,
    /// How many ask at once.
    pub connections: usize,
    /// How long it counts.
    pub time: Duration,
}

/// What was measured in one round.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Sample {
    /// Answers a second.
    pub rate: f64,
    /// The contender's processor time for each, in microseconds.
    pub cpu: f64,
    /// Median latency, in milliseconds.
    pub p50: f64,
    /// Exceeded by one answer of a hundred, in milliseconds.
    pub p99: f64,
    /// Exceeded by one of a thousand, in milliseconds.
    pub p999: f64,
    /// What the contender had in memory.
    pub memory: Memory,
}

impl Sample {
    /// Sums up what was measured in `elapsed`, while the contender `used` the processor.
    ///
    /// # Errors
    /// When nothing was answered in that time.
    pub fn new(
        latencies: &Histogram<u64>,
        elapsed: Duration,
        used: Duration,
        memory: Memory,
    ) -> Result<Self, Failure> {
        if latencies.is_empty() {
            return Err("no answer came within the time of a sample".into());
        }
        let answers = latencies.len() as f64;
        let quantile = |quantile| latencies.value_at_quantile(quantile) as f64 / 1000.0;
        Ok(Self {
            rate: answers / elapsed.as_secs_f64(),
            cpu: used.as_secs_f64() * 1e6 / answers,
            p50: quantile(0.5),
            p99: quantile(0.99),
            p999: quantile(0.999),
            memory,
        })
    }
}

/// What the connections share.
struct Shared {
    counting: Cell<bool>,
    stopping: Cell<bool>,
    latencies: RefCell<Histogram<u64>>,
    /// Opens once all are connected.
    begin: Barrier,
}

impl Load<'_> {
    /// Measures once.
    ///
    /// # Errors
    /// When an answer does not come, or is not the right one.
    pub async fn run(&self) -> Result<Sample, Failure> {
        let shared = Rc::new(Shared {
            counting: Cell::new(false),
            stopping: Cell::new(false),
            latencies: RefCell::new(Histogram::new_with_max(LONGEST, 3)?),
            begin: Barrier::new(self.connections + 1),
        });
        process::forget_peak(self.running.pid())?;
        let asking = try_join_all((0..self.connections).map(|number| self.ask(number, &shared)));
        let (sample, _) = tokio::try_join!(self.watch(&shared), asking)?;
        Ok(sample)
    }

    /// Decides what counts, and sums it up.
    async fn watch(&self, shared: &Shared) -> Result<Sample, Failure> {
        shared.begin.wait().await;
        sleep(WARM_UP).await;
        let (begin, used) = (Instant::now(), process::processor_time(self.running.pid())?);
        shared.counting.set(true);
        sleep(self.time).await;
        // A disk that stalls for that long has answered nobody yet.
        while shared.latencies.borrow().is_empty() && begin.elapsed() < PATIENCE {
            sleep(self.time).await;
        }
        shared.counting.set(false);
        let (elapsed, used) = (
            begin.elapsed(),
            process::processor_time(self.running.pid())? - used,
        );
        shared.stopping.set(true);

        let memory = process::memory(self.running.pid())?;
        Sample::new(&shared.latencies.borrow(), elapsed, used, memory)
    }

    /// One connection.
    async fn ask(&self, number: usize, shared: &Shared) -> Result<(), Failure> {
        let mut connection = Connection::open(self.running.address).await?;
        let tokens = &self.running.refresh_tokens;
        let mut script = Script::new(self.operation, self.dataset, self.recorded, tokens, number);
        let mut request = Vec::with_capacity(1024);
        shared.begin.wait().await;
        while !shared.stopping.get() {
            request.clear();
            script.next(&mut request);
            let begin = Instant::now();
            let answer = connection.ask(&request).await?;
            if shared.counting.get() {
                let latency = u64::try_from(begin.elapsed().as_micros()).unwrap_or(LONGEST);
                shared.latencies.borrow_mut().saturating_record(latency);
            }
            script.check(answer)?;
        }
        Ok(())
    }
}
