//! The one connection that writes, on a thread of its own, and the commit that many changes share.
//!
//! A commit waits for the disk, and that wait costs the same for one change as for a hundred. So
//! changes that arrive while a commit is under way are committed together:
//!
//! 1. [`Writer::write`] puts a job into the [queue](queue::Queue), in which each holder has a line of its own, and waits. When
//!    the queue is full, or the job's turn would not come within a second, it is `Unavailable` at once.
//! 2. The thread takes one job of each line in turn, up to [`GROUP`](queue::GROUP), and begins one transaction (`BEGIN
//!    IMMEDIATE`; while another process holds the lock, it waits for it).
//! 3. Each job runs in turn. Once that takes [`LONG`], those that are left go back to where they were in their lines: what one
//!    holder has sent may have to read a slow disk, and the next group has one of each holder again. A job that is refused
//!    before it has changed anything leaves nothing to undo. When one fails, or panics, after it has changed something, the
//!    transaction is rolled back and the group runs once more, now with each job in a savepoint of its own: that job is
//!    undone alone, without any effect on the rest of the group. (A savepoint for every job took a sixth of the processor
//!    time of a create, for something that only bugs bring about.)
//! 4. The group commits. Only then is each job answered; when the commit fails, all get `Unavailable`.
//! 5. A job whose caller has stopped waiting ([`WRITE_TIMEOUT`]) before its turn never runs.
//! 6. Between two groups, the log is checkpointed if need be (`wal.rs`).
//!
//! A job sees what the jobs before it did, including those of its own group. That is sound because either all of them become
//! durable, or no job is answered with anything that it saw: not even a refusal.

mod queue;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::counts::Counts;
use super::disk_waits::{DiskWaits, Of};
use super::handle::Handle;
use super::wal::Checkpointer;
use crate::domain::Cause;
use crate::domain::Error;
use crate::domain::holder::Holder;
use queue::{Queue, Refused};

/// How long a caller waits for the answer to a change, if its wait could not be foreseen.
pub(super) const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a group runs until no more of its jobs begin. Most take a hundred times less for all of them.
const LONG: Duration = Duration::from_millis(20);

/// How long the lock is free after a group that has ended early, before the next one that is already waiting: a command of
/// another process tries for it once a millisecond.
const GAP: Duration = Duration::from_millis(3);

/// The writing half of the store.
pub(super) struct Writer {
    queue: Arc<Queue<Job>>,
    counts: Arc<Counts>,
    disk_waits: Arc<DiskWaits>,
    thread: Option<JoinHandle<()>>,
}

/// A change that waits for its turn.
trait Change: Send {
    /// On whose behalf it is made.
    fn holder(&self) -> Holder;
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

struct Pending<F, T> {
    holder: Holder,
    script: F,
    disk_waits: Arc<DiskWaits>,
    result: Option<Result<T, Error>>,
    reply: oneshot::Sender<Result<T, Error>>,
    came: Instant,
}

impl<F, T> Change for Pending<F, T>
where
    F: Fn(&Handle) -> Result<T, Error> + Send,
    T: Send,
{
    fn holder(&self) -> Holder {
        self.holder
    }

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
        let script = || {
            // If it is found to wait for the disk, later ones are rehearsed. That one did not is due to its rehearsal.
            let (result, waited) = self.disk_waits.watched(|| (self.script)(handle));
            if let Some(took) = waited {
                self.disk_waits.found(Of::Changes(self.holder), took);
            }
            result
        };
        let result = catch_unwind(AssertUnwindSafe(script))
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
        disk_waits: &Arc<DiskWaits>,
    ) -> Result<Writer, Cause> {
        let queue = Arc::new(Queue::new(Instant::now()));
        let (jobs, its) = (Served(Arc::clone(&queue)), Arc::clone(counts));
        let thread = Builder::new().name("sqlite-writer".into()).spawn(move || {
            let mut before = 0;
            let mut handle = Handle::new(connection);
            while let Some(changes) = commit_next(&handle, &jobs.0, &its, before) {
                log.committed(handle.connection());
                before = changes;
            }
        })?;
        Ok(Writer {
            queue,
            counts: Arc::clone(counts),
            disk_waits: Arc::clone(disk_waits),
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
        holder: Holder,
        script: impl Fn(&Handle) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        // The runtime's clock, which tests advance.
        let now = tokio::time::Instant::now().into_std();
        let job = Box::new(Pending {
            holder,
            script,
            disk_waits: Arc::clone(&self.disk_waits),
            result: None,
            reply,
            came: now,
        });
        self.queue.put(holder, job, now).map_err(|refused| {
            let why = match refused {
                Refused::TooLong => "the queue of changes is too long",
                Refused::Full => "the queue of changes is full",
                Refused::Closed => return Error::unavailable(STOPPED),
            };
            self.counts.refused.one();
            Error::unavailable(why)
        })?;
        match tokio::time::timeout(WRITE_TIMEOUT, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Error::unavailable(STOPPED)),
            Err(_) => Err(Error::unavailable("the change was not committed in time")),
        }
    }

    /// How many changes wait.
    pub(super) fn queued(&self) -> usize {
        self.queue.queued()
    }
}

const STOPPED: &str = "the writer has stopped";

/// Lets the group under way commit, and closes the file before this returns.
impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // Its panic, if any, was reported when it happened.
        }
    }
}

