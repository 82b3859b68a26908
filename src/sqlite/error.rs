//! The one place where an error of SQLite becomes one of the domain.

use rusqlite::{ErrorCode, ffi};

use crate::domain::Error;

/// Which rule of the service a unique index guards. SQLite names the columns of the index it found
/// violated, in the order of the index.
fn violated(columns: &str) -> Option<Error> {
    match columns {
        "product.team_id, product.mode, product.sku" => Some(Error::DuplicateSku),
        _ => None,
    }
}

/// Translates what SQLite says into what the service says.
///
/// Contention, a full disk and a failing one are `Unavailable`: they can pass without anyone changing
/// the program. Everything else that is not a rule of the service is `Internal`.
pub(super) fn to_domain(error: rusqlite::Error) -> Error {
    let rusqlite::Error::SqliteFailure(failure, message) = &error else {
        return Error::internal(error);
    };
    if failure.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE {
        let columns = message
            .as_deref()
            .and_then(|text| text.split_once("failed: "));
        if let Some(rule) = columns.and_then(|(_, columns)| violated(columns)) {
            return rule;
        }
    }
    match failure.code {
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        // What a reader gets that has waited long for the locks of the log.
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::DiskFull
        | ErrorCode::SystemIoFailure
        | ErrorCode::OutOfMemory
        | ErrorCode::CannotOpen => Error::unavailable(error),
        ErrorCode::DatabaseCorrupt => {
            Error::internal(format!("the database file is damaged: {error}; restore a backup"))
        }
        _ => Error::internal(error),
    }
}
