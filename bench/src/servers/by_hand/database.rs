//! The database of the server written by hand.

use std::path::{Path, PathBuf};
use std::time::Duration;

use r2d2::{ManageConnection, Pool};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use uuid::Uuid;

use crate::servers::by_hand_api::{ApiError, Caller, Digest, internal, now};

/// Connections that read.
const READERS: u32 = 16;

/// How long a request waits for a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// A pool for reading, and one with a single connection for writing.
#[derive(Clone, Debug)]
pub struct Database {
    readers: Pool<Manager>,
    writer: Pool<Manager>,
}

impl Database {
    pub fn open(path: &Path) -> Result<Self, r2d2::Error> {
        let pool = |size| {
            Pool::builder()
                .max_size(size)
                .test_on_check_out(false)
                .connection_timeout(CONNECTION_TIMEOUT)
                .build(Manager::new(path))
        };
        Ok(Self {
            readers: pool(READERS)?,
            writer: pool(1)?,
        })
    }

    /// Runs queries on a thread where they may block.
    pub async fn read<T: Send + 'static>(
        &self,
        queries: impl FnOnce(&Connection) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let pool = self.readers.clone();
        blocking(move || queries(&*pool.get().map_err(internal)?)).await
    }

    /// Runs a change on a thread where it may block, in its own transaction.
    pub async fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let pool = self.writer.clone();
        blocking(move || {
            let mut connection = pool.get().map_err(internal)?;
            let behavior = TransactionBehavior::Immediate;
            let transaction = connection.transaction_with_behavior(behavior)?;
            let answer = change(&transaction)?;
            transaction.commit()?;
            Ok(answer)
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(internal)?
}

impl From<rusqlite::Error> for ApiError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error() {
            Some(error) if error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE => {
                Self::DuplicateSku
            }
            _ => Self::Internal(error.to_string()),
        }
    }
}

/// Opens connections for the pools.
#[derive(Debug)]
pub struct Manager(PathBuf);

impl Manager {
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }
}

impl ManageConnection for Manager {
    type Connection = Connection;
    type Error = rusqlite::Error;

    fn connect(&self) -> rusqlite::Result<Connection> {
        let connection = Connection::open(&self.0)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }

    fn is_valid(&self, _: &mut Connection) -> rusqlite::Result<()> {
        Ok(())
    }

    fn has_broken(&self, _: &mut Connection) -> bool {
        false
    }
}

/// Looks up the caller of a request's key, if it is valid.
pub fn find_api_key(connection: &Connection, key: Digest) -> Result<Caller, ApiError> {
    connection
        .prepare_cached(
            "SELECT team_id, mode, scope FROM api_key
             WHERE digest = ?1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)",
        )?
        .query_row(params![key, now()], |row| {
            Ok(Caller {
                team_id: Uuid::from_bytes(row.get(0)?),
                mode: row.get(1)?,
                may_write: row.get::<_, String>(2)? == "read-write",
            })
        })
        .optional()?
        .ok_or(ApiError::InvalidToken)
}