/// The queue, as the thread has it. If it ends, nobody waits for it in vain.
struct Served(Arc<Queue<Job>>);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.close();
        self.0.clear();
    }
}

/// Steps 2 to 4, once, after a group of `before` changes. Returns how many there were in the last group; `None` when the
/// queue is closed and empty.
fn commit_next(
    handle: &Handle,
    queue: &Queue<Job>,
    counts: &Counts,
    before: usize,
) -> Option<usize> {
    let mut group = queue.next(before)?;
    let (begun, mut left) = (Instant::now(), Vec::new());
    let outcome = transaction(handle, &mut group, &mut left);
    if outcome.is_err() && !handle.with(Connection::is_autocommit) {
        // Whatever failed, the next group must find no transaction open.
        let _ = handle.execute("ROLLBACK", []);
    }
    let failed = outcome.err().map(|error| Shared(Arc::new(error)));
    let (now, changes) = (Instant::now(), group.len());
    let ended_early = !left.is_empty();
    queue.put_back(left, changes, |job| job.holder());
    queue.end(now);
    for job in &group {
        let waited = begun.saturating_duration_since(job.came());
        counts.waits.took(waited);
    }
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
    if ended_early {
        std::thread::sleep(GAP);
    }
    Some(changes)
}

/// Runs one transaction around the group; abandoned jobs are taken out of it, and so is what is `left` of it after [`LONG`].
fn transaction(handle: &Handle, group: &mut Vec<Job>, left: &mut Vec<Job>) -> Result<(), Error> {
    handle.execute("BEGIN IMMEDIATE", [])?;
    // Only now: the wait for the lock may have been long.
    group.retain(|job| !job.is_abandoned());
    let (ran, stays) = run_together(handle, group)?;
    *left = group.split_off(ran);
    if !stays {
        handle.execute("ROLLBACK", [])?;
        handle.execute("BEGIN IMMEDIATE", [])?;
        run_apart(handle, group)?;
    }
    handle.execute("COMMIT", [])?;
    Ok(())
}

/// Step 3 as it nearly always goes. Returns how many ran, and whether that stays: not if the last has to be undone alone.
fn run_together(handle: &Handle, group: &mut [Job]) -> Result<(usize, bool), Error> {
    let (begun, all) = (Instant::now(), group.len());
    for (at, job) in group.iter_mut().enumerate() {
        if at > 0 && begun.elapsed() >= LONG {
            return Ok((at, true));
        }
        let before = handle.with(Connection::total_changes);
        let keep = job.run(handle);
        require_transaction(handle)?;
        if !keep && handle.with(Connection::total_changes) != before {
            return Ok((at + 1, false));
        }
    }
    Ok((all, true))
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
