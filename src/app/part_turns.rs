//! Turns to make the next part of a long answer, such as an export.
//!
//! Few parts are made at once over all long answers, and one per team or user; other tasks that are ready run first, since
//! on SQLite the thread that asks is the one that reads. A turn must not be held while waiting in a queue that one caller can
//! make long, so parts are read for [`Holder::Parts`], of which there are no more than turns. A client that reads fast asks for
//! the next part at once, so each turn is followed by a pause as long as it took: half of the time is left to others, such as
//! those who sign in, whose passwords are hashed behind all other work.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;

use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::pause::WithPause;
use crate::weak_map::WeakMap;

/// The longest pause after a turn, however long the database took.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The turns to make parts.
#[derive(Clone)]
pub(super) struct PartTurns(Arc<Shared>);

struct Shared {
    all: Arc<Semaphore>,
    /// Kept while anyone holds or waits for a turn.
    by: WeakMap<Holder, Semaphore>,
}

/// A turn to make a part, held until dropped.
#[derive(Debug)]
pub struct PartTurn {
    _of_all: WithPause<OwnedSemaphorePermit>,
    _of_holder: OwnedSemaphorePermit,
}

impl PartTurns {
    /// Allows `at_once` turns at a time.
    pub(super) fn new(at_once: usize) -> PartTurns {
        PartTurns(Arc::new(Shared {
            all: Arc::new(Semaphore::new(at_once)),
            by: WeakMap::default(),
        }))
    }

    /// Waits for `holder`'s next turn.
    ///
    /// # Errors
    /// [`Error::Internal`] if the semaphores were closed, which nothing does.
    pub(super) async fn next(&self, holder: Holder) -> Result<PartTurn, Error> {
        let of_holder = self.0.by.get(holder, || Semaphore::new(1));
        let of_holder = of_holder.acquire_owned().await.map_err(Error::internal)?;
        let all = Arc::clone(&self.0.all).acquire_owned().await;
        let all = all.map_err(Error::internal)?;
        yield_now().await;
        Ok(PartTurn {
            _of_all: WithPause::begin(all, LONGEST_PAUSE),
            _of_holder: of_holder,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use uuid::Uuid;

    use super::*;

    fn team(number: u128) -> Holder {
        Holder::Team(Uuid::from_u128(number))
    }

    #[tokio::test]
    async fn a_team_makes_one_part_at_a_time_and_all_together_as_many_as_there_are_turns() {
        let turns = PartTurns::new(2);
        let first = turns.next(team(1)).await.unwrap();
        let mut second = Box::pin(turns.next(team(1)));
        assert!((&mut second).now_or_never().is_none());
        let other = turns.next(team(2)).await.unwrap();
        let mut third = Box::pin(turns.next(team(3)));
        assert!((&mut third).now_or_never().is_none());
        drop(first);
        third.await.unwrap();
        drop(other);
        second.await.unwrap();
    }
}
