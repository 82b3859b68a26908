//! A file as it is found: nothing in it is changed, and nothing is left beside it that was not there.

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

/// Steps of SQLite's machine between two looks at the clock: a few milliseconds.
const STEPS: i32 = 100_000;

/// A file that is there, and ours.
pub(crate) struct Inspection {
    connection: Connection,
    version: i64,
}

/// What a look through a file has found.
#[derive(Debug)]
pub(crate) enum Content {
    /// No damage.
    Whole,
    /// No damage, as far as there was time.
    TooLong,
    /// This, first of all.
    Damaged(String),
}

impl Inspection {
    /// # Errors
    /// [`OpenError`].
    pub(crate) fn open(path: &Path) -> Result<Inspection, OpenError> {
        require_file(path)?;
        let failed = |error| OpenError::new(path, error);
        // What a server has left is for the next one, which this is not.
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

    /// Begins a change, and takes it back.
    ///
    /// # Errors
    /// Why it cannot be begun.
    pub(crate) fn takes_changes(&self) -> Result<(), Cause> {
        Ok(self.connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?)
    }

    /// Looks through the file, for so long.
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
