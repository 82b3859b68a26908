//! A pool of connections that only read.
//!
//! 1. They are used on the async threads themselves, not through `spawn_blocking`: a read of a cached page takes a few
//!    microseconds, less than handing it to another thread and back (`tests/throughput.rs` measures both: handing over takes
//!    two to three times the processor time). In WAL mode a reader never waits for the writer. Since a read never suspends, an
//!    async thread holds at most one connection, and the pool has one for each of them, so taking one never waits either.
//! 2. While reads [may wait for the disk](DiskWaits), as where the file is larger than memory, they are made on threads that
//!    do nothing else. Callers take [turns](Turns): [a few](AT_ONCE) at once of those who are likely to wait for the disk,
//!    and as many of the others. So whoever reads what is in memory waits for those who are known not to, however many these
//!    are, no longer than handing over takes.
//!
//! Readers map the file into memory instead of copying its pages: a product drawn at random is on two or three pages that no
//! cache of SQLite's own has, and copying them cost more than searching them. The mapped memory is the system's cache of the
//! file, which it takes back when memory is short. The price: a disk error under a mapped page ends the process, where a
//! copy would have been answered `unavailable`. Nothing acknowledged is lost by that, and the writer does not map.
//!
//! The threads of r2d2 hold on to a pool for a moment after they have made a connection, or looked for old ones. So a
//! dropped pool may close its connections later, on one of them; here that is waited for, because the caller that closes a
//! store may remove its file, or look for what the last checkpoint has left.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::{Either, ready};
use r2d2::PooledConnection;
use tokio::runtime::{Builder, Handle as Here, Runtime};

use super::connection::connect;
use super::counts::Counts;
use super::disk_waits::{DiskWaits, Of};
use super::handle::Handle;
use crate::domain::Cause;
use crate::domain::Error;
use crate::turns::{Turn, Turns};

/// How much of the file is mapped, in bytes: all of it. SQLite maps no more than the limit it was built with
/// (`.cargo/config.toml`), 2 GiB by default, and reads the rest as before.
const MAPPED: i64 = 1 << 40;

/// How many reads of either kind are made at once at least: as many as keep most disks busy. Each thread keeps some memory
/// while it is used.
const AT_ONCE: u32 = 4;

/// How long closing a store waits for its readers: much longer than closing them takes.
const CLOSING: Duration = Duration::from_secs(5);

/// Opens readers for the pool. (The crate `r2d2_sqlite` does this for older versions of rusqlite.)
#[derive(Debug)]
struct Manager {
    path: PathBuf,
    open: Sender<()>,
}

/// A connection, and the sender that shows that it is open. They are dropped in this order.
struct Pooled {
    handle: Handle,
    _open: Sender<()>,
}

impl r2d2::ManageConnection for Manager {
    type Connection = Pooled;
    type Error = rusqlite::Error;

    fn connect(&self) -> rusqlite::Result<Pooled> {
        let connection = connect(&self.path)?;
        connection.pragma_update(None, "mmap_size", MAPPED)?;
        // A bug that writes here fails instead of bypassing the one writer.
        connection.pragma_update(None, "query_only", true)?;
        Ok(Pooled {
            handle: Handle::new(connection),
            _open: self.open.clone(),
        })
    }

    fn is_valid(&self, _: &mut Pooled) -> rusqlite::Result<()> {
        Ok(()) // A connection to a file does not go away.
    }

    fn has_broken(&self, pooled: &mut Pooled) -> bool {
        !pooled.handle.connection().is_autocommit() // A panic left a snapshot open: it would read the past for ever.
    }
}

/// A pool of connections that only read.
pub(super) struct Readers {
    /// `None` only while being dropped.
    connections: Option<Arc<Connections>>,
    /// Disconnected once all connections are closed.
    open: Mutex<Receiver<()>>,
    /// The threads of step 2, started on demand: one for each turn. `None` only while being dropped.
    threads: Option<Runtime>,
    /// Of those who are likely to wait for the disk.
    slow: Turns,
    /// Of the others, while somebody may.
    quick: Turns,
    disk_waits: Arc<DiskWaits>,
}

