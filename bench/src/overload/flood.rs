//! Requests on a schedule, whatever happens to earlier ones: an open loop.
//!
//! 1. Every millisecond, as many requests are due as the rate demands. Each takes the connection that has been idle
//!    the longest.
//! 2. If none is idle, the request cannot be sent: it is unsent. So each connection has at most one request in
//!    progress, as with independent clients, and latencies are the service's alone.
//! 3. After [`WARM_UP`], answers count: as served, or as refused, which must be a 503 that says when to try again.
//!    A connection that breaks is reopened.
//! 4. At the end, connections wait for their outstanding answer, at most [`ANSWER_TIMEOUT`].

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use hdrhistogram::Histogram;
use tokio::sync::{Barrier, Notify};
use tokio::time::{interval, sleep, timeout};

use crate::dataset::{BoxError, Dataset};
use crate::load::{Ask, LONGEST, WARM_UP, awake};
use crate::operation::{Operation, Script};
use crate::process::{self, Memory};
use crate::running::Running;
use crate::wire::{self, Connection};

/// How long an answer may take before the run is given up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// The load to apply.
#[derive(Clone, Copy, Debug)]
pub struct Flood<'a> {
    /// The service.
    pub running: &'a Running,
    /// The operation to request.
    pub operation: Operation,
    /// The data set that it holds.
    pub dataset: &'a Dataset,
    /// How many connections there are.
    pub connections: usize,
    /// Requests a second.
    pub rate: f64,
    /// How long to measure.
    pub time: Duration,
}

/// The outcome of the requests.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Outcome {
    /// Requests a second that were served.
    pub served: f64,
    /// Latency that one in a hundred of them exceeds, in milliseconds.
    pub served_p99: f64,
    /// The longest, in milliseconds.
    pub served_last: f64,
    /// Requests a second that were refused.
    pub refused: f64,
    /// The longest latency of a refusal, in milliseconds.
    pub refused_last: f64,
    /// Requests a second for which no connection was idle.
    pub unsent: f64,
    /// Requests whose connection broke.
    pub broken: u64,
    /// The service's processor time for each answer, in microseconds.
    pub cpu: f64,
    /// The service's memory.
    pub memory: Memory,
}

/// State shared by the connections.
struct Shared {
    idle: RefCell<VecDeque<usize>>,
    due: Vec<Notify>,
    counting: Cell<bool>,
    stopping: Cell<bool>,
    served: RefCell<Histogram<u64>>,
    refused: RefCell<Histogram<u64>>,
    unsent: Cell<u64>,
    broken: Cell<u64>,
    /// Opens once all are connected.
    begin: Barrier,
}

impl Flood<'_> {
    /// Applies the load, and sums up.
    ///
    /// # Errors
    /// When an answer is neither the requested one nor a refusal, or does not come.
    pub async fn run(&self) -> Result<Outcome, BoxError> {
        let latencies = || Histogram::new_with_max(LONGEST, 3).map(RefCell::new);
        let shared = Rc::new(Shared {
            idle: RefCell::default(),
            due: (0..self.connections).map(|_| Notify::new()).collect(),
            counting: Cell::new(false),
            stopping: Cell::new(false),
            served: latencies()?,
            refused: latencies()?,
            unsent: Cell::new(0),
            broken: Cell::new(0),
            begin: Barrier::new(self.connections + 2),
        });
        process::forget_peak(self.running.pid())?;
        let asking = try_join_all((0..self.connections).map(|number| self.ask(number, &shared)));
        let flood = async { tokio::try_join!(self.schedule(&shared), self.watch(&shared), asking) };
        Ok(awake(flood).await?.1)
    }

    /// Steps 1 and 2.
    async fn schedule(&self, shared: &Shared) -> Result<(), BoxError> {
        shared.begin.wait().await;
        let (begin, mut tick) = (Instant::now(), interval(Duration::from_millis(1)));
        let mut asked = 0;
        while !shared.stopping.get() {
            tick.tick().await;
            let due = (begin.elapsed().as_secs_f64() * self.rate) as u64;
            for left in (1..=due - asked).rev() {
                let Some(connection) = shared.idle.borrow_mut().pop_front() else {
                    if shared.counting.get() {
                        shared.unsent.set(shared.unsent.get() + left);
                    }
                    break;
                };
                shared.due[connection].notify_one();
            }
            asked = due;
        }
        shared.due.iter().for_each(Notify::notify_one);
        Ok(())
    }

    /// Decides what counts, and sums it up.
    async fn watch(&self, shared: &Shared) -> Result<Outcome, BoxError> {
        shared.begin.wait().await;
        sleep(WARM_UP).await;
        let (begin, used) = (Instant::now(), self.running.processor_time()?);
        shared.counting.set(true);
        sleep(self.time).await;
        shared.counting.set(false);
        let elapsed = begin.elapsed();
        let used = self.running.processor_time()? - used;
        shared.stopping.set(true);
        let (served, refused) = (shared.served.borrow(), shared.refused.borrow());
        let a_second = |requests: u64| requests as f64 / elapsed.as_secs_f64();
        let milliseconds = |micros: u64| micros as f64 / 1e3;
        Ok(Outcome {
            served: a_second(served.len()),
            served_p99: milliseconds(served.value_at_quantile(0.99)),
            served_last: milliseconds(served.max()),
            refused: a_second(refused.len()),
            refused_last: milliseconds(refused.max()),
            unsent: a_second(shared.unsent.get()),
            broken: shared.broken.get(),
            cpu: used.as_secs_f64() * 1e6 / (served.len() + refused.len()) as f64,
            memory: process::memory(self.running.pid())?,
        })
    }

    /// One connection: steps 3 and 4.
    async fn ask(&self, number: usize, shared: &Shared) -> Result<(), BoxError> {
        let mut connection = Connection::open(self.running.address).await?;
        let tokens = &self.running.refresh_tokens;
        let mut script = Script::new(self.operation, self.dataset, None, tokens, number);
        let mut request = Vec::with_capacity(1024);
        shared.begin.wait().await;
        loop {
            shared.idle.borrow_mut().push_back(number);
            shared.due[number].notified().await;
            if shared.stopping.get() {
                return Ok(());
            }
            request.clear();
            script.next(&mut request);
            let begin = Instant::now();
            let Ok(answer) = timeout(ANSWER_TIMEOUT, connection.ask(&request)).await? else {
                shared.broken.set(shared.broken.get() + 1);
                connection = Connection::open(self.running.address).await?;
                continue;
            };
            let latencies = match answer.status {
                503 => {
                    let headers = wire::headers(answer.head)?;
                    if !headers.iter().any(|(name, _)| name == "retry-after") {
                        return Err("a refusal does not say when to try again".into());
                    }
                    &shared.refused
                }
                _ => {
                    script.check(answer)?;
                    &shared.served
                }
            };
            if shared.counting.get() {
                let latency = u64::try_from(begin.elapsed().as_micros()).unwrap_or(LONGEST);
                latencies.borrow_mut().saturating_record(latency);
            }
        }
    }
}
