//! Lends connections to scripts.

use std::sync::Arc;

use deadpool_postgres::Pool;

use super::checkout::Checkout;
use super::connect::Connector;
use super::counts::Counts;
use super::turns::Turns;
use crate::domain::holder::Holder;
use crate::sql::ScriptError;

/// The connections to one database.
pub(super) struct Connections {
    pub(super) pool: Pool,
    /// Taking a connection from the pool requires a turn.
    pub(super) turns: Turns,
    pub(super) connector: Connector,
    pub(super) counts: Arc<Counts>,
}

impl Connections {
    /// Takes a connection, which `holder` has until it is dropped.
    ///
    /// # Errors
    /// [`ScriptError::Retry`] when none can be made; [`ScriptError::Final`] when the wait would be too long.
    pub(super) async fn checkout(&self, holder: Holder) -> Result<Checkout, ScriptError> {
        // Also counts callers that stop waiting.
        let _waited = self.counts.waits.timed();
        let turn = self.turns.take(holder).await?;
        let connection = self
            .pool
            .get()
            .await
            .map_err(|error| ScriptError::Retry(error.into()))?;
        Ok(Checkout::new(
            connection,
            turn,
            self.pool.clone(),
            self.connector.clone(),
        ))
    }
}
