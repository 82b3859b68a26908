//! The load generator: a number of connections, each of which sends its next request as soon as it is answered.
//!
//! It is one thread on one core, because the contender has the other, and does little besides reading and writing:
//! `bench/README.md` compares its rate with that of wrk against the same server. It never sleeps ([`awake`]). A
//! sample is:
//!
//! 1. All connections are opened, and send requests for [`WARM_UP`].
//! 2. For the requested time, or until the first answer, every answer counts: its latency goes into a histogram,
//!    which keeps three digits of each. The contender's processor time is read at the start and at the end.
//! 3. Connections finish their current request, and are closed.
//!
//! An answer that says to try later (503) does not count: it is counted separately.
//!
//! If several operations are requested at once, each has its own connections, and its own sample.
//!
//! Latencies are those of a closed loop: a waiting connection sends nothing. They compare contenders at the same
//! number of connections; they do not predict how a queue of independent clients would fare.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use hdrhistogram::Histogram;
use tokio::sync::Barrier;
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::dataset::BoxError;
use crate::process::Memory;
use crate::running::Running;
use crate::wire::{Connection, Response};

/// How long a sample runs before it counts.
pub const WARM_UP: Duration = Duration::from_millis(200);

/// The longest latency that is distinguished, in microseconds.
pub const LONGEST: u64 = 60_000_000;

/// The status of an answer that says to try later: the disk cannot keep up.
const UNAVAILABLE: u16 = 503;

/// How long a connection waits after such an answer. `Retry-After` would be longer than most samples.
const PAUSE: Duration = Duration::from_millis(100);

/// How often the contender's memory is read.
const LOOK: Duration = Duration::from_millis(50);
const SHORTEST_LOOK: Duration = Duration::from_millis(1);

/// How long a sample waits for its first answer.
const FIRST_ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The requests of one connection, one after another.
pub trait Ask {
    /// Writes the next request.
    fn next(&mut self, out: &mut Vec<u8>);

    /// Checks the answer to the last request.
    ///
    /// # Errors
    /// A description of what is wrong with it.
    fn check(&mut self, answer: Response<'_>) -> Result<(), String>;
}

/// What to measure. `O` identifies the operations.
pub struct Load<'a, O, A> {
    /// The contender.
    pub running: &'a Running,
    /// The operations to request.
    pub operations: &'a [O],
    /// Makes the script of a connection, from its operation and its number among the connections of that
    /// operation.
    pub script: &'a dyn Fn(O, usize) -> A,
    /// The number of connections for each operation.
    pub connections: usize,
    /// How long to measure.
    pub time: Duration,
}

/// The measurements of one round.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Sample {
    /// Answers a second.
    pub rate: f64,
    /// The contender's processor time for each answer, of any operation, in microseconds.
    pub cpu: f64,
    /// Median latency, in milliseconds.
    pub p50: f64,
    /// Exceeded by one answer of a hundred, in milliseconds.
    pub p99: f64,
    /// Exceeded by one of a thousand, in milliseconds.
    pub p999: f64,
    /// Requests a second that were told to try later (503), which do not count as answers.
    pub refused: f64,
    /// How often a thread of the contender went to sleep for each answer: for lack of work, or for a lock.
    pub sleeps: f64,
    /// The contender's memory.
    pub memory: Memory,
}

impl Sample {
    /// Sums up the measurements of `elapsed`, in which the contender used `cpu` microseconds of processor time per
    /// answer.
    ///
    /// # Errors
    /// When nothing was answered in that time.
    pub fn new(
        latencies: &Histogram<u64>,
        elapsed: Duration,
        cpu: f64,
        memory: Memory,
    ) -> Result<Self, BoxError> {
        if latencies.is_empty() {
            return Err("no answer came within the time of a sample".into());
        }
        let answers = latencies.len() as f64;
        let quantile = |quantile| latencies.value_at_quantile(quantile) as f64 / 1000.0;
        Ok(Self {
            rate: answers / elapsed.as_secs_f64(),
            cpu,
            p50: quantile(0.5),
            p99: quantile(0.99),
            p999: quantile(0.999),
            refused: 0.0,
            sleeps: 0.0,
            memory,
        })
    }
}

/// Does `work` while polling for answers all the time, instead of sleeping until they come.
///
/// On loopback, the sender of an answer wakes the thread that sleeps for it, at its own expense. On a virtual
/// machine that was more than a quarter of the cost of a page: `bench/README.md` has the figures.
pub async fn awake<T>(work: impl Future<Output = T>) -> T {
    let looking = tokio::spawn(async {
        loop {
            yield_now().await;
        }
    });
    let done = work.await;
    looking.abort();
    done
}

