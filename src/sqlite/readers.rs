//! A pool of connections that only read.
//!
//! They are used on the async threads themselves, not through `spawn_blocking`: a read of a cached page
//! takes a few microseconds, less than handing it to another thread and back (`tests/throughput.rs`
//! measures both: handing over takes two to three times the processor time). In WAL mode a reader never
//! waits for the writer. Since a read never suspends, an async thread holds at most one connection, and
//! the pool has one for each of them, so taking one never waits either.
//!
//! Readers map the file into memory instead of copying its pages: a product drawn at random is on two or three pages that no
//! cache of SQLite's own has, and copying them cost more than searching them. The mapped memory is the system's cache of the
//! file, which it takes back when memory is short. The price: a disk error under a mapped page ends the process, where a
//! copy would have been answered `unavailable`. Nothing acknowledged is lost by that, and the writer does not map.
//!
//! The threads of r2d2 hold on to a pool for a moment after they have made a connection, or looked for old ones. So a
//! dropped pool may close its connections later, on one of them; here that is waited for, because the caller that closes a
//! store may remove its file, or look for what the last checkpoint has left.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use r2d2::PooledConnection;

use super::connection::connect;
use super::counts::Counts;
use super::handle::Handle;
use crate::domain::Cause;
use crate::domain::Error;

/// How much of the file is mapped, in bytes: all of it. SQLite maps no more than the limit it was built with
/// (`.cargo/config.toml`), 2 GiB by default, and reads the rest as before.
const MAPPED: i64 = 1 << 40;

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
    pool: Option<r2d2::Pool<Manager>>,
    /// Disconnected once the pool and all of its connections are gone.
    open: Mutex<Receiver<()>>,
    counts: Arc<Counts>,
}

impl Readers {
    pub(super) fn open(path: &Path, counts: &Arc<Counts>) -> Result<Readers, Cause> {
        let (open, closed) = channel();
        let pool = r2d2::Pool::builder()
            .max_size(async_threads())
            .test_on_check_out(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .connection_timeout(Duration::from_secs(5))
            .build(Manager {
                path: path.to_owned(),
                open,
            })?;
        Ok(Readers {
            pool: Some(pool),
            open: Mutex::new(closed),
            counts: Arc::clone(counts),
        })
    }

    /// A free connection, for one script.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when none is free.
    pub(super) fn reader(&self) -> Result<Reader, Error> {
        let pool = self.pool.as_ref();
        let pool = pool.ok_or_else(|| Error::unavailable("the readers have stopped"))?;
        let waits = &self.counts.reader_waits;
        let lent = match pool.try_get() {
            Some(lent) => {
                waits.took(Duration::ZERO);
                lent
            }
            None => {
                let begun = Instant::now();
                let lent = pool.get().map_err(Error::unavailable);
                waits.took(begun.elapsed());
                lent?
            }
        };
        lent.handle.begin();
        Ok(Reader(lent))
    }

    /// How many connections there are, how many of them scripts hold, and how many there may be.
    pub(super) fn state(&self) -> (usize, usize, usize) {
        let Some(pool) = &self.pool else {
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

/// A connection that only reads, lent to one script.
pub(crate) struct Reader(PooledConnection<Manager>);

impl Deref for Reader {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.0.handle
    }
}

/// Closes the connections before this returns.
impl Drop for Readers {
    fn drop(&mut self) {
        drop(self.pool.take());
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Nothing is ever sent: this returns an error as soon as the last of them is gone.
        let _ = open.recv_timeout(CLOSING);
    }
}

/// How many threads can read at once: the workers of this runtime, and the thread that started it.
fn async_threads() -> u32 {
    let workers = tokio::runtime::Handle::try_current().map(|here| here.metrics().num_workers());
    u32::try_from(workers.unwrap_or(0) + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::sqlite::create_private;

    #[test]
    fn closing_waits_for_whoever_still_holds_on_to_the_pool() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("test.db");
        create_private(&path).unwrap();
        let readers = Readers::open(&path, &Arc::default()).unwrap();
        let held = readers.pool.clone();
        let released = Arc::new(AtomicBool::new(false));
        let tells = Arc::clone(&released);
        let thread = std::thread::spawn(move || {
            // Time for the closing to start; if it started later, there would be nothing to wait for.
            std::thread::sleep(Duration::from_millis(50));
            tells.store(true, Ordering::SeqCst);
            drop(held);
        });
        drop(readers);
        assert!(released.load(Ordering::SeqCst));
        thread.join().unwrap();
    }
}
