//! Health checks: whether the service can do its work now, for load balancers that decide whether to send it requests.
//!
//! 1. The database is asked for the version of its schema.
//! 2. It is asked whether it takes changes. On SQLite only a change, of one page, can tell: a disk may be full, over a
//!    quota, remounted read-only, or failing, and nothing but writing shows all of these. It is rarely tried
//!    (`writable.rs`). On PostgreSQL, the query of step 1 has the answer: a standby, or `default_transaction_read_only`.

use std::time::Duration;

use super::App;

/// How long the database may take to answer. A balancer that asks every second must not wait longer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// Why the service cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthProblem {
    /// The database cannot be reached, or does not answer within a second.
    Database,
    /// The database lacks migrations that this binary needs.
    Migrations,
    /// The database can be read, but takes no changes.
    Writes,
}

impl App {
    /// Asks the database whether it is reachable, has the schema that this binary needs, and takes changes.
    ///
    /// # Errors
    /// The problem that was found.
    pub async fn check_health(&self) -> Result<(), HealthProblem> {
        let asked = tokio::time::timeout(ANSWER_TIMEOUT, self.store.state()).await;
        let state = asked.ok().and_then(Result::ok);
        let state = state.ok_or(HealthProblem::Database)?;
        if !state.schema_is_current {
            return Err(HealthProblem::Migrations);
        }
        let tries = async {
            let tried = tokio::time::timeout(ANSWER_TIMEOUT, self.store.try_to_write());
            tried.await.ok().and_then(Result::ok)
        };
        match state.takes_changes && self.writable.ask(tries).await {
            true => Ok(()),
            false => Err(HealthProblem::Writes),
        }
    }
}
