//! The store in one SQLite file.
//!
//! - `writer.rs`: one thread owns the one connection that writes, and commits waiting changes together.
//! - `wal.rs`: a thread that checkpoints the write-ahead log, so that no commit has to.
//! - `connection.rs`: one connection, with the settings of all of them.
//! - `readers.rs`: a pool of connections that only read; in WAL mode they never wait for the writer.
//! - `disk_waits.rs`: notices when scripts wait for the disk.
//! - `migrate.rs`: brings the file to the schema that this binary knows, or refuses it untouched.
//! - `inspect.rs`: inspects the file without changing it.
//! - `copy.rs`: reads and writes the whole file, for a move to another store.
//! - `snapshot.rs`: a file with everything at one moment, for a backup.
//! - `hash_key.rs`: how an idempotency record is found.
//! - `pair.rs`: how the file forgets the pairs of tokens that it had for a moment.
//! - `handle.rs`: runs the statements of a script.
//! - `counts.rs`: counters, for monitoring the service.
//! - `error.rs`: the one place where a database error becomes a domain error.
//!
//! Durability: WAL with `synchronous=FULL`, so what was acknowledged survives a crash of the machine. Several processes may
//! open the same file (the command line works while a server runs): the second to write waits for the lock, five seconds at
//! most.

mod connection;
mod copy;
mod counts;
mod disk_waits;
mod error;
mod handle;
mod hash_key;
mod inspect;
mod migrate;
mod open_error;
pub(crate) mod pair;
mod readers;
mod snapshot;
mod wal;
mod writer;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use rusqlite::Connection;

use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::time::Timestamp;
pub(crate) use connection::require_file;
use connection::{bytes, connect, create_private, log_of, require_no_log_alone};
pub(crate) use copy::{Copy, Made};
pub use counts::{Counts, Numbers};
use disk_waits::{DiskWaits, Of};
pub use handle::Handle;
pub(crate) use inspect::{Content, Inspection};
#[cfg(test)]
pub(crate) use migrate::open_by_the_release_before;
pub use open_error::OpenError;
use readers::Readers;
pub(crate) use snapshot::{Snapshot, schema_version};
use wal::{Checkpointer, Emptying};
use writer::Writer;

/// How much of the file the writer keeps in memory, in KiB: all that a large import changes. With SQLite's own two
/// megabytes, each page that does not fit is written and read again within the transaction, while all others wait: twice
/// the time. The memory is taken when it is needed.
const WRITER_CACHE: i64 = 64 * 1024;

/// A store in one SQLite file.
pub struct Sqlite {
    // Dropped in this order: the last connection to close makes the last checkpoint.
    readers: Readers,
    writer: Writer,
    /// Empties the log of what is forgotten.
    emptying: Emptying,
    disk_waits: Arc<DiskWaits>,
    counts: Arc<Counts>,
    path: PathBuf,
    found_version: i64,
    /// Closed after all connections ([`Checkpointer::start`]).
    file: Arc<File>,
}

impl Sqlite {
    /// Opens the database file at `path`, makes it if it does not exist, and brings its schema up to date.
    ///
    /// Must be called inside a tokio runtime: the size of the pool of readers depends on its number of threads.
    ///
    /// # Errors
    /// [`OpenError`], whose text is for the person who starts the program.
    pub fn open(path: impl AsRef<Path>) -> Result<Sqlite, OpenError> {
        let path = path.as_ref();
        let failed = |source| OpenError::Open {
            path: path.to_owned(),
            source,
        };

        require_no_log_alone(path)?;
        // Before the connections, so that it is closed after them, whatever fails.
        let file = create_private(path).map_err(|error| failed(error.into()))?;
        let file = Arc::new(file);
        let mut connection = connect(path).map_err(|error| OpenError::new(path, error))?;
        let found_version = migrate::migrate(&mut connection, path)?;
        let cache = connection.pragma_update(None, "cache_size", -WRITER_CACHE);
        cache.map_err(|error| OpenError::new(path, error))?;
        let own = connect(path).map_err(|error| OpenError::new(path, error))?;
        let counts = Arc::<Counts>::default();
        let disk_waits = Arc::new(DiskWaits::new());
        let log = Checkpointer::start(&mut connection, own, Arc::clone(&file), &counts);
        let log = log.map_err(failed)?;
        let emptying = log.emptying();
        let writer = Writer::start(connection, log, &counts, &disk_waits).map_err(failed)?;
        let readers = Readers::open(path, &counts, &disk_waits).map_err(failed)?;
        Ok(Sqlite {
            readers,
            writer,
            emptying,
            disk_waits,
            counts,
            path: path.to_owned(),
            found_version,
            file,
        })
    }

