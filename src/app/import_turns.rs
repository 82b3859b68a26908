//! Turns to work on an import of a file, which is costly for all others.
//!
//! 1. A few imports of all teams are worked on at once. Which, is a matter of who came first.
//! 2. An import reads each product that its file names. Where these are not in memory it waits for the disk, for half a
//!    minute perhaps. Teams that do so have turns apart, so that others do not wait for them.
//! 3. It may be found out in the midst of an import. Then it goes on in such a turn, if one is free: so there are never
//!    more at once, each with the memory that it takes.

use std::future::poll_fn;
use std::pin::pin;

use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};

/// The turns of all teams.
#[derive(Debug)]
pub(crate) struct ImportTurns {
    others: Semaphore,
    /// Of those who wait for the disk.
    waiting: Semaphore,
}

/// A turn to work on one import.
pub(crate) struct ImportTurn<'a, W> {
    turns: &'a ImportTurns,
    waits: W,
    is_apart: bool,
    // Nobody closes the semaphores.
    permit: Result<SemaphorePermit<'a>, AcquireError>,
}

impl ImportTurns {
    pub(crate) fn new(others: usize, waiting: usize) -> ImportTurns {
        ImportTurns {
            others: Semaphore::new(others),
            waiting: Semaphore::new(waiting),
        }
    }

    /// Waits for a turn of a team. `waits` tells whether it is likely to wait for the disk.
    pub(crate) async fn take<W: Fn() -> bool>(&self, waits: W) -> ImportTurn<'_, W> {
        let is_apart = waits();
        let of = match is_apart {
            true => &self.waiting,
            false => &self.others,
        };
        ImportTurn {
            permit: of.acquire().await,
            turns: self,
            waits,
            is_apart,
        }
    }
}

impl<W: Fn() -> bool> ImportTurn<'_, W> {
    /// Does `work`, after which the turn is over.
    pub(crate) async fn during<T>(mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            let polled = work.as_mut().poll(context);
            if polled.is_pending() {
                self.leave_others();
            }
            polled
        })
        .await
    }

    /// Step 3.
    fn leave_others(&mut self) {
        if self.is_apart || !(self.waits)() {
            return;
        }
        if let Ok(free) = self.turns.waiting.try_acquire() {
            (self.permit, self.is_apart) = (Ok(free), true);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;

    use futures::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn an_import_that_is_found_to_wait_for_the_disk_leaves_the_turn_of_the_others() {
        let turns = ImportTurns::new(1, 1);
        let found = Cell::new(false);
        let (read, is_read) = oneshot::channel();
        let slow = turns.take(|| found.get()).await;
        let mut slow = pin!(slow.during(is_read));
        assert!(slow.as_mut().now_or_never().is_none());
        assert!(turns.take(|| false).now_or_never().is_none());
        found.set(true);
        assert!(slow.as_mut().now_or_never().is_none());
        assert!(turns.take(|| false).now_or_never().is_some());
        assert!(turns.take(|| true).now_or_never().is_none());
        read.send(()).unwrap();
        slow.await.unwrap();
        assert!(turns.take(|| true).now_or_never().is_some());
    }

    #[tokio::test]
    async fn an_import_that_finds_no_turn_apart_keeps_its_own() {
        let turns = ImportTurns::new(1, 1);
        let found = Cell::new(false);
        let apart = turns.take(|| true).await;
        let slow = turns.take(|| found.get()).await;
        found.set(true);
        let mut slow = pin!(slow.during(pending::<()>()));
        assert!(slow.as_mut().now_or_never().is_none());
        assert!(turns.take(|| false).now_or_never().is_none());
        drop(apart);
        assert!(slow.as_mut().now_or_never().is_none());
        assert!(turns.take(|| false).now_or_never().is_some());
    }
}
