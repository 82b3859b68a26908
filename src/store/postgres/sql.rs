//! Statements, and the one place where a database error becomes a domain error.
//!
//! [`Sql`] is a connection with just enough surface for this store: how a statement is sent is decided here
//! (promise 6 of the [store](super)), and every failure says already whether to try again.
//! Transactions are the business of `retry.rs`.

use std::error::Error as StdError;
use std::sync::Arc;

use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use super::lease::Lease;
use crate::app::Error;
use crate::app::error::Cause;

/// A parameter of a statement, with its type.
pub(super) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// A connection inside of a transaction (a change) or outside of one (a read).
#[derive(Clone)]
pub(super) struct Sql(Arc<Lease>);

impl Sql {
    pub(super) fn new(lease: Arc<Lease>) -> Sql {
        Sql(lease)
    }

    pub(super) fn lease(&self) -> &Lease {
        &self.0
    }

    /// Runs statements without parameters that answer nothing.
    pub(super) async fn batch(&self, statements: &str) -> Result<(), tokio_postgres::Error> {
        self.0.connection().batch_execute(statements).await
    }

    /// Runs a statement that answers no rows; says how many rows it changed.
    pub(super) async fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<u64, Failure> {
        let connection = self.0.connection();
        if !self.0.prepares {
            return Ok(connection.execute_typed(sql, params).await?);
        }
        let (types, values) = split(params);
        let statement = connection.prepare_typed_cached(sql, &types).await?;
        Ok(connection.execute(&statement, &values).await?)
    }

    /// The first row that a statement answers, if there is one.
    pub(super) async fn optional<T>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        read: impl FnOnce(&Row) -> Result<T, tokio_postgres::Error>,
    ) -> Result<Option<T>, Failure> {
        let rows = self.rows(sql, params).await?;
        Ok(rows.first().map(read).transpose()?)
    }

    /// All rows that a statement answers.
    pub(super) async fn all<T>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        read: impl FnMut(&Row) -> Result<T, tokio_postgres::Error>,
    ) -> Result<Vec<T>, Failure> {
        let rows = self.rows(sql, params).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    /// Whether a statement answers a row.
    pub(super) async fn exists(&self, sql: &str, params: &[Param<'_>]) -> Result<bool, Failure> {
        Ok(!self.rows(sql, params).await?.is_empty())
    }

    async fn rows(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Failure> {
        let connection = self.0.connection();
        if !self.0.prepares {
            return Ok(connection.query_typed(sql, params).await?);
        }
        let (types, values) = split(params);
        let statement = connection.prepare_typed_cached(sql, &types).await?;
        Ok(connection.query(&statement, &values).await?)
    }
}

/// Types and values apart, as a prepared statement takes them.
fn split<'a>(params: &[Param<'a>]) -> (Vec<Type>, Vec<&'a (dyn ToSql + Sync)>) {
    params
        .iter()
        .map(|(value, kind)| (kind.clone(), *value))
        .unzip()
}

/// Why an attempt has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// This is the answer.
    Final(Error),
    /// Nothing has happened, and another attempt may succeed.
    Again(Cause),
}

impl Failure {
    /// What a commit that was not acknowledged means: promise 4 of the [store](super).
    pub(super) fn at_commit(error: tokio_postgres::Error) -> Failure {
        match error.code() {
            // The server says that the transaction was rolled back.
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
                Failure::Again(error.into())
            }
            _ => Failure::Final(Error::unavailable(error)),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Final(error)
    }
}

impl From<tokio_postgres::Error> for Failure {
    /// What it means that a statement failed before the commit. Contention and a server without room are
    /// `Unavailable`: they can pass without anyone changing the program. What is no rule of the service is
    /// `Internal`.
    fn from(error: tokio_postgres::Error) -> Failure {
        let Some(found) = error.as_db_error() else {
            let lost = error.is_closed() || has_io_error(&error);
            return match lost {
                true => Failure::Again(error.into()),
                false => Failure::Final(Error::internal(error)),
            };
        };
        if *found.code() == SqlState::UNIQUE_VIOLATION
            && let Some(rule) = found.constraint().and_then(violated)
        {
            return Failure::Final(rule);
        }
        let code = found.code().code();
        match &code[..2] {
            // Serialization failure and deadlock; no connection; the server ends it (by order, after a crash,
            // at its start).
            "40" | "08" => Failure::Again(error.into()),
            "57" if code != SqlState::QUERY_CANCELED.code() => Failure::Again(error.into()),
            // A primary that has become a standby; a prepared statement that the server has forgotten, or
            // whose tables a newer replica has migrated since.
            _ if [
                SqlState::READ_ONLY_SQL_TRANSACTION,
                SqlState::INVALID_SQL_STATEMENT_NAME,
                SqlState::FEATURE_NOT_SUPPORTED,
            ]
            .contains(found.code()) =>
            {
                Failure::Again(error.into())
            }
            // Time limits; a lock that does not come free; no memory, no disk, no connection left; a failing disk.
            "57" | "55" | "53" | "58" => Failure::Final(Error::unavailable(error)),
            _ => Failure::Final(Error::internal(error)),
        }
    }
}

/// Which rule of the service a unique index guards.
fn violated(constraint: &str) -> Option<Error> {
    match constraint {
        "product_sku" => Some(Error::DuplicateSku),
        _ => None,
    }
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

/// An error with all its causes in one line: those of the driver say little by themselves.
pub(super) fn causes(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(found) = cause {
        let more = found.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = found.source();
    }
    text
}
