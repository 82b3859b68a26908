//! The one connection that writes, on a thread of its own, and the commit that many changes share.
//!
//! A commit waits for the disk, and that wait costs the same for one change as for a hundred. So
//! changes that arrive while a commit is under way are committed together:
//!
//! 1. [`Writer::write`] puts a job into a bounded queue and waits. When the queue is full, or the job's turn would not come
//!    within a second (`forecast.rs`), it is `Unavailable` at once. A job that [goes first](Order) overtakes the queue.
//! 2. The thread takes the first job and whatever else is waiting, up to [`GROUP`]. Unless clients come one at a time, it
//!    yields to other threads as long as that brings more. Then it begins one transaction (`BEGIN IMMEDIATE`; while another
//!    process holds the lock, it waits for it).
//! 3. Each job runs in turn. One that is refused before it has changed anything leaves nothing to undo. When one fails, or
//!    panics, after it has changed something, the transaction is rolled back and the group runs once more, now with each job
//!    in a savepoint of its own: that job is undone alone, without any effect on the rest of the group. (A savepoint for
//!    every job took a sixth of the processor time of a create, for something that only bugs bring about.)
//! 4. The group commits. Only then is each job answered; when the commit fails, all get `Unavailable`.
//! 5. A job whose caller has stopped waiting ([`WRITE_TIMEOUT`]) before its turn never runs.
//! 6. Between two groups, the log is checkpointed if need be (`wal.rs`).
//!
//! A job sees what the jobs before it did, including those of its own group. That is sound because either all of them become
//! durable, or no job is answered with anything that it saw: not even a refusal.

mod forecast;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::counts::Counts;
use super::handle::Handle;
use super::wal::Checkpointer;
use crate::domain::Cause;
use crate::domain::Error;
pub(crate) use forecast::Order;
use forecast::{Forecast, GROUP};

/// Jobs that may wait. At a commit every few milliseconds, a queue this long is a second or two of work.
const QUEUE: usize = 4096;

/// How long a caller waits for the answer to a change, if its wait could not be foreseen.
pub(super) const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// The writing half of the store.
pub(super) struct Writer {
    /// `None` only while being dropped.
    queue: Option<Queue>,
    forecast: Arc<Forecast>,
    counts: Arc<Counts>,
    thread: Option<JoinHandle<()>>,
}

/// A change that waits for its turn.
trait Change: Send {
    /// Whether the caller has stopped waiting for the answer.
    fn is_abandoned(&self) -> bool;
    /// When it entered the queue.
    fn came(&self) -> Instant;
    /// Makes the change, keeps the answer, and returns whether the change is to stay.
    fn run(&mut self, handle: &Handle) -> bool;
    /// Sends the answer that was kept, or why the group's transaction failed.
    fn answer(self: Box<Self>, outcome: Result<(), Error>);
}

type Job = Box<dyn Change>;

struct Queue {
    /// `None` has the thread look for those that go first.
    in_turn: SyncSender<Option<Job>>,
    first: Sender<Job>,
}

/// The jobs of the [`Queue`].
struct Jobs {
    in_turn: Receiver<Option<Job>>,
    first: Receiver<Job>,
}

struct Pending<F, T> {
    script: F,
    result: Option<Result<T, Error>>,
    reply: oneshot::Sender<Result<T, Error>>,
    came: Instant,
}

impl<F, T> Change for Pending<F, T>
where
    F: Fn(&Handle) -> Result<T, Error> + Send,
    T: Send,
{
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn came(&self) -> Instant {
        self.came
    }

    fn run(&mut self, handle: &Handle) -> bool {
        handle.begin();
        // A script owns what it reads and alters none of it, and what it did in the database before a panic is rolled back:
        // nothing broken is seen again.
        let result = catch_unwind(AssertUnwindSafe(|| (self.script)(handle)))
            .unwrap_or_else(|panic| Err(Error::internal(panic_text(panic.as_ref()))));
        self.result.insert(result).is_ok()
    }

    fn answer(self: Box<Self>, outcome: Result<(), Error>) {
        let result = match (outcome, self.result) {
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => Err(Error::internal("a change was acknowledged that never ran")),
            // A bug is reported as one, whatever the outcome of the group.
            (Err(_), Some(Err(bug @ Error::Internal(_)))) => Err(bug),
            // Also for a refused job: the reason may be work of the jobs before it, such as a sku taken by a product that
            // now does not exist.
            (Err(error), _) => Err(error),
        };
        // A caller that stopped waiting does not need the answer.
        let _ = self.reply.send(result);
    }
}

