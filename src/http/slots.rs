//! How many requests are worked on at once.
//!
//! A slot is for work: a request has one while its credential is looked up, and one from the moment at which its body is
//! there until its answer is made. It has none while its body is on the way, which takes as long as its client likes;
//! [`received`](super::received) bounds those apart. When all slots are taken, the next request is refused at once: it
//! would only wait, and hold memory while it does. That the server is busy says nothing about anybody's data, so callers
//! learn it whether they are known or not, as they do when a store that does not answer cannot tell whether they are.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Error;

/// The slots of a server.
pub struct Slots(Arc<Semaphore>);

/// A slot that is taken, until it is dropped.
pub struct Slot(#[expect(dead_code, reason = "it is kept to be dropped")] OwnedSemaphorePermit);

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
        permit.map(Slot).map_err(|_| Error::Overloaded)
    }
}