/// What the threads of step 2 share with the others.
struct Connections {
    pool: r2d2::Pool<Manager>,
    disk_waits: Arc<DiskWaits>,
    counts: Arc<Counts>,
}

impl Readers {
    pub(super) fn open(
        path: &Path,
        counts: &Arc<Counts>,
        disk_waits: &Arc<DiskWaits>,
    ) -> Result<Readers, Cause> {
        let (open, closed) = channel();
        let quick = AT_ONCE.max(async_threads());
        let pool = r2d2::Pool::builder()
            .max_size(async_threads() + AT_ONCE + quick)
            .min_idle(Some(async_threads()))
            .test_on_check_out(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .connection_timeout(Duration::from_secs(5))
            .build(Manager {
                path: path.to_owned(),
                open,
            })?;
        let (slow, quick) = (AT_ONCE as usize, quick as usize);
        let threads = Builder::new_current_thread()
            .max_blocking_threads(slow + quick)
            .thread_name("sqlite-reader")
            .build()?;
        Ok(Readers {
            connections: Some(Arc::new(Connections {
                pool,
                disk_waits: Arc::clone(disk_waits),
                counts: Arc::clone(counts),
            })),
            open: Mutex::new(closed),
            threads: Some(threads),
            slow: Turns::new(slow, &counts.refused),
            quick: Turns::new(quick, &counts.refused),
            disk_waits: Arc::clone(disk_waits),
        })
    }

    /// Runs a script that only reads, or that is rehearsed: in step 1 at once, so that the future need not keep it. The
    /// futures of requests stay small, as they are moved more than once.
    ///
    /// # Errors
    /// The script's own; [`Error::Unavailable`] when no connection is free, or would be too late.
    pub(super) fn read<T: Send + 'static>(
        &self,
        of: Of,
        script: impl FnOnce(&Handle) -> Result<T, Error> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send {
        match self.disk_waits.may_come() {
            true => Either::Right(Box::pin(self.read_in_turn(of, script))),
            false => {
                let connections = self.connections();
                Either::Left(ready(connections.and_then(|it| it.read(of, None, script))))
            }
        }
    }

    /// Runs a script that reads what is in memory in any case.
    ///
    /// # Errors
    /// As for [`read`](Readers::read).
    pub(super) fn look<T>(
        &self,
        script: impl FnOnce(&Handle) -> Result<T, Error>,
    ) -> Result<T, Error> {
        script(&self.connections()?.lend(None)?.handle)
    }

    /// Step 2.
    async fn read_in_turn<T: Send + 'static>(
        &self,
        of: Of,
        script: impl FnOnce(&Handle) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let came = Instant::now();
        let is_slow = || self.disk_waits.are_likely(of);
        let quick = match is_slow() {
            true => None,
            false => Some(self.quick.take(of.holder()).await?),
        };
        // It may have been found out while this waited.
        let turn = match quick.filter(|_| !is_slow()) {
            Some(turn) => turn,
            None => self.slow.take(of.holder()).await?,
        };
        let connections = Arc::clone(self.connections()?);
        let threads = self.threads.as_ref().ok_or_else(stopped)?;
        // The turn lasts until the read is made, also if nobody waits for it any more.
        let turn = Arc::new(Mutex::new(Some(turn)));
        let its = Held(Arc::clone(&turn));
        let read = move || {
            let answer = connections.read(of, Some(came), script);
            drop(its);
            answer
        };
        // Without a thread, and memory for one, this panics, and keeps what it was to run.
        let read = catch_unwind(AssertUnwindSafe(|| threads.spawn_blocking(read)));
        let read = read.map_err(|_| {
            drop(Held(turn));
            Error::unavailable("there is no thread to read on")
        })?;
        read.await
            .unwrap_or_else(|error| match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => Err(stopped()),
            })
    }

    fn connections(&self) -> Result<&Arc<Connections>, Error> {
        self.connections.as_ref().ok_or_else(stopped)
    }

    /// How many connections there are, how many of them scripts hold, and how many there may be.
    pub(super) fn state(&self) -> (usize, usize, usize) {
        let Some(Connections { pool, .. }) = self.connections.as_deref() else {
            return (0, 0, 0);
        };
        let state = pool.state();
        let used = state.connections.saturating_sub(state.idle_connections);
        (
            state.connections as usize,
            used as usize,
            pool.max_size() as usize,
        )
    }
}

