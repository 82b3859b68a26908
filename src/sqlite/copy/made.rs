//! The file that a copy makes, and removes again if the copy comes to nothing.

use std::fs::{OpenOptions, remove_file};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::sql::copy::quoted;
use crate::sqlite::connection::{connect, private, require_no_log_alone};
use crate::sqlite::open_error::OpenError;

/// A new file. Dropping this removes it, unless it is [kept](Made::keep) or another process has started to use it meanwhile.
pub(crate) struct Made(Option<PathBuf>);

impl Made {
    /// Makes the file at `path`. Returns `None` if one exists.
    ///
    /// # Errors
    /// [`OpenError::LogAlone`], [`OpenError::Open`].
    pub(crate) fn new(path: &Path) -> Result<Option<Made>, OpenError> {
        require_no_log_alone(path)?;
        match private(OpenOptions::new().write(true).create_new(true)).open(path) {
            Ok(_) => Ok(Some(Made(Some(path.to_owned())))),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(OpenError::Open {
                path: path.to_owned(),
                source: error.into(),
            }),
        }
    }

    /// Leaves the file where it is.
    pub(crate) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let Some(path) = self.0.take() else { return };
        if is_unused(&path).unwrap_or(false) {
            // If it cannot be removed, it is an empty database, into which the next copy goes.
            let _ = remove_file(&path);
        }
    }
}

/// Whether no other process has the file open, and nothing is in it. Its companions are gone then.
fn is_unused(path: &Path) -> rusqlite::Result<bool> {
    let file = connect(path)?;
    // Only a connection that has the file to itself can leave write-ahead logging.
    file.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    is_empty(&file)
}

fn is_empty(file: &Connection) -> rusqlite::Result<bool> {
    let mut tables = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names = tables.query_map([], |row| row.get::<_, String>(0))?;
    for name in names {
        let rows = format!("SELECT EXISTS (SELECT 1 FROM {})", quoted(&name?));
        if file.query_row(&rows, [], |row| row.get(0))? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::sqlite::Sqlite;

    fn files(folder: &TempDir) -> usize {
        std::fs::read_dir(folder.path()).unwrap().count()
    }

    #[test]
    fn a_file_goes_with_its_companions_unless_it_is_kept() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("new.db");
        let made = Made::new(&path).unwrap().unwrap();
        drop(Sqlite::open(&path).unwrap());
        drop(made);
        assert_eq!(files(&folder), 0);
        Made::new(&path).unwrap().unwrap().keep();
        assert_eq!(files(&folder), 1);
        assert!(Made::new(&path).unwrap().is_none(), "it is somebody's");
    }

    #[test]
    fn a_file_stays_that_somebody_else_has_begun_to_use() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("new.db");
        let made = Made::new(&path).unwrap().unwrap();
        let store = Sqlite::open(&path).unwrap();
        drop(made);
        assert!(path.exists(), "it is open");
        drop(store);

        let path = folder.path().join("other.db");
        let made = Made::new(&path).unwrap().unwrap();
        drop(Sqlite::open(&path).unwrap());
        let team = "INSERT INTO team (id, name, created_at) VALUES (randomblob(16), 'Acme', 0)";
        connect(&path).unwrap().execute(team, []).unwrap();
        drop(made);
        assert!(path.exists(), "there is a row in it");
    }
}