impl Writer {
    /// Starts the thread, which from now on owns `connection` and the log of its file.
    pub(super) fn start(
        connection: Connection,
        mut log: Checkpointer,
        counts: &Arc<Counts>,
    ) -> Result<Writer, Cause> {
        let ((in_turn, its), (first, firsts)) = (sync_channel(QUEUE), channel());
        let queue = Queue { in_turn, first };
        let jobs = Jobs {
            in_turn: its,
            first: firsts,
        };
        let forecast = Arc::new(Forecast::new(Instant::now()));
        let (pace, its) = (Arc::clone(&forecast), Arc::clone(counts));
        let thread = Builder::new().name("sqlite-writer".into()).spawn(move || {
            let mut before = 0;
            let mut handle = Handle::new(connection);
            while let Some(changes) = commit_next(&handle, &jobs, (&pace, &its), before) {
                log.committed(handle.connection());
                before = changes;
            }
        })?;
        Ok(Writer {
            queue: Some(queue),
            forecast,
            counts: Arc::clone(counts),
            thread: Some(thread),
        })
    }

    /// Runs `script` in a transaction and returns once it is safe on disk.
    ///
    /// `script` runs on the writer's thread, and twice if another job of its group has to be undone: the last run counts. An
    /// error from it undoes what it did.
    ///
    /// # Errors
    /// The error of `script`; [`Error::Unavailable`] when too many changes are waiting or they take too long, the lock or
    /// the disk does not come free within [`WRITE_TIMEOUT`], or the commit fails.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        order: Order,
        script: impl Fn(&Handle) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let queue = self
            .queue
            .as_ref()
            .ok_or_else(|| Error::unavailable(STOPPED))?;
        // The runtime's clock, which tests advance.
        let now = tokio::time::Instant::now().into_std();
        if !self.forecast.enter(order, now) {
            self.counts.refused.one();
            return Err(Error::unavailable("the queue of changes is too long"));
        }
        let job = Box::new(Pending {
            script,
            result: None,
            reply,
            came: now,
        });
        queue.put(order, job).map_err(|refused| {
            self.forecast.leave();
            match refused {
                TrySendError::Full(_) => {
                    self.counts.refused.one();
                    Error::unavailable("the queue of changes is full")
                }
                TrySendError::Disconnected(_) => Error::unavailable(STOPPED),
            }
        })?;
        match tokio::time::timeout(WRITE_TIMEOUT, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Error::unavailable(STOPPED)),
            Err(_) => Err(Error::unavailable("the change was not committed in time")),
        }
    }

    /// How many changes wait.
    pub(super) fn queued(&self) -> usize {
        self.forecast.queued()
    }
}

impl Queue {
    fn put(&self, order: Order, job: Job) -> Result<(), TrySendError<Option<Job>>> {
        let in_turn = match order {
            Order::InTurn => Some(job),
            Order::First => {
                let sent = self.first.send(job);
                sent.map_err(|refused| TrySendError::Disconnected(Some(refused.0)))?;
                None
            }
        };
        match self.in_turn.try_send(in_turn) {
            // The thread is not waiting.
            Err(TrySendError::Full(None)) => Ok(()),
            sent => sent,
        }
    }
}

const STOPPED: &str = "the writer has stopped";

/// Lets the group under way commit, and closes the file before this returns.
impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // Its panic, if any, was reported when it happened.
        }
    }
}

