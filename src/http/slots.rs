//! How many requests are worked on at once.
//!
//! A request has a slot from before its credential is looked up, which is work already, until its answer is made. When all
//! slots are taken, the next request is refused at once: it would only wait, and hold memory while it does. That
//! the server is busy says nothing about anybody's data, so callers learn it whether they are known or not, as they
//! do when a store that does not answer cannot tell whether they are.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Error;

/// The slots of a server.
pub struct Slots(Arc<Semaphore>);

/// A slot that is taken, until its last copy is gone.
#[derive(Clone)]
pub struct Slot(
    #[expect(dead_code, reason = "it is kept to be dropped")] Arc<OwnedSemaphorePermit>,
);

impl Slots {
    /// So many slots.
    pub fn new(slots: u32) -> Slots {
        // The setting is bounded far below what a semaphore holds.
        Slots(Arc::new(Semaphore::new(slots as usize)))
    }

    /// A slot for a request.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when all are taken.
    pub fn take(&self) -> Result<Slot, Error> {
        let permit = Arc::clone(&self.0).try_acquire_owned();
        permit
            .map(|permit| Slot(Arc::new(permit)))
            .map_err(|_| Error::Overloaded)
    }
}
