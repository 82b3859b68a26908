//! Lends connections to scripts.

use std::sync::Arc;

use deadpool_postgres::Pool;

use super::checkout::Checkout;
use super::connect::Connector;
use super::counts::Counts;
use crate::domain::holder::Holder;
use crate::sql::ScriptError;
use crate::turns::Turns;

/// The connections to one database.
pub(super) struct Connections {
    pub(super) pool: Pool,
    /// Taking a connection from the pool requires a turn.
    pub(super) turns: Turns,
    /// So does a change of a team or a user in a transaction of its own, which may wait for a lock: a turn among these, which
    /// are half as many. One person may be several holders, who wait for each other's locks.
    pub(super) changes: Turns,
    /// Once it has met a lock, a turn among these instead, which are a quarter as many. Not so an import: once it has its
    /// locks, it would keep the turn for seconds.
    pub(super) waiting_changes: Turns,
    pub(super) connector: Connector,
    pub(super) counts: Arc<Counts>,
}

impl Connections {
    /// Takes a connection, which `holder` has until it is dropped.
    ///
    /// # Errors
    /// [`ScriptError::Retry`] when none can be made; [`ScriptError::Final`] when the wait would be too long.
    pub(super) async fn checkout(&self, holder: Holder) -> Result<Checkout, ScriptError> {
        self.checkout_within(None, holder).await
    }

    /// As [`checkout`](Connections::checkout), for a change in a transaction of its own, which has perhaps met a lock before.
    ///
    /// # Errors
    /// As for [`checkout`](Connections::checkout).
    pub(super) async fn checkout_to_change(
        &self,
        holder: Holder,
        met_lock: bool,
    ) -> Result<Checkout, ScriptError> {
        let change = match holder {
            Holder::Team(_) | Holder::User(_) | Holder::Browser(_) => match met_lock {
                true => Some(&self.waiting_changes),
                false => Some(&self.changes),
            },
            Holder::Import(_) => Some(&self.changes),
            _ => None,
        };
        self.checkout_within(change, holder).await
    }

    async fn checkout_within(
        &self,
        some: Option<&Turns>,
        holder: Holder,
    ) -> Result<Checkout, ScriptError> {
        // Also counts callers that stop waiting.
        let _waited = self.counts.waits.timed();
        let among_some = match some {
            Some(turns) => Some(turns.take(holder).await?),
            None => None,
        };
        let turn = self.turns.take(holder).await?;
        let connection = self
            .pool
            .get()
            .await
            .map_err(|error| ScriptError::Retry(error.into()))?;
        Ok(Checkout::new(
            connection,
            (turn, among_some),
            self.pool.clone(),
            self.connector.clone(),
        ))
    }
}
