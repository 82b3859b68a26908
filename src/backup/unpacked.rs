//! A backup unpacked as the database that it was made from, in a file that no one else knows of.

use std::path::{Path, PathBuf};

use super::container::Packed;
use super::error::BackupError;
use super::folder::{Making, parent};
use super::manifest::Manifest;
use super::watch::Watch;
use crate::sqlite::Snapshot;
use crate::store::SCHEMA_VERSION;

/// Which backup, and how to open it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The backup.
    pub path: PathBuf,
    /// A file with secret keys, as `age-keygen` writes it.
    pub identity: Option<PathBuf>,
    /// Where to unpack it, which takes as much room as the database; beside the backup if not given.
    pub temporary_folder: Option<PathBuf>,
}

/// An unpacked backup, which is as it was written.
pub(super) struct Unpacked {
    /// Its description of itself.
    pub(super) manifest: Manifest,
    making: Making,
}

/// The name of the database file.
const DATABASE: &str = "unpacked.db";

impl Unpacked {
    /// Unpacks a backup, and refuses one that is damaged or from a newer program.
    pub(super) fn new(source: &Source, watch: &Watch) -> Result<Unpacked, BackupError> {
        let path = &source.path;
        let packed = Packed::open(path, source.identity.as_deref())?;
        let folder = source.temporary_folder.as_deref().unwrap_or(parent(path));
        let making = Making::within(folder)?;
        let file = making.create(DATABASE);
        let file = file.map_err(|error| BackupError::write(folder, error))?;
        let manifest = watch.outcome(packed.unpack(file, folder, watch))?;
        let newer = || BackupError::Newer {
            path: path.clone(),
            made_by: manifest.made_by.clone(),
            found: manifest.schema_version,
            known: SCHEMA_VERSION,
        };
        match manifest.schema_version {
            found if found > SCHEMA_VERSION => Err(newer()),
            _ => Ok(Unpacked { manifest, making }),
        }
    }

    /// Where the database is.
    pub(super) fn database(&self) -> PathBuf {
        self.making.path(DATABASE)
    }

    /// Opens the database, before anything else has opened it.
    pub(super) fn snapshot(&self, backup: &Path, watch: &Watch) -> Result<Snapshot, BackupError> {
        let damaged = |error: rusqlite::Error| BackupError::damaged(backup, &error);
        let mut snapshot = Snapshot::open(&self.database()).map_err(damaged)?;
        let stopping = watch.clone();
        let watched = snapshot.watch(move || !stopping.is_stopped());
        watched.map(|()| snapshot).map_err(damaged)
    }
}
