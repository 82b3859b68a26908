//! Opens the store at an address: the only place that does.

use std::sync::Arc;

use super::address::Address;
use super::engine::Store;
use crate::postgres::{self, Postgres};
use crate::sqlite::{self, Sqlite};

/// Why a store could not be opened; the text is for the person who starts the program.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The SQLite file could not be opened.
    #[error(transparent)]
    Sqlite(#[from] sqlite::OpenError),
    /// The PostgreSQL database could not be opened.
    #[error(transparent)]
    Postgres(#[from] Box<postgres::OpenError>),
}

/// Opens the store at `address` and brings its schema up to date. Must be called inside a tokio runtime.
///
/// # Errors
/// [`OpenError`].
pub async fn open(address: &Address) -> Result<Arc<Store>, OpenError> {
    Ok(Arc::new(match address {
        Address::Sqlite(path) => Store::Sqlite(Sqlite::open(path)?),
        Address::Postgres(address) => {
            Store::Postgres(Postgres::open(address).await.map_err(Box::new)?)
        }
    }))
}

/// As [`open`], for a store that already exists: creates no file, and no table in an empty database.
///
/// # Errors
/// [`OpenError`].
pub async fn open_existing(address: &Address) -> Result<Arc<Store>, OpenError> {
    Ok(Arc::new(match address {
        Address::Sqlite(path) => {
            sqlite::require_file(path)?;
            Store::Sqlite(Sqlite::open(path)?)
        }
        Address::Postgres(address) => {
            let opened = Postgres::open_existing(address).await;
            Store::Postgres(opened.map_err(Box::new)?)
        }
    }))
}
