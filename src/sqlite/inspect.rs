//! Inspects a file without changing anything in it, or leaving anything new beside it.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};

use super::connection::{bytes, connect, log_of, require_file};
use super::migrate;
use super::open_error::OpenError;
use crate::domain::Cause;

/// How long another process may hold the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// Steps of SQLite's virtual machine between two looks at the clock: a few milliseconds.
const STEPS: i32 = 100_000;

/// A file that exists, and is ours.
pub(crate) struct Inspection {
    connection: Connection,
    version: i64,
}

/// The result of a look through a file.
#[derive(Debug)]
pub(crate) enum Content {
    /// No damage.
    Whole,
    /// No damage found in the time given.
    TooLong,
    /// The first damage found.
    Damaged(String),
}

impl Inspection {
    /// # Errors
    /// [`OpenError`].
    pub(crate) fn open(path: &Path) -> Result<Inspection, OpenError> {
        require_file(path)?;
        let failed = |error| OpenError::new(path, error);
        // A log that a server left is for the next server, which this is not.
        let has_log = bytes(&log_of(path)) > 0;
        let connection = connect(path).map_err(failed)?;
        connection.busy_timeout(LOCK_TIMEOUT).map_err(failed)?;
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log)
            .map_err(failed)?;
        let version = migrate::found(&connection, path)?;
        Ok(Inspection {
            connection,
            version,
        })
    }

    /// The version of its schema; 0 for an empty file.
    pub(crate) fn version(&self) -> i64 {
        self.version
    }

    /// Starts a change, and rolls it back.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(crate) fn takes_changes(&self) -> Result<(), Cause> {
        Ok(self.connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?)
    }

    /// Looks through the file, for at most `time`.
    pub(crate) fn quick_check(mut self, time: Duration) -> Content {
        let end = Instant::now() + time;
        let is_over = move || Instant::now() > end;
        let looked = self
            .connection
            .progress_handler(STEPS, Some(is_over))
            .and_then(|()| {
                let first = "PRAGMA quick_check(1)";
                let said = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
                self.connection.query_row(first, [], said)
            });
        match looked {
            Ok(said) if said == "ok" => Content::Whole,
            Ok(said) => Content::Damaged(said.lines().next().unwrap_or_default().to_owned()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                Content::TooLong
            }
            Err(error) => Content::Damaged(error.to_string()),
        }
    }
}
