//! Secrets shared by all processes on one database.

use super::Batch;
use crate::domain::string_enum::string_enum;
use crate::sql::{sql, table, values};

table! {
    /// The rows of secrets.
    pub(super) mod row = "secret", key [name];
    (name: Text, value: Bytes)
    ()
}

string_enum! {
    /// A secret, by its name.
    SharedSecret {
        /// Signs cursors.
        Cursor = "cursor",
        /// Signs device cookies.
        Device = "device",
        /// Seals the challenges of passkeys.
        Passkey = "passkey",
        /// Seals what a browser carries to the OpenID provider and back.
        AuthenticationRequest = "authentication-request",
    }
}

/// Adds a secret, unless one with that name exists.
pub fn insert(name: SharedSecret, value: &[u8; 32]) -> impl Batch {
    sql!(row::INSERT, " ON CONFLICT (name) DO NOTHING").with(values![name.as_str(), value])
}

/// The secret of that name.
pub fn find(name: SharedSecret) -> impl Batch<Out = Option<[u8; 32]>> {
    sql!("SELECT value FROM secret WHERE name = $1")
        .with(values![name.as_str()])
        .first(|row| Ok(row.take()?))
}
