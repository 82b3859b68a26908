//! Lends connections to scripts.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Object, Pool, PoolError};
use tokio::time::{sleep, timeout};

use super::checkout::Checkout;
use super::connect::{self, Connector};
use super::counts::Counts;
use super::slots::{Purpose, Slots};
use super::slow::Slow;
use crate::domain::holder::Holder;
use crate::sql::ScriptError;

/// How long a server that admits not a single connection is left alone.
const WITHOUT_ANY: Duration = Duration::from_millis(100);

/// How long a change that has the last connection waits for one for reads. A server that does not answer keeps it no longer.
const FOR_READS_WITHIN: Duration = Duration::from_secs(1);

/// The connections to one database.
pub(super) struct Connections {
    pub(super) pool: Pool,
    pub(super) slots: Arc<Slots>,
    pub(super) connector: Connector,
    pub(super) slow: Arc<Slow>,
    pub(super) counts: Arc<Counts>,
}

impl Connections {
    /// Takes a connection, which `holder` has until it is dropped.
    ///
    /// # Errors
    /// [`ScriptError::Retry`] when none can be made; [`ScriptError::Final`] when the wait would be too long.
    pub(super) async fn checkout(
        &self,
        holder: Holder,
        purpose: Purpose,
    ) -> Result<Checkout, ScriptError> {
        // Also counts callers that stop waiting.
        let _waited = self.counts.waits.timed();
        loop {
            let mut slot = self.slots.take(holder, purpose).await?;
            let connection = match self.pool.get().await {
                Ok(connection) => connection,
                Err(error) if has_no_slot(&error) => {
                    if !self.slots.none_left(self.size()) {
                        // With the only turn, so that nobody else asks meanwhile.
                        sleep(WITHOUT_ANY).await;
                        return Err(ScriptError::Retry(error.into()));
                    }
                    self.counts.retries.one();
                    continue;
                }
                Err(error) => return Err(ScriptError::Retry(error.into())),
            };
            self.note_new(&connection);
            if !self.slots.leaves_one(&mut slot, self.size()) && !self.makes_one_for_reads().await {
                self.counts.retries.one();
                continue;
            }
            return Ok(Checkout::new(
                connection,
                slot,
                self.pool.clone(),
                self.connector.clone(),
                Arc::clone(&self.slots),
            ));
        }
    }

    /// Step 5 of the [slots](super::slots), where changes have all connections. Returns whether they may.
    async fn makes_one_for_reads(&self) -> bool {
        match timeout(FOR_READS_WITHIN, self.pool.get()).await {
            Ok(Ok(connection)) => self.note_new(&connection),
            Ok(Err(error)) if has_no_slot(&error) => {
                self.slots.none_left(self.size());
                return self.slots.is_only_one();
            }
            // It is met by reads, too, whatever changes do.
            Ok(Err(_)) | Err(_) => {}
        }
        true
    }

    fn note_new(&self, connection: &Object) {
        if Object::metrics(connection).recycle_count == 0 {
            self.slots.one_more();
        }
    }

    /// How many connections the pool has.
    fn size(&self) -> usize {
        self.pool.status().size
    }
}

fn has_no_slot(error: &PoolError) -> bool {
    matches!(error, PoolError::Backend(error) if connect::has_no_slot(error))
}
