//! Backups: one file with everything that a database has, and the way back.
//!
//! A backup is a database of SQLite ([`crate::sqlite`]), whichever engine it was made of, compressed, and encrypted if
//! somebody is named who may open it. Tools of strangers open it, too: `age --decrypt`, then `zstd -d`, then `sqlite3`.
//!
//! - [`create`](fn@create): the database is taken at one moment while servers go on, counted, and written beside. It gets its
//!   name when all of it is on the disk: a file with the name of a backup is whole.
//! - [`verify`](fn@verify): everything that can be said of a backup without the database that it was made of.
//! - [`restore`](fn@restore): into an empty database of either engine, all or nothing, by [`crate::store::copy`].
//! - [`before_upgrade`]: what is made of an SQLite file before a newer program changes its schema.
//!
//! All of it is blocking work, for a thread on which nobody waits, inside of a tokio runtime: PostgreSQL and the store are
//! asynchronous. Its memory is bounded, whatever the size: rows and bytes pass through in pieces.

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
