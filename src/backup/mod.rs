//! Backups: one file with everything in a database, and the way back.
//!
//! A backup is an SQLite database ([`crate::sqlite`]), whichever engine it was made from, compressed, and encrypted if
//! recipients are named. Other tools open it, too: `age --decrypt`, then `zstd -d`, then `sqlite3`.
//!
//! - [`create`](fn@create): takes the database at one moment while servers go on, counts it, and writes it into a separate
//!   file. That gets its name when all of it is on the disk: a file with the name of a backup is whole.
//! - [`verify`](fn@verify): checks a backup as far as possible without the database that it was made from.
//! - [`restore`](fn@restore): restores into an empty database of either engine, all or nothing, by [`crate::store::copy`].
//! - [`before_upgrade`]: backs up an SQLite file before a newer program changes its schema.
//!
//! All of it is work for a blocking thread inside a tokio runtime: PostgreSQL and the store are asynchronous. Its memory is
//! bounded, whatever the size: rows and bytes pass through in pieces.

mod container;
mod copied;
mod create;
mod error;
mod folder;
mod manifest;
mod recipients;
mod restore;
mod unpacked;
mod upgrade;
mod verify;
mod watch;

pub use create::{Made, Order, create};
pub use error::BackupError;
pub use folder::{keep, others_may};
pub use manifest::{Manifest, Tally};
pub use recipients::Recipients;
pub use restore::{Restored, restore};
pub use unpacked::Source;
pub use upgrade::before_upgrade;
pub use verify::{Verified, verify};
pub use watch::{Progress, Watch};
