//! Who makes the next part of a long answer, such as an export.
//!
//! Of all long answers few parts are made at once, and others who are ready go first: on SQLite, the thread that asks is the one
//! that reads.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;

use crate::domain::Error;

/// The turns to make parts.
#[derive(Clone)]
pub(super) struct PartTurns(Arc<Semaphore>);

impl PartTurns {
    /// So many at once.
    pub(super) fn new(at_once: usize) -> PartTurns {
        PartTurns(Arc::new(Semaphore::new(at_once)))
    }

    /// Waits for the next one, which is dropped when the part is made.
    ///
    /// # Errors
    /// [`Error::Internal`] if they were closed, which nothing does.
    pub(super) async fn next(&self) -> Result<OwnedSemaphorePermit, Error> {
        let turn = Arc::clone(&self.0).acquire_owned().await;
        yield_now().await;
        turn.map_err(Error::internal)
    }
}