    /// Runs `script` in a transaction and returns once it is safe on disk. See [`writer`].
    ///
    /// While scripts may wait for the disk, it is rehearsed before, up to its first change: then what it has read so far is in
    /// memory, and no other change has to wait for it. An import is not: it was planned just now, and measures its own time.
    ///
    /// # Errors
    /// The error of `script`; [`Error::Unavailable`] when it could not be committed in time.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        holder: Holder,
        script: impl Fn(&Handle) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let rehearse = self.disk_waits.may_come() && !matches!(holder, Holder::Import(_));
        let script = match rehearse {
            true => self.rehearsed(holder, script).await?,
            false => script,
        };
        self.writer.write(holder, script).await
    }

    /// Runs `script` up to its first change, which fails, as the connection is `query_only`, and returns it.
    async fn rehearsed<T, S>(&self, holder: Holder, script: S) -> Result<S, Error>
    where
        S: Fn(&Handle) -> Result<T, Error> + Send + 'static,
    {
        let rehearse = move |handle: &Handle| {
            // What it comes to is of no interest, nor whether it panics: that shows when it is made.
            let _ = catch_unwind(AssertUnwindSafe(|| script(handle)));
            Ok(script)
        };
        self.readers.read(Of::Changes(holder), rehearse).await
    }

    /// Runs a script that only reads, for `holder`. See [`readers`].
    ///
    /// # Errors
    /// The error of `script`; [`Error::Unavailable`] when no connection is free, or would be too late.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        holder: Holder,
        script: impl FnOnce(&Handle) -> Result<T, Error> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send {
        self.readers.read(Of::Reads(holder), script)
    }

    /// Whether a read of `holder` has waited for the disk lately.
    pub(crate) fn waits_for_disk(&self, holder: Holder) -> bool {
        self.disk_waits.may_come() && self.disk_waits.have_waited(Of::Reads(holder))
    }

    /// The counters of the store, and its current state. This asks the system for the length of two files.
    pub(crate) fn numbers(&self) -> Numbers<'_> {
        let log_bytes = bytes(&log_of(&self.path));
        let (readers, readers_used, readers_most) = self.readers.state();
        Numbers {
            counts: &self.counts,
            queued: self.writer.queued(),
            // It was cut off since the last commit.
            log_pages: if log_bytes > 0 {
                self.emptying.log_pages()
            } else {
                0
            },
            log_bytes,
            file_bytes: bytes(&self.path),
            readers,
            readers_used,
            readers_most,
        }
    }

    /// The file, until this is closed: then the last checkpoint is made, too.
    pub(crate) fn file(&self) -> Weak<File> {
        Arc::downgrade(&self.file)
    }

    /// Calls `f` while this process makes no checkpoint, which others would have to wait for.
    pub(crate) fn between_checkpoints(&self, f: impl FnOnce()) {
        self.emptying.between_checkpoints(f);
    }

    /// The version that the schema had when this was opened: 0 for a new file.
    pub(crate) fn found_version(&self) -> i64 {
        self.found_version
    }

    /// Whether the file has all migrations that this binary knows.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when it cannot be read.
    pub(crate) fn schema_is_current(&self) -> Result<bool, Error> {
        let version = |connection: &Connection| {
            connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
        };
        let look = |handle: &Handle| handle.with(version).map_err(error::to_domain);
        // It is in the first page, which each read needs.
        Ok(self.readers.look(look)? >= migrate::VERSION)
    }

    /// Whether the disk takes a change of one page: the version of the schema is written again unchanged. Another
    /// statement's change may still fit where this one does not, or the other way round, but not for long.
    ///
    /// # Errors
    /// As [`write`](Sqlite::write), when it is not the disk that refuses.
    pub(crate) async fn try_to_write(&self) -> Result<bool, Error> {
        let written = self.writer.write(Holder::Service, |handle| {
            let same = |connection: &Connection| {
                let version: i64 =
                    connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
                connection.pragma_update(None, "user_version", version)
            };
            handle.with(same).map_err(error::to_domain)
        });
        match written.await {
            Ok(()) => Ok(true),
            Err(error) if error::is_of_disk(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes the file forget the sealed pairs whose grace is not running `now`, once their rows have ([`pair`]).
    ///
    /// # Errors
    /// As [`write`](Sqlite::write).
    pub(crate) async fn forget_pairs(&self, now: Timestamp) -> Result<(), Error> {
        let emptying = self.emptying.clone();
        self.write(Holder::Service, move |handle| {
            let forgotten = pair::forget(handle, now)?;
            emptying.after(forgotten);
            Ok(())
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_change_is_rehearsed_while_scripts_may_wait_for_the_disk() {
        let folder = TempDir::new().unwrap();
        let store = Sqlite::open(folder.path().join("test.db")).unwrap();
        let runs = Arc::<Mutex<Vec<bool>>>::default();
        let change = async || {
            let its = Arc::clone(&runs);
            let script = move |handle: &Handle| {
                let changed = handle.execute("UPDATE team SET name = name", []);
                its.lock().unwrap().push(changed.is_ok());
                changed
            };
            store.write(Holder::Service, script).await.unwrap();
            std::mem::take(&mut *runs.lock().unwrap())
        };
        assert_eq!(change().await, [true]);
        store
            .disk_waits
            .found(Of::Changes(Holder::Service), Duration::ZERO);
        assert_eq!(change().await, [false, true]);
    }

    #[tokio::test]
    async fn a_schema_is_current_from_the_version_that_this_binary_knows() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("test.db");
        let store = Sqlite::open(&path).unwrap();
        let elsewhere = Connection::open(&path).unwrap();
        for (change, current) in [(-1, false), (0, true), (1, true)] {
            let version = migrate::VERSION + change;
            elsewhere
                .pragma_update(None, "user_version", version)
                .unwrap();
            assert_eq!(store.schema_is_current().unwrap(), current, "{version}");
        }
    }
}
