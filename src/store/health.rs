//! What a store tells of its own health.

use async_trait::async_trait;

use crate::domain::Error;

/// The health of the store.
#[async_trait]
pub trait HealthStore {
    /// Asks the database which schema it has: whether every migration that this binary knows has been
    /// applied. One that a newer binary has migrated further is current too, since a rolling upgrade
    /// leaves older replicas at work on it.
    ///
    /// # Errors
    /// As every read. It always asks the database, so that an answer shows that it can be reached.
    async fn schema_is_current(&self) -> Result<bool, Error>;
}
