//! What runs the statements of a script.

use std::pin::pin;

use futures::TryStreamExt;
use futures::future::{join, join_all, try_join_all};
use tokio_postgres::{Error as PostgresError, Row, Statement};

use super::checkout::Checkout;
use crate::domain::Error;
use crate::sql::ScriptError;
use crate::sql::value::Value;

/// A statement and its values, on their way to the server.
pub type Sent<'a> = (&'static str, &'a [Value<'a>]);

/// What the server answered to a statement: its rows, and how many rows it changed.
pub type Rows = (Vec<Row>, u64);

/// What a script does.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// It changes something: in a transaction.
    Changing,
    /// It only reads: each statement by itself.
    Reading,
}

/// A connection, lent to one script.
pub struct Handle {
    checkout: Checkout,
    /// What begins the transaction; none outside of one.
    begin: Option<&'static str>,
}

impl Handle {
    /// A connection inside of a transaction, which `begin` begins, as it travels with the first statement; or outside of one.
    pub(super) fn new(checkout: Checkout, begin: Option<&'static str>) -> Handle {
        Handle { checkout, begin }
    }

    pub(super) fn in_transaction(&self) -> bool {
        self.begin.is_some()
    }

    pub(super) fn checkout(&self) -> &Checkout {
        &self.checkout
    }

    /// Runs statements without values that answer nothing.
    pub(super) async fn batch(&self, statements: &str) -> Result<(), tokio_postgres::Error> {
        self.checkout.is_sent();
        self.checkout.connection().batch_execute(statements).await
    }

    /// Runs statements, all sent at once, in their order: together they take one round trip. Inside of a transaction
    /// nothing behind the first that failed has run. Before the first ones the transaction begins; nobody waits for its
    /// answer alone.
    ///
    /// # Errors
    /// When nothing could be sent, or the transaction did not begin.
    pub async fn run(
        &self,
        sent: &[Sent<'_>],
    ) -> Result<Vec<Result<Rows, ScriptError>>, ScriptError> {
        let first = self.checkout.mark_used();
        let Some(begin) = self.begin.filter(|_| first) else {
            return self.answers(sent).await;
        };
        match join(self.batch(begin), self.answers(sent)).await {
            (Ok(()), answers) => answers,
            // They ran on their own: what they did stays, and nobody may repeat it.
            (Err(error), Ok(answers)) if answers.iter().any(Result::is_ok) => {
                Err(ScriptError::Final(Error::unavailable(error)))
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    async fn answers(
        &self,
        sent: &[Sent<'_>],
    ) -> Result<Vec<Result<Rows, ScriptError>>, ScriptError> {
        self.checkout.is_sent();
        let connection = self.checkout.connection();
        let prepared = match self.checkout.preparing().is_on() {
            true => self.prepared(sent).await?,
            false => Vec::new(),
        };
        let prepared = &prepared;
        let doubt = &|error: &_| self.checkout.preparing().doubt(error);
        let answers = sent
            .iter()
            .enumerate()
            .map(|(number, (text, values))| async move {
                let rows = match prepared.get(number) {
                    Some(Some(statement)) => {
                        let rows = connection.query_raw(statement, *values).await;
                        rows.inspect_err(doubt)?
                    }
                    _ => {
                        let typed = values.iter().map(|value| (value, value.kind()));
                        connection.query_typed_raw(text, typed).await?
                    }
                };
                let mut rows = pin!(rows);
                let mut all = Vec::new();
                while let Some(row) = rows.try_next().await? {
                    all.push(row);
                }
                Ok((all, rows.rows_affected().unwrap_or(0)))
            });
        // Each is sent when it is polled for the first time, which is in this order.
        Ok(join_all(answers).await)
    }

    /// All of them first: one that is still to be prepared would come behind those that are not. Those that are not, together.
    /// Not prepared is what takes lists: the server plans it for the rows that are in them, and a plan that it keeps for any
    /// number of rows takes many times as long for thousands.
    async fn prepared(&self, sent: &[Sent<'_>]) -> Result<Vec<Option<Statement>>, PostgresError> {
        let connection = self.checkout.connection();
        let prepared = sent.iter().map(|(text, values)| async move {
            if values.iter().any(Value::is_list) {
                return Ok(None);
            }
            let kinds: Vec<_> = values.iter().map(Value::kind).collect();
            let statement = connection.prepare_typed_cached(text, &kinds).await?;
            Ok(Some(statement))
        });
        let prepared = try_join_all(prepared).await;
        prepared.inspect_err(|error| self.checkout.preparing().doubt(error))
    }
}
