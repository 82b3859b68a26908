//! One connection to the file, with the settings that hold for all of them.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::open_error::OpenError;
use super::{hash_key, pair};

/// How often a statement tries for a lock that another process holds, a millisecond apart, before the request is
/// `Unavailable`: five seconds.
const LOCK_TRIES: i32 = 5_000;

/// How many statements a connection keeps prepared: more than the service has.
const PREPARED_STATEMENTS: usize = 256;

/// How many links are followed: as many as Linux does.
const MOST_LINKS: usize = 40;

/// The log of changes of the file at `path`: SQLite names it after the file that a symbolic link leads to.
pub(super) fn log_of(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = path.read_link() else { break };
        path = path.with_file_name(target);
    }
    let mut name = path.into_os_string();
    name.push("-wal");
    name.into()
}

/// The length of a file in bytes; 0 if it does not exist.
pub(super) fn bytes(path: &Path) -> u64 {
    path.metadata().map_or(0, |file| file.len())
}

/// Refuses a path where only the log of a former file exists. After a crash the log has the last changes, and SQLite deletes
/// a log whose file is empty.
///
/// # Errors
/// [`OpenError::LogAlone`].
pub(super) fn require_no_log_alone(path: &Path) -> Result<(), OpenError> {
    let log = log_of(path);
    match bytes(path) == 0 && bytes(&log) > 0 {
        true => Err(OpenError::LogAlone {
            path: path.to_owned(),
            log,
        }),
        false => Ok(()),
    }
}

/// Refuses a path where no file exists.
///
/// # Errors
/// [`OpenError::Absent`]; [`OpenError::LogAlone`].
pub(crate) fn require_file(path: &Path) -> Result<(), OpenError> {
    require_no_log_alone(path)?;
    match path.try_exists() {
        Ok(false) => Err(OpenError::Absent {
            // From the root, because the folder is the likely mistake.
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        }),
        _ => Ok(()),
    }
}

/// Makes the file, readable by its owner only, unless it exists; SQLite gives the log the same mode.
pub(super) fn create_private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    private(options.write(true).create(true).truncate(false)).open(path)
}

/// The same options, with which new files are readable by their owner only.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// A connection with the settings that hold for readers and the writer alike. Writes nothing.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // No mutex: each connection is used by one thread at a time, which Rust enforces.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Callers that open the file report this better; the check here is for all others, since even a look deletes a log.
    require_no_log_alone(path).map_err(|alone| rusqlite::Error::UserFunctionError(alone.into()))?;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(wait_for_lock))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Erased data is overwritten in the file, as long as that takes no further writing.
    connection.pragma_update(None, "secure_delete", "FAST")?;
    // Otherwise, when a value is bound where a partial index names a constant (`status`), SQLite plans the statement again
    // each time, which was a seventh of a page's cost.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    hash_key::define_hash_key(&connection)?;
    pair::define_wrapping(&connection)?;
    Ok(connection)
}

/// Waits a moment and returns whether to try again. SQLite's own handler sleeps up to 100 ms between two tries; a busy
/// server leaves the lock for much less than that between two groups, and the command line would miss nearly every gap.
pub(super) fn wait_for_lock(tries: i32) -> bool {
    std::thread::sleep(Duration::from_millis(1));
    tries < LOCK_TRIES
}
