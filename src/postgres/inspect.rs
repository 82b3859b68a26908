//! Inspects a database without changing anything in it.

use std::time::{Duration, SystemTime};

use deadpool_postgres::Object;

use super::address::Address;
use super::migrate;
use super::open_error::OpenError;
use super::pool::open_pool;
use crate::domain::Cause;

/// What a server reports about itself.
const SERVER: &str = "SELECT current_setting('server_version_num')::int, current_setting('server_version'), \
     current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint, \
     (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), \
     (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// The versions of the order of text with which the database was made, and that the server has now, from PostgreSQL 15 on.
const COLLATION: &str = "SELECT datcollversion, pg_database_collation_actual_version(oid) FROM pg_database \
     WHERE datname = current_database()";

/// The first version of PostgreSQL that answers [`COLLATION`].
const TELLS_COLLATION: i32 = 150_000;

/// A database that exists, and is ours.
pub(crate) struct Inspection {
    connection: Object,
    version: i64,
    server: Server,
}

/// What a server reports about itself.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Its version, as a number: 150004 is 15.4.
    pub(crate) version: i32,
    /// Its version, as people write it.
    pub(crate) name: String,
    /// Connections that clients other than superusers may make in all.
    pub(crate) connections: i64,
    /// Connections that are open.
    pub(crate) used: i64,
    /// The time on the server.
    pub(crate) now: SystemTime,
    /// The versions of the order of text when the database was made, and now, if they differ: then indexes may miss rows.
    pub(crate) reordered: Option<(String, String)>,
}

impl Inspection {
    /// # Errors
    /// [`OpenError`].
    pub(crate) async fn open(address: &Address) -> Result<Inspection, OpenError> {
        let (_, _, mut connection) = open_pool(address).await?;
        let version = migrate::found(&mut connection, address).await?;
        let server = server(&connection)
            .await
            .map_err(|source| OpenError::Connect {
                address: address.clone(),
                source: source.into(),
            })?;
        Ok(Inspection {
            connection,
            version,
            server,
        })
    }

    /// The version of its schema.
    pub(crate) fn version(&self) -> i64 {
        self.version
    }

    /// What the server reports about itself.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Starts a change, and rolls it back.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(crate) async fn takes_changes(&self) -> Result<(), Cause> {
        let connection = &self.connection;
        let read_only = "SELECT current_setting('transaction_read_only') = 'on'";
        let row = connection.query_typed_one(read_only, &[]).await?;
        match row.try_get(0)? {
            true => Err("it is read only".into()),
            false => Ok(connection
                .batch_execute("BEGIN; SELECT txid_current(); ROLLBACK")
                .await?),
        }
    }
}

async fn server(connection: &Object) -> Result<Server, tokio_postgres::Error> {
    let row = connection.query_typed_one(SERVER, &[]).await?;
    let millis: i64 = row.try_get(4)?;
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
    let version = row.try_get(0)?;
    Ok(Server {
        version,
        name: row.try_get(1)?,
        connections: row.try_get(2)?,
        used: row.try_get(3)?,
        now: SystemTime::UNIX_EPOCH + since,
        reordered: match version >= TELLS_COLLATION {
            true => reordered(connection).await?,
            false => None,
        },
    })
}

async fn reordered(connection: &Object) -> Result<Option<(String, String)>, tokio_postgres::Error> {
    let row = connection.query_typed_one(COLLATION, &[]).await?;
    // Orders that never change have no version.
    let (made, now): (Option<String>, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
    Ok(made.zip(now).filter(|(made, now)| made != now))
}
