//! Requests within their deadline: promises 2 to 5 of the [store](super).

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::checkout::Checkout;
use super::sql::{Failure, Sql};
use super::{DEADLINE, Postgres};
use crate::app::Error;

/// The pause before the second attempt; it doubles from there.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// The longest pause: a server that is back after a restart is noticed within this.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// Begins a change. The limits hold for this transaction alone, since a pooler gives the connection to
/// somebody else afterwards: a second less than the deadline for a lock and for a statement, and another second less
/// for a replica that has stopped talking, so that who waits for what it has locked outlasts it.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
     SET LOCAL lock_timeout = '4s'; \
     SET LOCAL statement_timeout = '4s'; \
     SET LOCAL idle_in_transaction_session_timeout = '3s'";

/// Commits with no limit on the server: promise 5.
const COMMIT: &str = "SET LOCAL statement_timeout = 0; COMMIT";

impl Postgres {
    /// Makes a change in one transaction and answers once it is committed. `change` runs again when the
    /// database wants it to, so it must not have any effect but those on the database.
    pub(super) async fn write<T, F>(&self, change: impl Fn(Sql) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.within_deadline(|| self.transaction(&change)).await
    }

    /// Runs queries that change nothing. Each sees what was committed before it began.
    pub(super) async fn read<T, F>(&self, queries: impl Fn(Sql) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.within_deadline(|| self.queries(&queries)).await
    }

    async fn transaction<T, F>(&self, change: &impl Fn(Sql) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let sql = Sql::changing(self.checkout().await?, BEGIN);
        match change(sql.clone()).await {
            Ok(value) => {
                sql.checkout().is_committing();
                sql.batch(COMMIT).await.map_err(Failure::at_commit)?;
                sql.checkout().is_done();
                Ok(value)
            }
            Err(failure) => {
                // A connection that cannot even do this is not used again.
                match (sql.batch("ROLLBACK").await, &failure) {
                    (Ok(()), Failure::Final(_)) => sql.checkout().is_done(),
                    _ => sql.checkout().is_spent(),
                }
                Err(failure)
            }
        }
    }

    async fn queries<T, F>(&self, queries: &impl Fn(Sql) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let sql = Sql::reading(self.checkout().await?);
        let result = queries(sql.clone()).await;
        match &result {
            Err(Failure::Again(_)) => sql.checkout().is_spent(),
            _ => sql.checkout().is_done(),
        }
        result
    }

    async fn checkout(&self) -> Result<Checkout, Failure> {
        let connection = self
            .pool
            .get()
            .await
            .map_err(|error| Failure::Again(error.into()))?;
        Ok(Checkout::new(
            connection,
            self.connector.clone(),
            self.prepares,
        ))
    }

    /// Tries until there is an answer, or until the next attempt would begin after the deadline.
    async fn within_deadline<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let deadline = Instant::now() + DEADLINE;
        let mut pause = FIRST_PAUSE;
        loop {
            let cause = match timeout_at(deadline, attempt()).await {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(Failure::Final(error))) => return Err(error),
                Ok(Err(Failure::Again(cause))) => cause,
                Err(_) => {
                    // Promise 2: they are most likely to the same server.
                    self.pool.retain(|_, _| false);
                    return Err(Error::unavailable("the database did not answer in time"));
                }
            };
            if Instant::now() + pause >= deadline {
                return Err(Error::unavailable(cause));
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