/// State shared by the connections.
struct Shared {
    counting: Cell<bool>,
    stopping: Cell<bool>,
    /// For each operation.
    latencies: Vec<RefCell<Histogram<u64>>>,
    /// For each operation, how many were told to try later.
    refused: Vec<Cell<u64>>,
    /// Opens once all are connected.
    begin: Barrier,
}

impl Shared {
    /// Whether some operation has had no answer at all.
    fn lacks_answers(&self) -> bool {
        let mut latencies = self.latencies.iter();
        latencies.any(|latencies| latencies.borrow().is_empty())
    }

    fn answers(&self) -> u64 {
        let latencies = self.latencies.iter();
        latencies.map(|latencies| latencies.borrow().len()).sum()
    }
}

impl<O: Copy, A: Ask> Load<'_, O, A> {
    /// Measures once: a sample for each operation.
    ///
    /// # Errors
    /// When an answer does not come, or is wrong.
    pub async fn run(&self) -> Result<Vec<Sample>, BoxError> {
        let histogram = |_| Ok(RefCell::new(Histogram::new_with_max(LONGEST, 3)?));
        let latencies = self.operations.iter().map(histogram);
        let all = self.operations.len() * self.connections;
        let shared = Rc::new(Shared {
            counting: Cell::new(false),
            stopping: Cell::new(false),
            latencies: latencies.collect::<Result<_, BoxError>>()?,
            refused: vec![Cell::new(0); self.operations.len()],
            begin: Barrier::new(all + 1),
        });
        self.running.forget_peak()?;
        let asking = try_join_all((0..all).map(|number| self.ask(number, &shared)));
        let measure = async { tokio::try_join!(self.watch(&shared), asking) };
        Ok(awake(measure).await?.0)
    }

    /// Decides what counts, and sums it up.
    async fn watch(&self, shared: &Shared) -> Result<Vec<Sample>, BoxError> {
        shared.begin.wait().await;
        sleep(WARM_UP).await;
        let (begin, used) = (Instant::now(), self.running.processor_time()?);
        let slept = self.running.sleeps()?;
        shared.counting.set(true);
        let mut memory = self.running.memory()?;
        // Until then, a disk that stalls has let nothing be answered.
        while begin.elapsed() < self.time
            || shared.lacks_answers() && begin.elapsed() < FIRST_ANSWER_TIMEOUT
        {
            let left = self.time.saturating_sub(begin.elapsed());
            sleep(left.clamp(SHORTEST_LOOK, LOOK)).await;
            memory = memory.max(self.running.memory()?);
        }
        shared.counting.set(false);
        let elapsed = begin.elapsed();
        let used = self.running.processor_time()?.saturating_sub(used);
        let slept = self.running.sleeps()?.saturating_sub(slept);
        shared.stopping.set(true);

        let answers = shared.answers() as f64;
        let cpu = used.as_secs_f64() * 1e6 / answers;
        let groups = shared.latencies.iter().zip(&shared.refused);
        let samples = groups.map(|(latencies, refused)| {
            let sample = Sample::new(&latencies.borrow(), elapsed, cpu, memory)?;
            let refused = refused.get() as f64 / elapsed.as_secs_f64();
            Ok(Sample {
                refused,
                sleeps: slept as f64 / answers,
                ..sample
            })
        });
        samples.collect()
    }

    /// Runs one connection. The connections with one number, of all operations, follow each other.
    async fn ask(&self, number: usize, shared: &Shared) -> Result<(), BoxError> {
        let (number, group) = (
            number / self.operations.len(),
            number % self.operations.len(),
        );
        let mut script = (self.script)(self.operations[group], number);
        let mut connection = Connection::open(self.running.address_of(number)).await?;
        let mut request = Vec::with_capacity(1024);
        shared.begin.wait().await;
        while !shared.stopping.get() {
            request.clear();
            script.next(&mut request);
            let begin = Instant::now();
            let answer = connection.ask(&request).await?;
            if answer.status == UNAVAILABLE {
                let refused = &shared.refused[group];
                refused.set(refused.get() + u64::from(shared.counting.get()));
                sleep(PAUSE).await;
                continue;
            }
            if shared.counting.get() {
                let latency = u64::try_from(begin.elapsed().as_micros()).unwrap_or(LONGEST);
                shared.latencies[group]
                    .borrow_mut()
                    .saturating_record(latency);
            }
            script.check(answer)?;
        }
        Ok(())
    }
}
