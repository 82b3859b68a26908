//! Secrets that all processes on one database share.

use super::Batch;
use crate::sql::{sql, table, values};

table! {
    /// The rows of secrets.
    pub(super) mod row = "secret", key [name];
    (name: Text, value: Bytes)
    ()
}

/// Keeps a secret, unless there is one of that name.
pub fn insert(name: &'static str, value: &[u8; 32]) -> impl Batch {
    sql!(row::INSERT, " ON CONFLICT (name) DO NOTHING").with(values![name, value])
}

/// The secret of that name.
pub fn find(name: &'static str) -> impl Batch<Out = Option<[u8; 32]>> {
    sql!("SELECT value FROM secret WHERE name = $1")
        .with(values![name])
        .first(|row| Ok(row.take()?))
}
