//! Why a database could not be opened.

use super::address::Address;
use super::tls;
use crate::causes::causes;

/// Why a database could not be opened: what happened, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The certificates to verify the server by cannot be used.
    #[error("cannot use the certificates of {address}: {source}")]
    Tls {
        /// The database, without the password.
        address: Address,
        /// What is wrong with them.
        source: tls::Error,
    },
    /// No connection could be made.
    #[error(
        "cannot connect to {address}: {}. Check that it runs, and that this user may connect to this \
         database", causes(source.as_ref())
    )]
    Connect {
        /// The database, without the password.
        address: Address,
        /// The error from the driver or the server.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The schema has no tables, and none are made.
    #[error(
        "{address} is empty, and was left so. If yours is another, name it with --database postgres://... or \
         INVOICING_DATABASE; `invoicing team create` and `invoicing serve` make the tables in an empty one"
    )]
    Empty {
        /// The database, without the password.
        address: Address,
    },
    /// The database is empty, and its encoding lacks some characters.
    #[error(
        "{address} keeps text as {encoding}, which has no place for most letters, and was left as it is. \
         Name a database that was made with ENCODING 'UTF8' TEMPLATE template0"
    )]
    Encoding {
        /// The database, without the password.
        address: Address,
        /// The encoding, by PostgreSQL's name.
        encoding: String,
    },
    /// The schema has tables of another program.
    #[error(
        "{address} has tables of another program, and was left as it is. \
         Name another database, or a schema of its own with ?options=-csearch_path%3DNAME"
    )]
    Foreign {
        /// The database, without the password.
        address: Address,
    },
    /// The database was written by a newer version of this program.
    #[error(
        "{address} has schema version {found}, and this program knows versions up to {known}; it was left \
         as it is. Use the newer program that wrote it, or restore a backup made before the upgrade"
    )]
    Newer {
        /// The database, without the password.
        address: Address,
        /// The schema version in the database.
        found: i64,
        /// The newest schema version that this program knows.
        known: i64,
    },
    /// A migration failed; the database is as it was before that migration.
    #[error(
        "cannot bring {address} to schema version {version}: {}. Nothing of that version was applied. \
         Check that this user may create tables, and that nothing keeps them locked, such as a dump",
        causes(source)
    )]
    Migrate {
        /// The database, without the password.
        address: Address,
        /// The version that could not be reached.
        version: i64,
        /// The error from the server.
        source: tokio_postgres::Error,
    },
}