/// Closes the connections before this returns.
impl Drop for Readers {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            // What they are reading is waited for below.
            threads.shutdown_background();
        }
        drop(self.connections.take());
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Nothing is ever sent: this returns an error as soon as the last of them is gone.
        let _ = open.recv_timeout(CLOSING);
    }
}

impl Connections {
    /// Runs a script, whose caller has waited since they `came`.
    fn read<T>(
        &self,
        of: Of,
        came: Option<Instant>,
        script: impl FnOnce(&Handle) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let reader = self.lend(came)?;
        let read = || script(&reader.handle);
        let (answer, is_slow) = self.disk_waits.noticed(of, read);
        if is_slow {
            self.counts.slow_reads.one();
        }
        answer
    }

    /// A free connection, for one script.
    fn lend(&self, came: Option<Instant>) -> Result<PooledConnection<Manager>, Error> {
        let waits = &self.counts.reader_waits;
        let lent = match self.pool.try_get() {
            Some(lent) => {
                waits.took(came.map_or(Duration::ZERO, |came| came.elapsed()));
                lent
            }
            None => {
                let came = came.unwrap_or_else(Instant::now);
                let lent = self.pool.get().map_err(Error::unavailable);
                waits.took(came.elapsed());
                lent?
            }
        };
        lent.handle.begin();
        Ok(lent)
    }
}

/// A turn that ends when the first of those who hold it is dropped.
struct Held(Arc<Mutex<Option<Turn>>>);

impl Drop for Held {
    fn drop(&mut self) {
        let mut turn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(turn.take());
    }
}

fn stopped() -> Error {
    Error::unavailable("the readers have stopped")
}

