//! Makes a backup.
//!
//! 1. Everything made meanwhile is in folders of its own (`folder.rs`), which are removed at the end. Unencrypted data is
//!    where others may not see it: an encrypted backup may go to a place that is not trusted.
//! 2. The database is taken as it is at one moment, into an SQLite file: from SQLite by SQLite itself, from PostgreSQL by a
//!    [copy](crate::store::copy), which compares what it has written with what it has read.
//! 3. That file is counted, table by table.
//! 4. It is compressed and encrypted into another file (`container.rs`), which is then on the disk.
//! 5. Only then does that file get its name, and only then can it be found as a backup.

use std::path::{Path, PathBuf};

use super::container::pack;
use super::copied::copied;
use super::error::BackupError;
use super::folder::{Making, name, parent};
use super::manifest::{Manifest, id, tally};
use super::recipients::Recipients;
use super::watch::Watch;
use crate::domain::Cause;
use crate::domain::time::Timestamp;
use crate::sqlite::{self, Snapshot};
use crate::store::{Address, SCHEMA_VERSION};

/// What to back up, and how.
#[derive(Clone, Debug)]
pub struct Order {
    /// The database.
    pub database: Address,
    /// Who may open the backup; anyone if there are none.
    pub recipients: Recipients,
    /// The time now.
    pub now: Timestamp,
    /// Where the unpacked database lies meanwhile; if not given, where it is safe ([`create`](fn@create)).
    pub temporary_folder: Option<PathBuf>,
}

/// A backup that was made.
#[derive(Clone, Debug)]
pub struct Made {
    /// Where it is.
    pub path: PathBuf,
    /// How large it is, in bytes.
    pub bytes: u64,
    /// What is in it.
    pub manifest: Manifest,
}

/// Makes a backup in a folder, and names it by its time. Must be called inside a tokio runtime, on a thread for blocking
/// work.
///
/// The unencrypted data of an encrypted backup lies beside an SQLite database, or in the system's temporary folder, until it
/// is encrypted.
///
/// # Errors
/// [`BackupError`]; then nothing was made.
pub fn create(order: &Order, folder: &Path, watch: &Watch) -> Result<Made, BackupError> {
    check_source(&order.database)?;
    let making = Making::within(folder)?;
    let taken = Taken::new(order, &order.unpacked_in(folder), watch)?;
    let to = folder.join(name(order.now, !order.recipients.is_empty()));
    taken.keep(order, making, to, false, watch)
}

/// Refuses an address without a database, and a database that only a newer program understands.
fn check_source(database: &Address) -> Result<(), BackupError> {
    let Address::Sqlite(path) = database else {
        return Ok(()); // The copy looks.
    };
    let found = path.exists().then(|| sqlite::schema_version(path));
    match found.transpose()? {
        None | Some(0) => Err(BackupError::NoDatabase(database.clone())),
        Some(found) if found > SCHEMA_VERSION => Err(BackupError::NewerDatabase {
            database: database.clone(),
            found,
            known: SCHEMA_VERSION,
        }),
        Some(_) => Ok(()),
    }
}

/// A database as it was at one moment, in a file that no one else knows of.
pub(super) struct Taken {
    // Closed before its folder is removed.
    snapshot: Snapshot,
    unpacked: Making,
    /// The version of its schema.
    pub(super) schema_version: i64,
}

/// The names of the files of steps 2 and 4.
const SNAPSHOT: &str = "snapshot.db";
const PACKED: &str = "packed";

impl Taken {
    /// Steps 1 and 2.
    pub(super) fn new(order: &Order, folder: &Path, watch: &Watch) -> Result<Taken, BackupError> {
        let unpacked = Making::within(folder)?;
        let failed = order.failing(folder);
        let into = unpacked.path(SNAPSHOT);
        let snapshot = match &order.database {
            Address::Sqlite(from) => {
                let (told, asked) = (watch.clone(), watch.clone());
                let go_on = move |done, total| {
                    told.show("reading", done, total);
                    !asked.is_stopped()
                };
                Snapshot::take(from, &into, go_on).map_err(&failed)
            }
            from => copied(from, &Address::sqlite(&into), "reading", watch)
                .and_then(|copied| copied.commit())
                .and_then(|()| Snapshot::open(&into).map_err(|error| failed(error.into()))),
        };
        let snapshot = watch.outcome(snapshot)?;
        let schema_version = snapshot.schema_version();
        Ok(Taken {
            unpacked,
            schema_version: schema_version.map_err(|error| failed(error.into()))?,
            snapshot,
        })
    }

    /// Steps 3 to 5, in a folder beside `to`: the backup is then at `to`, where a file is replaced only if `replace` is set.
    pub(super) fn keep(
        mut self,
        order: &Order,
        making: Making,
        to: PathBuf,
        replace: bool,
        watch: &Watch,
    ) -> Result<Made, BackupError> {
        let made = self.pack(order, &making, watch).and_then(|manifest| {
            let bytes = std::fs::metadata(making.path(PACKED))?.len();
            making.publish(PACKED, &to, replace)?;
            Ok((manifest, bytes))
        });
        let made = made.map_err(order.failing(parent(&to)));
        let (manifest, bytes) = watch.outcome(made)?;
        Ok(Made {
            path: to,
            bytes,
            manifest,
        })
    }

    /// Steps 3 and 4.
    fn pack(&mut self, order: &Order, making: &Making, watch: &Watch) -> Result<Manifest, Cause> {
        let stopping = watch.clone();
        self.snapshot.watch(move || !stopping.is_stopped())?;
        let tables = tally(&self.snapshot, watch)?;
        let database = self.unpacked.path(SNAPSHOT);
        let manifest = Manifest {
            id: id(&tables),
            made_at: order.now,
            made_by: env!("VERSION_AND_COMMIT").to_owned(),
            schema_version: self.schema_version,
            database_bytes: std::fs::metadata(&database)?.len(),
            tables,
        };
        let into = making.create(PACKED)?;
        pack(&database, &manifest, &order.recipients, into, watch)?;
        Ok(manifest)
    }
}

impl Order {
    /// Where the database lies unpacked while a backup is made in `folder`.
    fn unpacked_in(&self, folder: &Path) -> PathBuf {
        match (&self.temporary_folder, &self.database) {
            (Some(asked), _) => asked.clone(),
            (None, _) if self.recipients.is_empty() => folder.to_owned(),
            (None, Address::Sqlite(path)) => parent(path).to_owned(),
            (None, Address::Postgres(_)) => std::env::temp_dir(),
        }
    }

    /// The error for a failure while a backup is made in a folder.
    fn failing(&self, folder: &Path) -> impl Fn(Cause) -> BackupError {
        let (database, folder) = (self.database.clone(), folder.to_owned());
        move |source| BackupError::Make {
            database: database.clone(),
            folder: folder.clone(),
            source,
        }
    }
}
