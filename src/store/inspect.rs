//! Inspects a database as it is, for diagnostics: opens it, but neither creates nor migrates it.

use std::path::Path;
use std::time::Duration;

use super::address::Address;
use super::open::OpenError;
use crate::domain::Cause;
use crate::postgres;
use crate::sqlite;

pub(crate) use crate::postgres::Server;
pub(crate) use crate::sqlite::Content;

/// An existing database.
pub(crate) enum Inspection {
    /// One SQLite file.
    Sqlite(sqlite::Inspection),
    /// One PostgreSQL database.
    Postgres(Box<postgres::Inspection>),
}

/// Looks at the database at `address`.
///
/// # Errors
/// [`OpenError`]: the database does not exist, does not answer, is not ours, or is newer than this binary.
pub(crate) async fn open(address: &Address) -> Result<Inspection, OpenError> {
    Ok(match address {
        Address::Sqlite(path) => Inspection::Sqlite(sqlite::Inspection::open(path)?),
        Address::Postgres(address) => {
            let opened = postgres::Inspection::open(address).await;
            Inspection::Postgres(Box::new(opened.map_err(Box::new)?))
        }
    })
}

/// Checks an SQLite file for damage, for at most `time`.
///
/// # Errors
/// [`OpenError`], as for [`open`].
pub(crate) fn quick_check(path: &Path, time: Duration) -> Result<Content, OpenError> {
    Ok(sqlite::Inspection::open(path)?.quick_check(time))
}

impl Inspection {
    /// The version of its schema; 0 for one without tables.
    pub(crate) fn version(&self) -> i64 {
        match self {
            Inspection::Sqlite(sqlite) => sqlite.version(),
            Inspection::Postgres(postgres) => postgres.version(),
        }
    }

    /// Starts a change and rolls it back.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(crate) async fn takes_changes(self) -> Result<(), Cause> {
        match self {
            // It may wait for the lock.
            Inspection::Sqlite(sqlite) => {
                tokio::task::spawn_blocking(move || sqlite.takes_changes()).await?
            }
            Inspection::Postgres(postgres) => postgres.takes_changes().await,
        }
    }

    /// What the server reports about itself, if there is one.
    pub(crate) fn server(&self) -> Option<&Server> {
        match self {
            Inspection::Sqlite(_) => None,
            Inspection::Postgres(postgres) => Some(postgres.server()),
        }
    }
}
