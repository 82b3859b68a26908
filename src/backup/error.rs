//! Why there is no backup, or no good one: what, where, and what to do.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::domain::Cause;
use crate::sqlite;
use crate::store::copy::CopyError;
use crate::store::{Address, OpenError};

/// Why it failed. The text is for the operator.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// It was stopped before it was done.
    #[error("interrupted; nothing was made")]
    Interrupted,
    /// There is nothing to make a backup of.
    #[error("{0} is no database of this program; check the address")]
    NoDatabase(Address),
    /// The database was brought up to date by a newer program.
    #[error(
        "{database} has schema version {found}, and this program knows versions up to {known}; use the newer program that serves it"
    )]
    NewerDatabase {
        /// The database.
        database: Address,
        /// The version that it has.
        found: i64,
        /// The newest version that this binary knows.
        known: i64,
    },
    /// The database could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its rows could not be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// The database could not be read, or the backup could not be written.
    #[error(
        "cannot make a backup of {database} in the folder {}: {source}. Nothing was left there{}",
        folder.display(),
        advice(source)
    )]
    Make {
        /// The database.
        database: Address,
        /// Where the backup would have been.
        folder: PathBuf,
        /// The error from the system or SQLite.
        source: Cause,
    },
    /// Nothing can be made in a folder.
    #[error(
        "cannot write into the folder {}: {source}. Name one that is there and belongs to this user: mkdir -m 0700 FOLDER",
        path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error from the system.
        source: std::io::Error,
    },
    /// Something that was started could not be written. Nothing of it is left.
    #[error("cannot write into the folder {}: {source}. Nothing was left there{}", path.display(), advice(source))]
    Write {
        /// The folder.
        path: PathBuf,
        /// The error from the system or SQLite.
        source: Cause,
    },
    /// A backup could not be opened or read.
    #[error("cannot read the backup {}: {source}", path.display())]
    Unreadable {
        /// The backup.
        path: PathBuf,
        /// The error from the system.
        source: std::io::Error,
    },
    /// A file is something else.
    #[error(
        "{} is no backup of this program; name a file that `invoicing backup create` has made", path.display()
    )]
    NoBackup {
        /// The file.
        path: PathBuf,
    },
    /// A backup is encrypted, and there is no key.
    #[error(
        "the backup {} is encrypted; name the file with your secret key: --identity FILE", path.display()
    )]
    Encrypted {
        /// The backup.
        path: PathBuf,
    },
    /// No secret keys could be read.
    #[error(
        "cannot read a secret key from {}: {source}. Name a file as `age-keygen` writes it", path.display()
    )]
    Identity {
        /// The file that should have one.
        path: PathBuf,
        /// What is wrong with it.
        source: Cause,
    },
    /// No key opens it.
    #[error(
        "none of the secret keys opens the backup {}: it was encrypted to others, or its first bytes are damaged",
        path.display()
    )]
    NotForUs {
        /// The backup.
        path: PathBuf,
    },
    /// It is not as it was written.
    #[error("the backup {} is damaged: {what}. Use another one", path.display())]
    Damaged {
        /// The backup.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A newer program made it.
    #[error(
        "the backup {} was made by invoicing {made_by} and has schema version {found}; this program knows versions up to {known}. \
         Use that release or a later one", path.display()
    )]
    Newer {
        /// The backup.
        path: PathBuf,
        /// The program that made it.
        made_by: String,
        /// The version that it has.
        found: i64,
        /// The newest version that this binary knows.
        known: i64,
    },
}

impl BackupError {
    /// The error for a failed write into a folder.
    pub(super) fn write(path: impl Into<PathBuf>, source: impl Into<Cause>) -> BackupError {
        BackupError::Write {
            path: path.into(),
            source: source.into(),
        }
    }

    /// The error for a damaged backup.
    pub(super) fn damaged(path: &Path, what: &dyn Display) -> BackupError {
        BackupError::Damaged {
            path: path.to_owned(),
            what: what.to_string(),
        }
    }
}

impl From<sqlite::OpenError> for BackupError {
    fn from(error: sqlite::OpenError) -> BackupError {
        BackupError::Open(error.into())
    }
}

/// What to do when there is no room.
fn advice(source: &Cause) -> &'static str {
    const MORE: &str = ". It takes as much room as the database for a while, besides the backup: make room, or name another \
                        folder";
    let full = |error: &std::io::Error| {
        matches!(
            error.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
        )
    };
    let of_sqlite =
        |error: &rusqlite::Error| error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull);
    let full =
        source.downcast_ref().is_some_and(full) || source.downcast_ref().is_some_and(of_sqlite);
    if full { MORE } else { "" }
}
