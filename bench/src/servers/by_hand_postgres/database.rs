//! The database of the server written by hand, on PostgreSQL.

use std::time::Duration;

use deadpool_postgres::{Client, GenericClient, Manager, Pool, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{NoTls, Row};

use crate::dataset::BoxError;
use crate::servers::by_hand_api::{ApiError, Caller, Digest, internal, now};

/// How long a request waits for a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

pub type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A pool of connections.
#[derive(Clone, Debug)]
pub struct Database {
    pool: Pool,
}

impl Database {
    pub fn open(url: &str, connections: usize) -> Result<Self, BoxError> {
        let pool = Pool::builder(Manager::new(url.parse()?, NoTls))
            .max_size(connections)
            .wait_timeout(Some(CONNECTION_TIMEOUT))
            .runtime(Runtime::Tokio1)
            .build()?;
        Ok(Self { pool })
    }

    pub async fn connection(&self) -> Result<Client, ApiError> {
        self.pool.get().await.map_err(internal)
    }
}

impl From<tokio_postgres::Error> for ApiError {
    fn from(error: tokio_postgres::Error) -> Self {
        let violation = error
            .as_db_error()
            .filter(|error| *error.code() == SqlState::UNIQUE_VIOLATION);
        match violation.and_then(|violation| violation.constraint()) {
            Some("product_sku") => Self::DuplicateSku,
            Some("idempotency_pkey") => Self::IdempotencyKeyReused,
            // Its Display form omits PostgreSQL's message.
            _ => Self::Internal(format!("{error:?}")),
        }
    }
}

/// The only row, if any, of a statement that the connection prepares once.
pub async fn query_opt(
    client: &impl GenericClient,
    sql: &str,
    parameters: Parameters<'_>,
) -> Result<Option<Row>, ApiError> {
    let statement = client.prepare_cached(sql).await?;
    Ok(client.query_opt(&statement, parameters).await?)
}

/// All rows.
pub async fn query(
    client: &impl GenericClient,
    sql: &str,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, ApiError> {
    let statement = client.prepare_cached(sql).await?;
    Ok(client.query(&statement, parameters).await?)
}

/// Runs a change.
pub async fn execute(
    client: &impl GenericClient,
    sql: &str,
    parameters: Parameters<'_>,
) -> Result<(), ApiError> {
    let statement = client.prepare_cached(sql).await?;
    client.execute(&statement, parameters).await?;
    Ok(())
}

/// Looks up the caller of a request's key, if it is valid.
pub async fn find_api_key(client: &impl GenericClient, key: Digest) -> Result<Caller, ApiError> {
    let row = query_opt(
        client,
        "SELECT team_id, mode, scope FROM api_key
         WHERE digest = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
        &[&key.as_slice(), &now()],
    )
    .await?
    .ok_or(ApiError::InvalidToken)?;
    Ok(Caller {
        team_id: row.try_get(0)?,
        mode: row.try_get(1)?,
        may_write: row.try_get::<_, &str>(2)? == "read-write",
    })
}
