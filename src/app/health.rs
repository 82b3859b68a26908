//! Whether the service can do its work now, for those that decide whether to send it requests.

use std::time::Duration;

use super::App;

/// How long the database may take to answer. A balancer that asks every second must not wait longer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// What keeps the service from working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthProblem {
    /// The database cannot be reached, or does not answer within a second.
    Database,
    /// The database lacks migrations that this binary needs.
    Migrations,
}

impl App {
    /// Asks the database whether it is there and has the schema that this binary works on.
    ///
    /// # Errors
    /// What is wrong with it.
    pub async fn check_health(&self) -> Result<(), HealthProblem> {
        match tokio::time::timeout(ANSWER_TIMEOUT, self.store.schema_is_current()).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err(HealthProblem::Migrations),
            Ok(Err(_)) | Err(_) => Err(HealthProblem::Database),
        }
    }
}
