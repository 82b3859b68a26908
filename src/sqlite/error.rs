//! The one place where an SQLite error becomes a domain error.

use std::error::Error as StdError;

use rusqlite::{ErrorCode, ffi};

use crate::domain::Error;

/// Which rule of the service a unique index guards. SQLite names the columns of the violated index, in the order of the
/// index.
fn violated(columns: &str) -> Option<Error> {
    match columns {
        "product.team_id, product.mode, product.sku" => Some(Error::DuplicateSku),
        _ => None,
    }
}

/// Whether the disk failed to take a change, rather than another process holding the lock, or too many changes waiting.
pub(super) fn is_of_disk(error: &Error) -> bool {
    let mut cause = error.cause().map(|it| it as &(dyn StdError + 'static));
    while let Some(found) = cause {
        if let Some(error) = found.downcast_ref::<rusqlite::Error>() {
            let code = error.sqlite_error_code();
            return matches!(
                code,
                Some(
                    ErrorCode::DiskFull
                        | ErrorCode::SystemIoFailure
                        | ErrorCode::ReadOnly
                        | ErrorCode::CannotOpen
                )
            );
        }
        cause = found.source();
    }
    false
}

/// Translates an SQLite error into the service's terms.
///
/// Contention, a full disk and a failing one are `Unavailable`: they can pass without a change to the program. Everything
/// else that is not a rule of the service is `Internal`.
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
        // What a reader gets after waiting long for the locks of the log.
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::DiskFull
        | ErrorCode::SystemIoFailure
        | ErrorCode::OutOfMemory
        | ErrorCode::CannotOpen => Error::unavailable(error),
        // Also if the disk fails while the log is read.
        ErrorCode::DatabaseCorrupt => Error::internal(format!(
            "the database file is damaged, or its disk fails: {error}; check the disk, then the file (`invoicing doctor`), and \
             restore a backup only if the file is damaged"
        )),
        _ => Error::internal(error),
    }
}
