//! A database as it is found, for those who ask how it is: it is opened, and neither made nor brought up to date.

use std::path::Path;
use std::time::Duration;

use super::address::Address;
use super::open::OpenError;
use crate::domain::Cause;
use crate::postgres;
use crate::sqlite;

pub(crate) use crate::postgres::Server;
pub(crate) use crate::sqlite::Content;

/// A database that is there.
pub(crate) enum Inspection {
    /// One SQLite file.
    Sqlite(sqlite::Inspection),
    /// One PostgreSQL database.
    Postgres(postgres::Inspection),
}

/// Looks at the database at `address`.
///
/// # Errors
/// [`OpenError`]: it is not there, does not answer, is not ours, or newer than this binary.
pub(crate) async fn open(address: &Address) -> Result<Inspection, OpenError> {
    Ok(match address {
        Address::Sqlite(path) => Inspection::Sqlite(sqlite::Inspection::open(path)?),
        Address::Postgres(address) => {
            let opened = postgres::Inspection::open(address).await;
            Inspection::Postgres(opened.map_err(Box::new)?)
        }
    })
}

/// Looks through a file of SQLite for damage, for so long.
///
/// # Errors
/// [`OpenError`], as above.
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

    /// Begins a change, and takes it back.
    ///
    /// # Errors
    /// Why it cannot be begun.
    pub(crate) async fn takes_changes(self) -> Result<(), Cause> {
        match self {
            // It may wait for the lock.
            Inspection::Sqlite(sqlite) => {
                tokio::task::spawn_blocking(move || sqlite.takes_changes()).await?
            }
            Inspection::Postgres(postgres) => postgres.takes_changes().await,
        }
    }

    /// What the server says of itself, if there is one.
    pub(crate) fn server(&self) -> Option<&Server> {
        match self {
            Inspection::Sqlite(_) => None,
            Inspection::Postgres(postgres) => Some(postgres.server()),
        }
    }
}
