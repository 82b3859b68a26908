//! Restores a backup into an empty database of either engine.
//!
//! 1. A target that cannot take it is refused before anything is unpacked.
//! 2. The backup is unpacked: each of its bytes is as it was written.
//! 3. If its schema is older, it is brought up to date there, as it would have been in the original database.
//! 4. Everything is copied and compared, and only then committed ([`crate::store::copy`]): all or nothing.

use tokio::runtime::Handle;

use super::copied::copied;
use super::error::BackupError;
use super::manifest::Manifest;
use super::unpacked::{Source, Unpacked};
use super::watch::Watch;
use crate::store::copy::{Tally, check_target};
use crate::store::{Address, SCHEMA_VERSION, open};

/// What was restored.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The backup's description of itself.
    pub manifest: Manifest,
    /// The tables that there are now.
    pub tables: Vec<Tally>,
}

/// Restores a backup into `to`. Must be called inside a tokio runtime, on a thread for blocking work.
///
/// # Errors
/// [`BackupError`]; then there is no row in `to`, and no new file.
pub fn restore(source: &Source, to: &Address, watch: &Watch) -> Result<Restored, BackupError> {
    let runtime = Handle::current();
    runtime.block_on(check_target(to))?;
    let unpacked = Unpacked::new(source, watch)?;
    let from = Address::sqlite(unpacked.database());
    if unpacked.manifest.schema_version < SCHEMA_VERSION {
        watch.show("bringing it up to date", 0, 1);
        drop(runtime.block_on(open(&from))?);
    }
    let copied = copied(&from, to, "restoring", watch)?;
    let tables = copied.0.tables.clone();
    copied.commit()?;
    Ok(Restored {
        manifest: unpacked.manifest,
        tables,
    })
}
