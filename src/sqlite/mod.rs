//! The store in one SQLite file.
//!
//! - `writer.rs`: one thread owns the one connection that writes, and commits waiting changes together.
//! - `wal.rs`: a thread that makes the checkpoints of the write-ahead log, so that no commit has to.
//! - `readers.rs`: a pool of connections that only read; in WAL mode they never wait for the writer.
//! - `migrate.rs`: brings the file to the schema that this binary knows, or refuses it untouched.
//! - `copy.rs`: all of the file, for those who move to another store.
//! - `hash_key.rs`: how a record of idempotency is found.
//! - `pair.rs`: how the file forgets pairs of tokens that it had for a moment.
//! - `handle.rs`: runs the statements of a script.
//! - `error.rs`: the one place where a database error becomes a domain error.
//!
//! Durability: WAL with `synchronous=FULL`, so what was acknowledged survives a crash of the machine.
//! Several processes may open the same file (the command line works while a server runs): whoever
//! comes second to write waits for the lock, five seconds at most.

mod copy;
mod error;
mod handle;
mod hash_key;
mod migrate;
pub(crate) mod pair;
mod readers;
mod wal;
mod writer;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::domain::Error;
use crate::domain::time::Timestamp;
pub(crate) use copy::{Copy, Made};
pub use handle::Handle;
pub(crate) use readers::Reader;
use readers::Readers;
use wal::{Emptying, Log};
use writer::Writer;

/// How often a statement tries for a lock that another process holds, a millisecond apart, before the
/// request is `Unavailable`: five seconds.
const LOCK_TRIES: i32 = 5_000;

/// How many statements a connection keeps prepared: more than the service has.
const PREPARED_STATEMENTS: usize = 256;

/// A store in one SQLite file.
pub struct Sqlite {
    // Dropped in this order: the last connection to close makes the last checkpoint.
    readers: Readers,
    writer: Writer,
    /// Has the log emptied of what is forgotten.
    emptying: Emptying,
}

/// Why a database could not be opened: what happened, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be made, opened or written.
    #[error(
        "cannot open the database {}: {source}. \
         Check that its folder exists and that this user may write there", path.display()
    )]
    Open {
        /// The database file.
        path: PathBuf,
        /// What the operating system or SQLite said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file is no database, or one of something else.
    #[error(
        "{} is a file of another program, and was left as it is. \
         Name another file with --database sqlite:PATH", path.display()
    )]
    Foreign {
        /// The database file.
        path: PathBuf,
    },
    /// The file was written by a newer version of this program.
    #[error(
        "the database {} has schema version {found}, and this program knows versions up to {known}; \
         it was left as it is. Use the newer program that wrote it, or restore a backup made before \
         the upgrade", path.display()
    )]
    Newer {
        /// The database file.
        path: PathBuf,
        /// The schema version in the file.
        found: i64,
        /// The newest schema version that this program knows.
        known: i64,
    },
    /// A migration failed; the database is as it was before that migration.
    #[error(
        "cannot bring the database {} to schema version {version}: {source}. \
         Nothing of that version was applied. If another program holds the file, stop it and try again; \
         otherwise restore a backup", path.display()
    )]
    Migrate {
        /// The database file.
        path: PathBuf,
        /// The version that could not be reached.
        version: i64,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

impl OpenError {
    /// What SQLite's `error` at opening `path` means.
    fn new(path: &Path, error: rusqlite::Error) -> OpenError {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => OpenError::Foreign {
                path: path.to_owned(),
            },
            _ => OpenError::Open {
                path: path.to_owned(),
                source: error.into(),
            },
        }
    }
}

impl Sqlite {
    /// Opens the database file at `path`, makes it if there is none, and brings its schema up to date.
    ///
    /// Must be called inside a tokio runtime: the pool of readers is as large as the runtime is wide.
    ///
    /// # Errors
    /// [`OpenError`], whose text is for the person who starts the program.
    pub fn open(path: impl AsRef<Path>) -> Result<Sqlite, OpenError> {
        let path = path.as_ref();
        let failed = |source| OpenError::Open {
            path: path.to_owned(),
            source,
        };

        create_private(path).map_err(|error| failed(error.into()))?;
        let mut connection = connect(path).map_err(|error| OpenError::new(path, error))?;
        migrate::migrate(&mut connection, path)?;
        let own = connect(path).map_err(|error| OpenError::new(path, error))?;
        let log = Log::start(&mut connection, own).map_err(failed)?;
        let emptying = log.emptying();
        let writer = Writer::start(connection, log).map_err(failed)?;
        let readers = Readers::open(path).map_err(failed)?;
        Ok(Sqlite {
            readers,
            writer,
            emptying,
        })
    }

    /// Runs `script` in a transaction and answers once it is safe on disk. See [`writer`].
    ///
    /// # Errors
    /// What `script` answers; [`Error::Unavailable`] when it could not be committed in time.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        script: impl Fn(&Handle) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.writer.write(script).await
    }

    /// A connection that only reads. See [`readers`].
    ///
    /// # Errors
    /// [`Error::Unavailable`] when none is free.
    pub(crate) fn reader(&self) -> Result<Reader, Error> {
        self.readers.reader()
    }

    /// Whether the file has all migrations that this binary knows.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when it cannot be read.
    pub(crate) fn schema_is_current(&self) -> Result<bool, Error> {
        let version = |connection: &Connection| {
            connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
        };
        let found = self.reader()?.with(version).map_err(error::to_domain)?;
        Ok(found >= migrate::VERSION)
    }

    /// Has the file forget the sealed pairs whose grace does not run `now`, once their rows have ([`pair`]).
    ///
    /// # Errors
    /// As [`write`](Sqlite::write).
    pub(crate) async fn forget_pairs(&self, now: Timestamp) -> Result<(), Error> {
        let emptying = self.emptying.clone();
        self.write(move |handle| {
            let forgotten = pair::forget(handle, now)?;
            emptying.after(forgotten);
            Ok(())
        })
        .await
    }
}

/// Makes the file, readable by its owner only, unless it exists; SQLite gives the log the same mode.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    private(options.write(true).create(true).truncate(false))
        .open(path)
        .map(drop)
}

/// The same options; a file that they make is readable by its owner only.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// A connection with the settings that hold for readers and the writer alike. Writes nothing.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // No mutex: each connection is used by one thread at a time, and Rust sees to that.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(wait_for_lock))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // What is erased is overwritten in the file, as long as that costs no further writing.
    connection.pragma_update(None, "secure_delete", "FAST")?;
    // Otherwise a value that is bound where a partial index names a constant (`status`) has SQLite plan the
    // statement again each time, which was a seventh of a page's cost.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    hash_key::define_hash_key(&connection)?;
    pair::define_wrapping(&connection)?;
    Ok(connection)
}

/// Waits a moment and says whether to try again. SQLite's own handler sleeps up to 100 ms between two
/// tries; a busy server leaves the lock for much less than that between two groups, and the command
/// line would miss nearly every gap.
fn wait_for_lock(tries: i32) -> bool {
    std::thread::sleep(Duration::from_millis(1));
    tries < LOCK_TRIES
}
