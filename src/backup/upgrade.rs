//! The backup of an SQLite file before its schema is brought up to date.
//!
//! A previous release no longer opens the file after that, so this backup is the way back. It is beside the file, and named
//! after it and its version: `invoicing.db.schema-11.zst`. An existing backup of that version is replaced: so a migration
//! that fails again and again does not fill the disk, and the new backup of the same version is no older.
//!
//! This does not wait for a server of the previous release that still runs: what it writes meanwhile is not in the backup.
//! Stop it first.

use super::create::{Made, Order, Taken};
use super::error::BackupError;
use super::folder::{Making, parent};
use super::watch::Watch;
use crate::sqlite;
use crate::store::{Address, SCHEMA_VERSION};

/// Makes a backup beside an SQLite file, but only if its schema is older than this program's. PostgreSQL has its own ways
/// (docs/backup.md). Must be called inside a tokio runtime, on a thread for blocking work.
///
/// # Errors
/// [`BackupError`]; then the file has to stay as it is.
pub fn before_upgrade(order: &Order) -> Result<Option<Made>, BackupError> {
    let Address::Sqlite(path) = &order.database else {
        return Ok(None);
    };
    let is_older = |version| (1..SCHEMA_VERSION).contains(&version);
    // What is wrong with a file is reported when it is opened next.
    if !path.exists() || !sqlite::schema_version(path).is_ok_and(is_older) {
        return Ok(None);
    }
    let watch = Watch::new(|_| ());
    let making = Making::within(parent(path))?;
    let taken = Taken::new(order, parent(path), &watch)?;
    // Another process may have brought it up to date meanwhile, and made its backup.
    if !is_older(taken.schema_version) {
        return Ok(None);
    }
    let end = match order.recipients.is_empty() {
        true => "zst",
        false => "zst.age",
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".schema-{}.{end}", taken.schema_version));
    let to = path.with_file_name(name);
    taken.keep(order, making, to, true, &watch).map(Some)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::*;
    use crate::domain::time::Timestamp;
    use crate::sqlite::open_by_the_release_before;

    fn order(path: &Path) -> Order {
        Order {
            database: Address::sqlite(path),
            recipients: Default::default(),
            now: Timestamp::from_millis(0),
            temporary_folder: None,
        }
    }

    /// A file of the previous release, with a team.
    fn older(folder: &TempDir) -> std::path::PathBuf {
        let path = folder.path().join("test.db");
        let (_, file) = open_by_the_release_before(&path).unwrap();
        let team = "INSERT INTO team (id, name, created_at) VALUES (zeroblob(16), 'Acme', 0)";
        file.execute(team, []).unwrap();
        path
    }

    fn teams(file: &Connection) -> i64 {
        file.query_row("SELECT count(*) FROM team WHERE name = 'Acme'", [], |row| {
            row.get(0)
        })
        .unwrap()
    }

    #[tokio::test]
    async fn the_release_before_goes_on_with_what_the_backup_has() {
        let folder = TempDir::new().unwrap();
        let path = older(&folder);
        let made = before_upgrade(&order(&path)).unwrap().unwrap();
        let name = format!("test.db.schema-{}.zst", SCHEMA_VERSION - 1);
        assert_eq!(made.path, folder.path().join(name));
        drop(sqlite::Sqlite::open(&path).unwrap());
        assert!(
            open_by_the_release_before(&path).is_err(),
            "it is newer now"
        );

        // As `zstd -d` does, which a release that knows of no backups needs.
        let back = folder.path().join("back.db");
        let packed = std::fs::File::open(&made.path).unwrap();
        let unpacked = std::fs::File::create(&back).unwrap();
        zstd::stream::copy_decode(packed, unpacked).unwrap();
        let (found, file) = open_by_the_release_before(&back).unwrap();
        assert_eq!((found, teams(&file)), (SCHEMA_VERSION - 1, 1));
    }

    #[test]
    fn there_is_one_backup_of_a_version_however_often_it_is_tried() {
        let folder = TempDir::new().unwrap();
        let path = older(&folder);
        let made = [(); 3].map(|()| before_upgrade(&order(&path)).unwrap().unwrap().path);
        assert_eq!(made[0], made[2]);
        let zst = |name: &std::ffi::OsString| name.to_string_lossy().ends_with(".zst");
        let names = std::fs::read_dir(folder.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name());
        assert_eq!(names.filter(zst).count(), 1);
    }

    #[tokio::test]
    async fn a_file_that_is_new_or_up_to_date_needs_none() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("test.db");
        assert!(before_upgrade(&order(&path)).unwrap().is_none());
        drop(sqlite::Sqlite::open(&path).unwrap());
        assert!(before_upgrade(&order(&path)).unwrap().is_none());
    }
}
