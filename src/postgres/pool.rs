//! The pool of connections to one database.

use deadpool::managed::QueueMode;
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod};

use super::address::Address;
use super::checkout::DEADLINE;
use super::connect::Connector;
use super::open_error::OpenError;
use super::tls;

/// Opens a pool for the database at `address`. Returns it with what makes its connections, and the first connection, which
/// works. The schema stays as it is.
///
/// # Errors
/// [`OpenError::Tls`] and [`OpenError::Connect`].
pub(super) async fn open_pool(address: &Address) -> Result<(Pool, Connector, Object), OpenError> {
    let tls = tls::connector(address.tls()).map_err(|source| OpenError::Tls {
        address: address.clone(),
        source,
    })?;
    // A connection that no longer works is noticed when it is used, and the request is then tried again.
    let recycling = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let connector = Connector::new(address, tls);
    let manager = Manager::from_connect(address.config().clone(), connector.clone(), recycling);
    let connect = |source| OpenError::Connect {
        address: address.clone(),
        source,
    };
    let pool = Pool::builder(manager)
        .max_size(address.pool_size())
        // The server process that was used last has the most cached.
        .queue_mode(QueueMode::Lifo)
        .build()
        .map_err(|error| connect(error.into()))?;
    let connection = tokio::time::timeout(DEADLINE, pool.get())
        .await
        .map_err(|_| connect("no answer in time".into()))?
        .map_err(|error| {
            connect(match error {
                // Leaves out the pool's words for it.
                PoolError::Backend(error) => error.into(),
                other => other.into(),
            })
        })?;
    Ok((pool, connector, connection))
}
