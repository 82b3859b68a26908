//! Errors of a copy: what failed, where, and what to do.

use crate::domain::Cause;
use crate::store::{Address, OpenError};

/// Why nothing was copied. The text is for the operator.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is no database at the address of the source.
    #[error("{0} is no database of this program; check the address")]
    NoSource(Address),
    /// The schema has another version than this binary reads and writes.
    #[error(
        "{address} has schema version {found}, and this program copies version {known}; it was left as it is. \
         Copy with the program that serves it, or bring an older one up to date first: any command does, \
         such as `invoicing team list`"
    )]
    Schema {
        /// The source or the target.
        address: Address,
        /// The version that it has.
        found: i64,
        /// The version that this binary knows.
        known: i64,
    },
    /// The target has data already.
    #[error(
        "{address} is not empty (there are rows in {table}), and was left as it is; \
         copy into a new database, which no server and no other command has used"
    )]
    NotEmpty {
        /// The target.
        address: Address,
        /// A table with rows.
        table: &'static str,
    },
    /// The source could not be read.
    #[error("cannot read {table} from {address}: {source}. Nothing was copied")]
    Read {
        /// The source.
        address: Address,
        /// The table, or `the database`.
        table: &'static str,
        /// The database's error.
        source: Cause,
    },
    /// The target could not be written, or not read back.
    #[error("cannot write {table} to {address}: {source}. Nothing was copied")]
    Write {
        /// The target.
        address: Address,
        /// The table, or `the database`.
        table: &'static str,
        /// The database's error.
        source: Cause,
    },
    /// The target would not have the same rows as the source.
    #[error(
        "the rows of {table} in {address} are not those that were read. Nothing was copied; \
         please report this"
    )]
    Differs {
        /// The target.
        address: Address,
        /// The table.
        table: &'static str,
    },
    /// It is unknown whether the target has everything or nothing.
    #[error(
        "{address} did not acknowledge the copy: {source}. It has everything or nothing: \
         `invoicing team list` shows which"
    )]
    Commit {
        /// The target.
        address: Address,
        /// The database's error.
        source: Cause,
    },
}
