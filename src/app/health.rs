//! Whether the service can do its work now, for whoever decides to send it requests.

use std::time::Duration;

use super::App;

/// How long the database may take to answer. A balancer that asks every second must not wait longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// What keeps the service from working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ailment {
    /// The database cannot be reached, or does not answer within a second.
    Database,
    /// The database lacks migrations that this binary needs.
    Migrations,
}

impl App {
    /// Asks the database whether it is there and has the schema that this binary works on.
    ///
    /// # Errors
    /// What ails it.
    pub async fn check_health(&self) -> Result<(), Ailment> {
        match tokio::time::timeout(PATIENCE, self.store.schema_is_current()).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err(Ailment::Migrations),
            Ok(Err(_)) | Err(_) => Err(Ailment::Database),
        }
    }
}
