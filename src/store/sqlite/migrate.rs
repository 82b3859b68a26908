//! Brings a database file to the schema that this binary knows.
//!
//! 1. Each file in `migrations/` is one version; `PRAGMA user_version` says which the database has.
//! 2. A database that is newer than the binary, or that is not ours at all (`PRAGMA application_id`),
//!    is refused before anything is written to it.
//! 3. Each version is applied in one transaction that takes the write lock first and looks at the
//!    version again: of two processes that start at once, one migrates and the other finds it done.
//! 4. A migration that was released is never edited. A change to the schema is a new file.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};

use super::OpenError;

/// The versions in order: the first is version 1.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_catalog.sql"),
    include_str!("migrations/0002_mobile.sql"),
];

/// Marks a file as ours: "INVO" in ASCII.
const APPLICATION_ID: i64 = 0x494e_564f;

/// Applies what is missing. See the steps above.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    apply(connection, path, MIGRATIONS)
}

fn apply(connection: &mut Connection, path: &Path, migrations: &[&str]) -> Result<(), OpenError> {
    let failed = |source: rusqlite::Error| OpenError::Open {
        path: path.to_owned(),
        source: source.into(),
    };
    let known = migrations.len() as i64; // a handful
    if let Err(refused) = check(connection, path, known).map_err(failed)? {
        // Otherwise closing it could fold a log left by the newer program into the file.
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .map_err(failed)?;
        return Err(refused);
    }

    connection
        .pragma_update(None, "journal_mode", "WAL")
        .map_err(failed)?;
    for (version, sql) in (1..).zip(migrations) {
        step(connection, version, sql).map_err(|source| OpenError::Migrate {
            path: path.to_owned(),
            version,
            source,
        })?;
    }
    // Step 2 again: a newer process may have migrated since.
    check(connection, path, known).map_err(failed)?
}

/// Step 2: whether the file is ours, and not newer than we are.
fn check(
    connection: &Connection,
    path: &Path,
    known: i64,
) -> rusqlite::Result<Result<(), OpenError>> {
    let found = pragma(connection, "user_version")?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let foreign =
        pragma(connection, "application_id")? != APPLICATION_ID && (tables, found) != (0, 0);
    Ok(match () {
        () if foreign => Err(OpenError::Foreign {
            path: path.to_owned(),
        }),
        () if found > known => Err(OpenError::Newer {
            path: path.to_owned(),
            found,
            known,
        }),
        () => Ok(()),
    })
}

/// Step 3: applies one version, unless the database has it.
fn step(connection: &mut Connection, version: i64, sql: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if pragma(&transaction, "user_version")? < version {
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", version)?;
    }
    transaction.commit()
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}
