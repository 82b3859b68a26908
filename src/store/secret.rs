//! Secrets that all processes on one database share.

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
        /// It signs cursors.
        Cursor = "cursor",
        /// It signs device cookies.
        Device = "device",
        /// It seals the challenges of passkeys.
        Passkey = "passkey",
        /// It seals what a browser carries to the OpenID provider and back.
        AuthenticationRequest = "authentication-request",
    }
}

/// Keeps a secret, unless there is one of that name.
pub fn insert(name: SharedSecret, value: &[u8; 32]) -> impl Batch {
    sql!(row::INSERT, " ON CONFLICT (name) DO NOTHING").with(values![name.as_str(), value])
}

/// The secret of that name.
pub fn find(name: SharedSecret) -> impl Batch<Out = Option<[u8; 32]>> {
    sql!("SELECT value FROM secret WHERE name = $1")
        .with(values![name.as_str()])
        .first(|row| Ok(row.take()?))
}