/// How many threads can read at once: the workers of this runtime, and the thread that started it.
fn async_threads() -> u32 {
    let workers = Here::try_current().map(|here| here.metrics().num_workers());
    u32::try_from(workers.unwrap_or(0) + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::sleep;

    use futures::FutureExt;
    use tempfile::TempDir;
    use uuid::Uuid;

    use super::*;
    use crate::domain::holder::Holder;
    use crate::sqlite::create_private;

    const MOMENT: Duration = Duration::from_millis(1);

    fn open(folder: &TempDir) -> Readers {
        let path = folder.path().join("test.db");
        create_private(&path).unwrap();
        Readers::open(&path, &Arc::default(), &Arc::new(DiskWaits::new())).unwrap()
    }

    fn team(number: u128) -> Of {
        Of::Reads(Holder::Team(Uuid::from_u128(number)))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn whoever_reads_what_is_in_memory_waits_for_nobody_who_does_not() {
        let folder = TempDir::new().unwrap();
        let readers = Arc::new(open(&folder));
        let teams = 1..=2 * u128::from(AT_ONCE);
        for number in teams.clone() {
            readers.disk_waits.found(team(number), Duration::ZERO);
        }
        let disk_answers = Arc::new(AtomicBool::new(false));
        let answers = Arc::clone(&disk_answers);
        // No timer of the runtime fires while its only thread waits.
        std::thread::spawn(move || {
            sleep(9_000 * MOMENT);
            answers.store(true, Ordering::SeqCst);
        });
        let slow: Vec<_> = teams
            .map(|number| {
                let (readers, answers) = (Arc::clone(&readers), Arc::clone(&disk_answers));
                tokio::spawn(async move {
                    let wait = move |_: &_| {
                        while !answers.load(Ordering::SeqCst) {
                            sleep(MOMENT);
                        }
                        Ok(())
                    };
                    readers.read(team(number), wait).await
                })
            })
            .collect();
        while readers.slow.state() != (AT_ONCE as usize, AT_ONCE as usize) {
            tokio::task::yield_now().await;
            assert!(!disk_answers.load(Ordering::SeqCst), "few read at once");
        }
        let other = Arc::clone(&readers);
        let other = tokio::spawn(async move { other.read(team(0), |_| Ok(())).await });
        other.await.unwrap().unwrap();
        assert!(
            !disk_answers.swap(true, Ordering::SeqCst),
            "the other waits"
        );
        for slow in slow {
            slow.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn whoever_may_wait_for_the_disk_reads_on_a_thread_of_the_readers() {
        let folder = TempDir::new().unwrap();
        let readers = open(&folder);
        let thread = |_: &_| Ok(std::thread::current().name().map(str::to_owned));
        let here = std::thread::current().name().map(str::to_owned);
        assert_eq!(readers.read(team(1), thread).await.unwrap(), here);
        readers.disk_waits.found(team(1), Duration::ZERO);
        for number in [1, 2] {
            let name = readers.read(team(number), thread).await.unwrap();
            assert_eq!(name.as_deref(), Some("sqlite-reader"));
        }
    }

    #[tokio::test]
    async fn a_read_that_nobody_waits_for_any_more_keeps_its_turn_to_its_end() {
        let folder = TempDir::new().unwrap();
        let readers = open(&folder);
        readers.disk_waits.found(team(1), Duration::ZERO);
        let (begun, begins) = channel();
        let (end, ends) = channel();
        let wait = move |_: &_| {
            begun.send(()).unwrap();
            ends.recv().map_err(Error::internal)
        };
        let read = Box::pin(readers.read(team(1), wait));
        let given_up = tokio::time::timeout(50 * MOMENT, read).await;
        assert!(given_up.is_err(), "it waits");
        begins.recv().unwrap();
        assert_eq!(readers.slow.state(), (1, 0));
        end.send(()).unwrap();
        while readers.slow.state() != (0, 0) {
            sleep(MOMENT);
        }
    }

    #[tokio::test]
    async fn a_panic_on_a_thread_of_the_readers_reaches_the_caller() {
        let folder = TempDir::new().unwrap();
        let readers = open(&folder);
        readers.disk_waits.found(team(1), Duration::ZERO);
        let panics = |_: &_| -> Result<(), Error> { panic!("in the script") };
        let read = AssertUnwindSafe(readers.read(team(1), panics));
        let panic = read.catch_unwind().await.unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"in the script"));
        assert_eq!(readers.slow.state(), (0, 0));
        readers.read(team(1), |_| Ok(())).await.unwrap();
    }

    #[tokio::test]
    async fn a_read_for_which_there_is_no_thread_is_unavailable_and_gives_its_turn_back() {
        let folder = TempDir::new().unwrap();
        let mut readers = open(&folder);
        readers.disk_waits.found(team(1), Duration::ZERO);
        // No machine has that much memory for a stack.
        let none = Builder::new_current_thread()
            .thread_stack_size(1 << 60)
            .build();
        let threads = readers.threads.replace(none.unwrap());
        for _ in 0..2 * AT_ONCE {
            let read = readers.read(team(1), |_| Ok(())).await;
            assert!(matches!(read, Err(Error::Unavailable(_))), "{read:?}");
            assert_eq!(readers.slow.state(), (0, 0));
        }
        let none = std::mem::replace(&mut readers.threads, threads);
        none.unwrap().shutdown_background();
        readers.read(team(1), |_| Ok(())).await.unwrap();
    }

    #[test]
    fn closing_waits_for_whoever_still_holds_on_to_the_pool() {
        let folder = TempDir::new().unwrap();
        let readers = open(&folder);
        let held = readers.connections.clone();
        let released = Arc::new(AtomicBool::new(false));
        let tells = Arc::clone(&released);
        let thread = std::thread::spawn(move || {
            // Time for the closing to start; if it started later, there would be nothing to wait for.
            sleep(50 * MOMENT);
            tells.store(true, Ordering::SeqCst);
            drop(held);
        });
        drop(readers);
        assert!(released.load(Ordering::SeqCst));
        thread.join().unwrap();
    }
}
