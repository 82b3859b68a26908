//! What runs the statements of a script.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::{Either, join, join_all, try_join_all};
use futures::{TryFutureExt, TryStreamExt};
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::{Error as PostgresError, Row, Statement};

use super::checkout::Checkout;
use super::transaction::Transaction;
use crate::domain::Error;
use crate::domain::subject::Subject;
use crate::sql::ScriptError;
use crate::sql::value::Value;

/// A statement and its values, on their way to the server.
pub type Sent<'a> = (&'static str, &'a [Value<'a>]);

/// The longest list of values with which a statement is prepared: for thousands, a plan that is kept for any number of rows
/// takes many times as long as one for them.
const LONGEST_PREPARED: usize = 64;

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

/// A connection, lent to one script, or to those of a group.
pub struct Handle {
    checkout: Arc<Checkout>,
    scope: Scope,
    course: Course,
}

/// What the statements of a script are part of.
enum Scope {
    /// Each is by itself.
    Statement,
    /// A transaction of the script's own, which this begins.
    Own(&'static str),
    /// The transaction of its group, in which it has this number.
    Group(Arc<Transaction>, usize),
}

/// How the statements of a script have gone.
#[derive(Debug, Default)]
pub(super) struct Course {
    answered: AtomicBool,
    written: AtomicBool,
    failed: AtomicBool,
    broken: AtomicBool,
}

impl Handle {
    /// A connection inside of a transaction, which `begin` begins, as it travels with the first statement; or outside of one.
    pub(super) fn new(checkout: Checkout, begin: Option<&'static str>) -> Handle {
        Handle {
            checkout: Arc::new(checkout),
            scope: begin.map_or(Scope::Statement, Scope::Own),
            course: Course::default(),
        }
    }

    /// A connection inside of a transaction that others share.
    pub(super) fn within(
        checkout: Arc<Checkout>,
        transaction: Arc<Transaction>,
        number: usize,
    ) -> Handle {
        Handle {
            checkout,
            scope: Scope::Group(transaction, number),
            course: Course::default(),
        }
    }

    /// Whether another change of this transaction has asked about `subject`. Where none has, this one does it for all.
    pub(crate) fn is_held(&self, subject: Subject) -> bool {
        match &self.scope {
            Scope::Group(transaction, number) => transaction.is_held_by_another(subject, *number),
            Scope::Own(_) | Scope::Statement => false,
        }
    }

    /// The script was refused. Whether others of its group rely on what it was told comes back.
    pub(super) fn let_go(&self) -> bool {
        match &self.scope {
            Scope::Group(transaction, number) => transaction.let_go(*number),
            Scope::Own(_) | Scope::Statement => false,
        }
    }

    /// Whether this begins and ends a transaction of its own.
    pub(super) fn owns_transaction(&self) -> bool {
        matches!(self.scope, Scope::Own(_))
    }

    pub(super) fn checkout(&self) -> &Checkout {
        &self.checkout
    }

    pub(super) fn course(&self) -> &Course {
        &self.course
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
        let begun = match &self.scope {
            Scope::Statement => {
                self.checkout.mark_used();
                return self.answers(sent).await;
            }
            Scope::Own(begin) => {
                if !self.checkout.mark_used() {
                    return self.answers(sent).await;
                }
                Either::Left(self.checkout.batch(begin).map_err(ScriptError::from))
            }
            Scope::Group(transaction, _) => {
                let begun = transaction.begin(&self.checkout).await;
                // Alone it is told why.
                let failed =
                    |_| ScriptError::Retry("the transaction of its group did not begin".into());
                Either::Right(begun.map_err(failed))
            }
        };
        match join(begun, self.answers(sent)).await {
            (Ok(()), answers) => answers,
            // They ran on their own: what they did stays, and nobody may repeat it.
            (Err(error), Ok(answers)) if answers.iter().any(Result::is_ok) => {
                Err(ScriptError::Final(match error {
                    ScriptError::Final(error) => Error::unavailable(error),
                    ScriptError::Retry(cause) => Error::Unavailable(cause),
                }))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// The first row that a statement answers.
    ///
    /// # Errors
    /// As of [`run`](Handle::run).
    pub(crate) async fn find(&self, sent: &Sent<'_>) -> Result<Option<Arc<Row>>, ScriptError> {
        let answer = self.run(std::slice::from_ref(sent)).await?.pop();
        let (rows, _) = answer.transpose()?.unwrap_or_default();
        Ok(rows.into_iter().next().map(Arc::new))
    }

    async fn answers(
        &self,
        sent: &[Sent<'_>],
    ) -> Result<Vec<Result<Rows, ScriptError>>, ScriptError> {
        self.checkout.is_sent();
        let connection = self.checkout.connection();
        let failed = &|error: PostgresError| {
            self.course.fail(&error);
            ScriptError::from(error)
        };
        let prepared = match self.checkout.preparing().is_on() {
            true => self.prepared(sent).await.map_err(failed)?,
            false => Vec::new(),
        };
        self.course.sends(sent);
        let prepared = &prepared;
        let doubt = &|error: &_| self.checkout.preparing().doubt(error);
        let answers = sent
            .iter()
            .enumerate()
            .map(|(number, (text, values))| async move {
                let rows = match prepared.get(number) {
                    Some(Some(statement)) => {
                        let rows = connection.query_raw(statement, *values).await;
                        rows.inspect_err(doubt)
                    }
                    _ => {
                        let typed = values.iter().map(|value| (value, value.kind()));
                        connection.query_typed_raw(text, typed).await
                    }
                };
                let mut rows = pin!(rows.map_err(failed)?);
                let mut all = Vec::new();
                while let Some(row) = rows.try_next().await.map_err(failed)? {
                    all.push(row);
                }
                self.course.answered.store(true, Ordering::Relaxed);
                Ok((all, rows.rows_affected().unwrap_or(0)))
            });
        // Each is sent when it is polled for the first time, which is in this order.
        Ok(join_all(answers).await)
    }

    /// All of them first: one that is still to be prepared would come behind those that are not. Those that are not, together.
    async fn prepared(&self, sent: &[Sent<'_>]) -> Result<Vec<Option<Statement>>, PostgresError> {
        let connection = self.checkout.connection();
        let prepared = sent.iter().map(|(text, values)| async move {
            let lengths = values.iter().filter_map(Value::length);
            if lengths.max() > Some(LONGEST_PREPARED) {
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

impl Course {
    /// Whether a statement was answered with no error.
    pub(super) fn was_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Whether something was sent that may have changed something.
    pub(super) fn has_written(&self) -> bool {
        self.written.load(Ordering::Relaxed)
    }

    /// Whether a statement has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Whether that was the first of its transaction to do so.
    pub(super) fn has_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    fn sends(&self, sent: &[Sent<'_>]) {
        if !sent.iter().all(|(text, _)| text.starts_with("SELECT")) {
            self.written.store(true, Ordering::Relaxed);
        }
    }

    fn fail(&self, error: &PostgresError) {
        self.failed.store(true, Ordering::Relaxed);
        // Others have failed with the connection, too.
        let code = error.as_db_error().map(DbError::code);
        if code.is_some_and(|code| *code != SqlState::IN_FAILED_SQL_TRANSACTION) {
            self.broken.store(true, Ordering::Relaxed);
        }
    }
}