/// Steps 2 to 4, once, after a group of `before` changes. Returns how many there were in the last group; `None` when the
/// queue is closed and empty.
fn commit_next(
    handle: &Handle,
    jobs: &Jobs,
    (forecast, counts): (&Forecast, &Counts),
    before: usize,
) -> Option<usize> {
    let first = jobs.in_turn.recv().ok()?;
    let mut group = gather(first, jobs, before);
    let changes = group.len();
    if changes == 0 {
        // Those that go first went with the group before.
        return Some(before);
    }
    forecast.begin(changes);
    let begun = Instant::now();
    for job in &group {
        counts
            .waits
            .took(begun.saturating_duration_since(job.came()));
    }

    let outcome = transaction(handle, &mut group);
    if outcome.is_err() && !handle.with(Connection::is_autocommit) {
        // Whatever failed, the next group must find no transaction open.
        let _ = handle.execute("ROLLBACK", []);
    }
    let failed = outcome.err().map(|error| Shared(Arc::new(error)));
    let now = Instant::now();
    forecast.end(now);
    counts.transactions.took(now - begun);
    match failed {
        None => counts.groups.note(group.len() as u64),
        Some(_) => counts.failed_groups.one(),
    }
    for job in group {
        job.answer(match &failed {
            None => Ok(()),
            Some(error) => Err(Error::unavailable(error.clone())),
        });
    }
    Some(changes)
}

/// Step 2: the group that starts with `first`, and follows one of `before` changes. With fewer cores than threads, the first
/// job would otherwise be alone, and those that the async threads are about to send would have to wait for the next commit.
/// A client that is alone is spared that: if another program wants the core too, to yield is to wait for its turn to end,
/// and a create took 1.5 ms instead of 0.3.
fn gather(first: Option<Job>, jobs: &Jobs, before: usize) -> Vec<Job> {
    let mut group = Vec::with_capacity(GROUP);
    group.extend(first);
    let in_turn = || jobs.in_turn.try_iter().flatten();
    group.extend(in_turn().take(GROUP - group.len()));
    let mut more = before > 1 || group.len() > 1;
    while more && group.len() < GROUP {
        let found = group.len();
        std::thread::yield_now();
        group.extend(in_turn().take(GROUP - found));
        more = group.len() > found;
    }
    // Behind the others: what told of one of these may have been among them.
    group.extend(jobs.first.try_iter());
    group
}

/// Runs one transaction around the whole group; abandoned jobs are taken out of it.
fn transaction(handle: &Handle, group: &mut Vec<Job>) -> Result<(), Error> {
    handle.execute("BEGIN IMMEDIATE", [])?;
    // Only now: the wait for the lock may have been long.
    group.retain(|job| !job.is_abandoned());
    if !run_together(handle, group)? {
        handle.execute("ROLLBACK", [])?;
        handle.execute("BEGIN IMMEDIATE", [])?;
        run_apart(handle, group)?;
    }
    handle.execute("COMMIT", [])?;
    Ok(())
}

/// Step 3 as it nearly always goes. Returns false when a job has to be undone alone.
fn run_together(handle: &Handle, group: &mut [Job]) -> Result<bool, Error> {
    for job in group {
        let before = handle.with(Connection::total_changes);
        let keep = job.run(handle);
        require_transaction(handle)?;
        if !keep && handle.with(Connection::total_changes) != before {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Step 3 with a savepoint for each job.
fn run_apart(handle: &Handle, group: &mut [Job]) -> Result<(), Error> {
    for job in group {
        handle.execute("SAVEPOINT job", [])?;
        let keep = job.run(handle);
        require_transaction(handle)?;
        if !keep {
            handle.execute("ROLLBACK TO job", [])?;
        }
        handle.execute("RELEASE job", [])?;
    }
    Ok(())
}

/// Fails if SQLite has rolled everything back, as it does for a full disk, for one.
fn require_transaction(handle: &Handle) -> Result<(), Error> {
    if handle.with(Connection::is_autocommit) {
        return Err(Error::unavailable("the database ended the transaction"));
    }
    Ok(())
}

/// An error that many callers share. It prints its cause.
#[derive(Clone, Debug)]
struct Shared(Arc<Error>);

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error: &Error = &self.0;
        match error.cause() {
            Some(cause) => write!(f, "{cause}"),
            None => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Shared {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let error: &Error = &self.0;
        error.cause().map(|cause| cause as _)
    }
}

/// The message of a panic, for the log.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a change panicked: {}", said.unwrap_or("no message"))
}

#[cfg(test)]
mod tests;
