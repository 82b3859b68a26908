//! What runs besides the requests: expired rows are deleted, uses of keys and sessions are recorded, and
//! sealed pairs of tokens are erased.
//!
//! Nothing depends on it being done in time. What has expired counts as absent from that moment on,
//! whether or not its row is still there.
//!
//! A deletion goes in bounded steps, each a change of its own: it takes its turn among the requests and
//! never holds them up for longer than any other change.

use std::time::Duration;

use slog::{Logger, warn};
use tokio::time::MissedTickBehavior;

use super::App;
use crate::domain::Error;

/// Rows deleted in one step: a few milliseconds of work.
const STEP: u32 = 500;

/// How often expired rows are looked for.
const CLEANUP_EVERY: Duration = Duration::from_secs(60);

/// How often sealed pairs are erased, whose grace lasts 30 seconds.
const ERASE_EVERY: Duration = Duration::from_secs(5);

/// How often noted uses are recorded; they are kept to the minute.
const RECORD_USES_EVERY: Duration = Duration::from_secs(10);

impl App {
    /// Runs for ever; whoever serves requests runs this beside them, drops it to stop, and calls
    /// [`App::record_uses`] once more at the end. Failures are logged and tried again.
    pub async fn run_background_tasks(&self, log: &Logger) {
        let erase = async || self.erase_successors().await;
        let record = async || self.record_uses().await;
        let delete = async || self.delete_expired().await;
        // Beside each other: a long deletion must not keep sealed pairs from being erased.
        tokio::join!(
            repeat(ERASE_EVERY, "erasing sealed pairs", log, erase),
            repeat(RECORD_USES_EVERY, "recording uses", log, record),
            repeat(CLEANUP_EVERY, "deleting expired rows", log, delete),
        );
    }

    /// Deletes everything that has expired, step by step.
    ///
    /// # Errors
    /// What the store answers; what was deleted until then stays deleted.
    pub async fn delete_expired(&self) -> Result<(), Error> {
        let now = self.now();
        while self.store.delete_idempotency_records(now, STEP).await? == STEP {}
        while self.store.delete_expired_sessions(now, STEP).await? == STEP {}
        Ok(())
    }

    /// Erases the sealed pairs whose grace has ended ([`super::session`], R6).
    ///
    /// # Errors
    /// What the store answers; what was erased until then stays erased.
    pub async fn erase_successors(&self) -> Result<(), Error> {
        let now = self.now();
        while self.store.erase_successors(now, STEP).await? == STEP {}
        Ok(())
    }
}

/// Runs a task now and then every `period`; after a long run it waits, instead of catching up.
async fn repeat(
    period: Duration,
    name: &str,
    log: &Logger,
    task: impl AsyncFn() -> Result<(), Error>,
) {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        if let Err(error) = task().await {
            let cause = error
                .cause()
                .map_or_else(|| error.to_string(), ToString::to_string);
            warn!(log, "a background task failed and will be tried again"; "task" => name, "error" => cause);
        }
    }
}
