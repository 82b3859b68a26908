//! The one place where a PostgreSQL error becomes a domain error; each failure says whether to try again.

use std::error::Error as StdError;

use tokio_postgres::error::SqlState;

use crate::domain::{Cause, Error};
use crate::sql::ScriptError;

/// What an unacknowledged commit means: promise 4 of the [store](super).
pub(super) fn at_commit(error: tokio_postgres::Error) -> ScriptError {
    match error.code() {
        // The server reports that the transaction was rolled back.
        Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
            ScriptError::Retry(error.into())
        }
        _ => ScriptError::Final(Error::unavailable(error)),
    }
}

impl From<tokio_postgres::Error> for ScriptError {
    /// What a failed statement means before the commit. Contention and a server short of resources are `Unavailable`: they
    /// can pass without a change to the program. Anything that is not a rule of the service is `Internal`.
    fn from(error: tokio_postgres::Error) -> ScriptError {
        let Some(found) = error.as_db_error() else {
            let lost = error.is_closed() || has_io_error(&error);
            return match lost {
                true => ScriptError::Retry(error.into()),
                false => ScriptError::Final(Error::internal(error)),
            };
        };
        if *found.code() == SqlState::UNIQUE_VIOLATION
            && let Some(rule) = violated(found.constraint().unwrap_or(found.message()))
        {
            return ScriptError::Final(rule);
        }
        let code = found.code().code();
        match code.get(..2).unwrap_or_default() {
            // Serialization failure and deadlock; no connection; the server ends it (by order, after a crash, at startup).
            "40" | "08" => ScriptError::Retry(error.into()),
            "57" if code != SqlState::QUERY_CANCELED.code() => ScriptError::Retry(error.into()),
            // A prepared statement that the server has forgotten, whose name another client has taken, or whose tables a newer
            // replica has since migrated; a transaction that was idle for too long, or that had failed already, in which case
            // another statement may say why.
            _ if [
                SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                SqlState::IN_FAILED_SQL_TRANSACTION,
                SqlState::INVALID_SQL_STATEMENT_NAME,
                SqlState::DUPLICATE_PSTATEMENT,
                SqlState::FEATURE_NOT_SUPPORTED,
            ]
            .contains(found.code()) =>
            {
                ScriptError::Retry(error.into())
            }
            // Time limits; a lock that does not come free; no memory, no disk, no connection left; a failing disk; a
            // server that is read only.
            "57" | "55" | "53" | "58" => ScriptError::Final(Error::unavailable(error)),
            _ if *found.code() == SqlState::READ_ONLY_SQL_TRANSACTION => {
                ScriptError::Final(Error::unavailable(error))
            }
            _ => ScriptError::Final(Error::internal(error)),
        }
    }
}

/// Which rule of the service a unique index guards. The index of a partition or a shard may have a number after that name,
/// and an engine that passes on its shards' errors may have the name in the message alone.
fn violated(index: &str) -> Option<Error> {
    let is = |name: &str| index.contains(name);
    is("product_sku").then_some(Error::DuplicateSku)
}

/// Whether a change was refused because its session is read-only.
pub(super) fn is_read_only(error: &Error) -> bool {
    matches!(error, Error::Unavailable(cause) if has_code(cause, &SqlState::READ_ONLY_SQL_TRANSACTION))
}

/// Whether a lock did not come free in time.
pub(super) fn is_locked(cause: &Cause) -> bool {
    has_code(cause, &SqlState::LOCK_NOT_AVAILABLE)
}

/// Whether another transaction was in the way, which says nothing about the connection. So it is if it was not the server that
/// refused: a script has found that another was first.
pub(super) fn is_contention(cause: &Cause) -> bool {
    let codes = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    !cause.is::<tokio_postgres::Error>() || codes.iter().any(|code| has_code(cause, code))
}

fn has_code(cause: &Cause, code: &SqlState) -> bool {
    let cause = cause.downcast_ref::<tokio_postgres::Error>();
    cause.and_then(|it| it.code()) == Some(code)
}

fn has_io_error(error: &tokio_postgres::Error) -> bool {
    let mut cause = error.source();
    while let Some(found) = cause {
        if found.is::<std::io::Error>() {
            return true;
        }
        cause = found.source();
    }
    false
}
