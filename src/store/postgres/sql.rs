//! Statements, and the one place where a database error becomes a domain error.
//!
//! [`Sql`] is a connection with just enough surface for this store: how a statement is sent is decided here
//! (promises 6 and 7 of the [store](super)), and every failure says already whether to try again.
//! Transactions are the business of `retry.rs`.

use std::error::Error as StdError;
use std::sync::Arc;

use futures::future::{join, join_all};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use super::checkout::Checkout;
use crate::app::Error;
use crate::app::error::Cause;

/// A parameter of a statement, with its type.
pub(super) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// A statement and its parameters.
pub(super) type Statement<'a> = (&'a str, &'a [Param<'a>]);

/// A connection inside of a transaction (a change) or outside of one (a read).
#[derive(Clone)]
pub(super) struct Sql {
    checkout: Arc<Checkout>,
    /// What begins the transaction; none outside of one.
    begin: Option<&'static str>,
}

impl Sql {
    /// A connection outside of a transaction.
    pub(super) fn reading(checkout: Checkout) -> Sql {
        Sql {
            checkout: Arc::new(checkout),
            begin: None,
        }
    }

    /// A connection inside of a transaction, which `begin` begins: it travels with the first statement.
    pub(super) fn changing(checkout: Checkout, begin: &'static str) -> Sql {
        Sql {
            checkout: Arc::new(checkout),
            begin: Some(begin),
        }
    }

    pub(super) fn checkout(&self) -> &Checkout {
        &self.checkout
    }

    /// Runs statements without parameters that answer nothing.
    pub(super) async fn batch(&self, statements: &str) -> Result<(), tokio_postgres::Error> {
        self.checkout.connection().batch_execute(statements).await
    }

    /// Runs a statement that answers no rows; says how many rows it changed.
    pub(super) async fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<u64, Failure> {
        let connection = self.checkout.connection();
        let changed = async {
            if !self.checkout.prepares {
                return Ok(connection.execute_typed(sql, params).await?);
            }
            let (types, values) = split(params);
            let statement = connection.prepare_typed_cached(sql, &types).await?;
            Ok(connection.execute(&statement, &values).await?)
        };
        self.begun_before(changed).await
    }

    /// The first row that a statement answers, if there is one.
    pub(super) async fn optional<T>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        read: impl FnOnce(&Row) -> Result<T, tokio_postgres::Error>,
    ) -> Result<Option<T>, Failure> {
        let [rows] = self.together([(sql, params)]).await?;
        Ok(rows.first().map(read).transpose()?)
    }

    /// All rows that a statement answers.
    pub(super) async fn all<T>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        read: impl FnMut(&Row) -> Result<T, tokio_postgres::Error>,
    ) -> Result<Vec<T>, Failure> {
        let [rows] = self.together([(sql, params)]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    /// Whether a statement answers a row.
    pub(super) async fn exists(&self, sql: &str, params: &[Param<'_>]) -> Result<bool, Failure> {
        let [rows] = self.together([(sql, params)]).await?;
        Ok(!rows.is_empty())
    }

    /// The rows that each statement answers. All are sent at once, and are run in their order: together they take
    /// one round trip. The first failure is the answer, and inside of a transaction nothing behind it has run.
    pub(super) async fn together<const N: usize>(
        &self,
        statements: [Statement<'_>; N],
    ) -> Result<[Vec<Row>; N], Failure> {
        let (rows, ()) = self.together_before(statements, async {}).await?;
        Ok(rows)
    }

    /// The same, and `then` begins when all of them have been sent, so that what it sends travels with them and is run
    /// behind them. Both come to their end.
    pub(super) async fn together_before<T, const N: usize>(
        &self,
        statements: [Statement<'_>; N],
        then: impl Future<Output = T>,
    ) -> Result<([Vec<Row>; N], T), Failure> {
        self.begun_before(self.answers(statements, then)).await
    }

    async fn answers<T, const N: usize>(
        &self,
        statements: [Statement<'_>; N],
        then: impl Future<Output = T>,
    ) -> Result<([Vec<Row>; N], T), Failure> {
        let connection = self.checkout.connection();
        // All of them first: one that is still to be prepared would come behind those that are not.
        let mut prepared = Vec::new();
        if self.checkout.prepares {
            for (sql, params) in statements {
                let (types, _) = split(params);
                prepared.push(connection.prepare_typed_cached(sql, &types).await?);
            }
        }
        let prepared = &prepared;
        let sent = statements
            .iter()
            .enumerate()
            .map(|(number, (sql, params))| async move {
                match prepared.get(number) {
                    Some(statement) => connection.query(statement, &split(params).1).await,
                    None => connection.query_typed(sql, params).await,
                }
            });
        // Each is sent when it is polled for the first time, which is in this order. The first that failed knows why;
        // those behind it, whose answers may be seen earlier, only know that the transaction has ended.
        let (answers, then) = join(join_all(sent), then).await;
        let rows = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut rows = rows.into_iter();
        let rows = std::array::from_fn(|_| rows.next().unwrap_or_default());
        Ok((rows, then))
    }

    /// What statements answer. Before the first ones, the transaction begins; nobody waits for its answer alone.
    async fn begun_before<T>(
        &self,
        statements: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let first = self.checkout.is_used();
        let Some(begin) = self.begin.filter(|_| first) else {
            return statements.await;
        };
        match join(self.batch(begin), statements).await {
            (Ok(()), answer) => answer,
            (Err(error), Err(_)) => Err(error.into()),
            // They ran on their own: what they did stays, and nobody may repeat it.
            (Err(error), Ok(_)) => Err(Failure::Final(Error::unavailable(error))),
        }
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
            && let Some(rule) = violated(found.constraint().unwrap_or(found.message()))
        {
            return Failure::Final(rule);
        }
        let code = found.code().code();
        match code.get(..2).unwrap_or_default() {
            // Serialization failure and deadlock; no connection; the server ends it (by order, after a crash,
            // at its start).
            "40" | "08" => Failure::Again(error.into()),
            "57" if code != SqlState::QUERY_CANCELED.code() => Failure::Again(error.into()),
            // A primary that has become a standby; a prepared statement that the server has forgotten, or
            // whose tables a newer replica has migrated since; a transaction that was idle for too long, or whose
            // end is all that this statement knows: another may say why.
            _ if [
                SqlState::READ_ONLY_SQL_TRANSACTION,
                SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                SqlState::IN_FAILED_SQL_TRANSACTION,
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

/// Which rule of the service a unique index guards. The index of a partition, or of a shard, may have a number behind
/// that name, and an engine that hands on what its shards say may have the name in the message alone.
fn violated(index: &str) -> Option<Error> {
    let is = |name: &str| index.contains(name);
    is("product_sku").then_some(Error::DuplicateSku)
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
