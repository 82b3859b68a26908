//! Runs statements through a connection.

use std::pin::pin;
use std::sync::Arc;

use futures::TryStreamExt;
use futures::future::{join_all, try_join_all};
use tokio_postgres::{Error as PostgresError, Row, Statement};

use super::checkout::Checkout;
use crate::sql::Many;
use crate::sql::value::Value;

/// A statement and its values, on their way to the server.
#[derive(Clone, Copy)]
pub struct Sent<'a> {
    /// The statement.
    pub text: &'static str,
    /// Its form for many, if there is one.
    pub many: Option<Many>,
    /// Its values.
    pub values: &'a [Value<'a>],
}

/// Whether a statement changes nothing.
pub(super) fn is_query(text: &str) -> bool {
    text.starts_with("SELECT")
}

/// The server's answer to a statement: its rows, and how many rows it changed.
pub type Rows = (Arc<Vec<Row>>, u64);

/// The longest list of values with which a statement is prepared: for thousands, a plan kept for any number of rows takes
/// many times as long as one made for them.
pub(super) const LONGEST_PREPARED: usize = 64;

impl Checkout {
    /// Runs statements, all sent at once, in order: together they take one round trip. Inside a transaction, nothing after
    /// the first failure has run.
    ///
    /// # Errors
    /// When nothing could be sent.
    pub(super) async fn run(
        &self,
        sent: &[Sent<'_>],
    ) -> Result<Vec<Result<Rows, PostgresError>>, PostgresError> {
        self.is_sent();
        let connection = self.connection();
        let prepared = match self.preparing().is_on() {
            true => self.prepared(sent).await?,
            false => Vec::new(),
        };
        let prepared = &prepared;
        let doubt = &|error: &_| self.preparing().doubt(error);
        let answers = sent.iter().enumerate().map(|(number, sent)| async move {
            let rows = match prepared.get(number) {
                Some(Some(statement)) => {
                    let rows = connection.query_raw(statement, sent.values).await;
                    rows.inspect_err(doubt)
                }
                _ => {
                    let typed = sent.values.iter().map(|value| (value, value.kind()));
                    connection.query_typed_raw(sent.text, typed).await
                }
            };
            let mut rows = pin!(rows?);
            let mut all = Vec::new();
            while let Some(row) = rows.try_next().await? {
                all.push(row);
            }
            let changed = rows.rows_affected().unwrap_or(0);
            if changed > 0 && !is_query(sent.text) {
                self.mark_written();
            }
            Ok((Arc::new(all), changed))
        });
        // Each is sent when it is first polled, which is in this order.
        Ok(join_all(answers).await)
    }

    /// Prepares all of them first, together: otherwise one still to be prepared would be sent after those that are not.
    async fn prepared(&self, sent: &[Sent<'_>]) -> Result<Vec<Option<Statement>>, PostgresError> {
        let connection = self.connection();
        let prepared = sent.iter().map(|sent| async move {
            let lengths = sent.values.iter().filter_map(Value::length);
            if lengths.max() > Some(LONGEST_PREPARED) {
                return Ok(None);
            }
            let kinds: Vec<_> = sent.values.iter().map(Value::kind).collect();
            let statement = connection.prepare_typed_cached(sent.text, &kinds).await?;
            Ok(Some(statement))
        });
        let prepared = try_join_all(prepared).await;
        prepared.inspect_err(|error| self.preparing().doubt(error))
    }
}
