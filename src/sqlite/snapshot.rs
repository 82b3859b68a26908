//! A file with everything that a database had at one moment, and what can be found out from it.
//!
//! 1. `VACUUM INTO` reads the database in one transaction, like any reader: no writer waits for it, and what is committed
//!    meanwhile is not in the file. The schema is taken as it is, whatever its version.
//! 2. The keys of sealed pairs of tokens are erased from the new file, and with them the pairs (`pair.rs`;
//!    docs/decisions.md, S20).
//!
//! The file is one piece, without a log beside it, and accessible to its owner alone.

use std::fs::OpenOptions;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::connection::{connect, private};
use super::migrate;
use super::open_error::OpenError;
use crate::domain::Cause;
use crate::sql::copy::{Value, quoted};

/// Steps of SQLite's virtual machine between two checks whether to go on: some thousandths of a second.
const STEPS: i32 = 100_000;

/// How many defects of a file are reported.
const MOST_PROBLEMS: usize = 20;

/// A file that only this process has open.
pub(crate) struct Snapshot {
    connection: Connection,
}

/// The schema version of the database at `path`; 0 if it is new or not ours. Changes nothing.
///
/// # Errors
/// [`OpenError::Open`], [`OpenError::Foreign`] and [`OpenError::Damaged`].
pub(crate) fn schema_version(path: &Path) -> Result<i64, OpenError> {
    let version = || migrate::version(&reader(path)?);
    version().map_err(|error| OpenError::new(path, error))
}

/// A connection that makes no checkpoint when it is closed: a newer program may have left the log.
fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

impl Snapshot {
    /// Makes the file `into` from the database `from`: steps 1 and 2. Calls `go_on` again and again with how many bytes
    /// there are, and how many there will be at most; it returns whether to go on.
    ///
    /// # Errors
    /// What the system or SQLite reported; any part of the file that exists then is worthless.
    pub(crate) fn take(
        from: &Path,
        into: &Path,
        go_on: impl Fn(u64, u64) -> bool + Send + 'static,
    ) -> Result<Snapshot, Cause> {
        private(OpenOptions::new().write(true).create_new(true)).open(into)?;
        let mut connection = reader(from)?;
        let size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let total: i64 = connection.query_row(size, [], |row| row.get(0))?;
        let watched = into.to_owned();
        let stop = move || {
            let done = std::fs::metadata(&watched).map_or(0, |file| file.len());
            !go_on(done, total.unsigned_abs())
        };
        connection.progress_handler(STEPS, Some(stop))?;
        let name = into.to_str().ok_or("its path is not UTF-8")?;
        connection.execute("VACUUM INTO ?1", [name])?;
        let snapshot = Snapshot::open(into)?;
        snapshot.forget_pairs()?;
        Ok(snapshot)
    }

    /// Opens the file at `path`, and makes it one piece if it is not.
    ///
    /// # Errors
    /// The error from SQLite.
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Snapshot> {
        let connection = connect(path)?;
        connection.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
        Ok(Snapshot { connection })
    }

    /// Makes everything that is asked of the file end with an error once `go_on` returns false.
    ///
    /// # Errors
    /// None that a caller would meet.
    pub(crate) fn watch(
        &mut self,
        go_on: impl Fn() -> bool + Send + 'static,
    ) -> rusqlite::Result<()> {
        self.connection
            .progress_handler(STEPS, Some(move || !go_on()))
    }

    /// Step 2. The keys are in one page, where a deleted row is overwritten. Versions before 4 have no keys, and pairs that
    /// are only sealed.
    fn forget_pairs(&self) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "secure_delete", true)?;
        for (table, statement) in [
            ("grace_key", "DELETE FROM grace_key"),
            (
                "refresh_token",
                "UPDATE refresh_token SET successor = NULL WHERE successor IS NOT NULL",
            ),
        ] {
            if self.connection.table_exists(None, table)? {
                self.connection.execute(statement, [])?;
            }
        }
        Ok(())
    }

    /// The version of its schema; 0 if it is not ours.
    ///
    /// # Errors
    /// The error from SQLite.
    pub(crate) fn schema_version(&self) -> rusqlite::Result<i64> {
        migrate::version(&self.connection)
    }

    /// The names of its tables, in order.
    ///
    /// # Errors
    /// The error from SQLite.
    pub(crate) fn tables(&self) -> rusqlite::Result<Vec<String>> {
        let select = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
        let mut tables = self.connection.prepare(select)?;
        let names = tables.query_map([], |row| row.get(0))?;
        names.collect()
    }

    /// Passes each row of a table to `each`, with all of its columns, always in the same order.
    ///
    /// # Errors
    /// The error from SQLite.
    pub(crate) fn each_row(
        &self,
        table: &str,
        mut each: impl FnMut(&Vec<Value>),
    ) -> Result<(), Cause> {
        // In the order of the table itself: an index would give another order, and SQLite is free to choose one.
        let select = format!("SELECT * FROM {} NOT INDEXED", quoted(table));
        let mut rows = self.connection.prepare(&select)?;
        let columns = rows.column_count();
        let mut found = rows.query([])?;
        let mut values = Vec::with_capacity(columns);
        while let Some(row) = found.next()? {
            values.clear();
            for column in 0..columns {
                values.push(value(row, column)?);
            }
            each(&values);
        }
        Ok(())
    }

    /// What SQLite finds wrong with the file, and which rows refer to missing ones; empty when all is well.
    ///
    /// # Errors
    /// The error from SQLite, when it could not look.
    pub(crate) fn problems(&self) -> rusqlite::Result<Vec<String>> {
        let check = format!("PRAGMA integrity_check({MOST_PROBLEMS})");
        let mut integrity = self.connection.prepare(&check)?;
        let said = integrity.query_map([], |row| row.get::<_, String>(0))?;
        let said: Vec<String> = said.collect::<rusqlite::Result<_>>()?;
        let mut problems: Vec<String> = said.into_iter().filter(|line| line != "ok").collect();
        let mut references = self.connection.prepare("PRAGMA foreign_key_check")?;
        let orphan = |row: &Row<'_>| {
            let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
            Ok(format!(
                "a row of {table} refers to a row of {parent} that is not there"
            ))
        };
        for orphan in references.query_map([], orphan)?.take(MOST_PROBLEMS) {
            problems.push(orphan?);
        }
        Ok(problems)
    }
}

fn value(row: &Row<'_>, column: usize) -> Result<Value, Cause> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Text(text) => Value::Text(std::str::from_utf8(text)?.to_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
        ValueRef::Real(_) => return Err("a fraction where there is none in any table".into()),
    })
}
