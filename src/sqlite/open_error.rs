//! Why a database file could not be opened.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why a database could not be opened: what happened, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be made, opened or written.
    #[error(
        "cannot open the database {}: {source}. \
         Check that its folder exists and that this user may write there", path.display()
    )]
    Open {
        /// The database file.
        path: PathBuf,
        /// The error from the operating system or SQLite.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file is no database, or another program's.
    #[error(
        "{} is a file of another program, and was left as it is. \
         Name another file with --database sqlite:PATH", path.display()
    )]
    Foreign {
        /// The database file.
        path: PathBuf,
    },
    /// The file is a database that cannot be read.
    #[error(
        "the database {} is damaged: {source}. Restore a backup (`invoicing backup restore`)", path.display()
    )]
    Damaged {
        /// The database file.
        path: PathBuf,
        /// The error from SQLite.
        source: rusqlite::Error,
    },
    /// There is no file, or an empty one, beside the log of a former file.
    #[error(
        "there is no database {}, but its log, {}: it may have the last changes of that database, and would be \
         deleted with the first use of a new one. If the database was moved, move its log to the same place, named after it, \
         with -wal at the end; otherwise keep the log elsewhere", path.display(), log.display()
    )]
    LogAlone {
        /// Where the database was.
        path: PathBuf,
        /// Its log.
        log: PathBuf,
    },
    /// There is no file, and none is made.
    #[error(
        "there is no database {}. If yours is elsewhere, name it with --database sqlite:PATH or INVOICING_DATABASE; \
         `invoicing team create` and `invoicing serve` make a new one", path.display()
    )]
    Absent {
        /// Where it would be, from the root.
        path: PathBuf,
    },
    /// The file was written by a newer version of this program.
    #[error(
        "the database {} has schema version {found}, and this program knows versions up to {known}; \
         it was left as it is. Use the newer program that wrote it, or restore a backup made before \
         the upgrade", path.display()
    )]
    Newer {
        /// The database file.
        path: PathBuf,
        /// The schema version in the file.
        found: i64,
        /// The newest schema version that this program knows.
        known: i64,
    },
    /// A migration failed; the database is as it was before that migration.
    #[error(
        "cannot bring the database {} to schema version {version}: {source}. \
         Nothing of that version was applied. If another program holds the file, stop it and try again; \
         otherwise restore a backup", path.display()
    )]
    Migrate {
        /// The database file.
        path: PathBuf,
        /// The version that could not be reached.
        version: i64,
        /// The error from SQLite.
        source: rusqlite::Error,
    },
}

impl OpenError {
    /// What an SQLite `error` on opening `path` means.
    pub(super) fn new(path: &Path, error: rusqlite::Error) -> OpenError {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => OpenError::Foreign {
                path: path.to_owned(),
            },
            Some(ErrorCode::DatabaseCorrupt) => OpenError::Damaged {
                path: path.to_owned(),
                source: error,
            },
            _ => OpenError::Open {
                path: path.to_owned(),
                source: error.into(),
            },
        }
    }
}
