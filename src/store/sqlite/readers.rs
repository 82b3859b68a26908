//! The connections that only read.
//!
//! They are used on the async threads themselves, not through `spawn_blocking`: a read of a cached page
//! takes a few microseconds, less than handing it to another thread and back (`tests/throughput.rs`
//! measures both: handing over takes two to three times the processor time). In WAL mode a reader never
//! waits for the writer. A read never suspends, so that no more connections are in use at once than
//! there are async threads; that many are opened at the start, and taking one never waits.
//!
//! Readers map the file into memory instead of copying its pages: a product drawn at random is on two or
//! three pages that no cache of SQLite's own has, and copying them cost more than the search in them. What
//! the map holds is the system's cache of the file, which it takes back when memory is short. The price: an
//! error of the disk under a mapped page ends the process, where a copy would have been answered
//! `unavailable`. Nothing acknowledged is lost by that, and the writer does not map.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::connect;
use super::sql::Sql;
use crate::app::Error;
use crate::app::error::Cause;

/// How much of the file is mapped, in bytes: all of it. SQLite takes no more than the limit it was built with
/// (`.cargo/config.toml`), 2 GiB by default, and reads what lies beyond as before.
const MAPPED: i64 = 1 << 40;

/// Connections that only read.
pub struct Readers {
    path: PathBuf,
    /// Those that nobody uses now. The last one used comes first: what it needs is in the processor's cache.
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn open(path: &Path) -> Result<Readers, Cause> {
        let idle = (0..async_threads())
            .map(|_| open(path))
            .collect::<rusqlite::Result<_>>()?;
        Ok(Readers {
            path: path.to_owned(),
            idle: Mutex::new(idle),
        })
    }

    /// Runs one query, or several that need not agree with each other.
    ///
    /// # Errors
    /// What `query` answers, or [`Error::Unavailable`] when no connection can be opened.
    pub fn read<T>(&self, query: impl FnOnce(Sql<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let connection = self.take()?;
        // One that a panic takes along is closed; the next read opens another.
        let answer = query(Sql::new(&connection));
        self.put_back(connection);
        answer
    }

    /// Runs several queries that all see the same state of the database.
    ///
    /// # Errors
    /// As [`Readers::read`].
    pub fn snapshot<T>(
        &self,
        queries: impl FnOnce(Sql<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.read(|sql| {
            sql.execute("BEGIN DEFERRED", [])?;
            let answer = queries(sql);
            sql.execute("COMMIT", [])?;
            answer
        })
    }

    fn take(&self) -> Result<Connection, Error> {
        let idle = self.idle().pop();
        idle.map_or_else(|| open(&self.path).map_err(Error::unavailable), Ok)
    }

    fn put_back(&self, connection: Connection) {
        // A snapshot that could not be ended would have it read the past for ever.
        if connection.is_autocommit() {
            self.idle().push(connection);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        // Nothing panics while it is held.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that only reads.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    connection.pragma_update(None, "mmap_size", MAPPED)?;
    // A bug that writes here fails instead of escaping the one writer.
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// How many threads can read at once: the workers of this runtime, and the thread that started it.
fn async_threads() -> usize {
    let workers = tokio::runtime::Handle::try_current().map(|here| here.metrics().num_workers());
    workers.unwrap_or(0) + 1
}
