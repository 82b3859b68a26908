//! Turns to make the next part of a long answer, such as an export.
//!
//! 1. Of the long answers of one team or user, one part is made at a time.
//! 2. SQLite reads on the thread that asks, so few parts are made at once over all long answers. On PostgreSQL a part waits in
//!    the queue of its holder, which the holder can make as long as they like, and must not keep others waiting meanwhile.
//! 3. Other tasks that are ready run first.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;

use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::weak_map::WeakMap;

/// The turns to make parts.
#[derive(Clone)]
pub(super) struct PartTurns(Arc<Shared>);

struct Shared {
    /// The turns of all holders together, if they are limited.
    all: Option<Arc<Semaphore>>,
    /// Kept while anyone holds or waits for a turn.
    by: WeakMap<Holder, Semaphore>,
}

/// A turn to make a part, held until dropped.
pub struct PartTurn {
    _all: Option<OwnedSemaphorePermit>,
    _of_holder: OwnedSemaphorePermit,
}

impl PartTurns {
    /// Allows `at_once` turns of all holders at a time, or any number.
    pub(super) fn new(at_once: Option<usize>) -> PartTurns {
        PartTurns(Arc::new(Shared {
            all: at_once.map(|it| Arc::new(Semaphore::new(it))),
            by: WeakMap::default(),
        }))
    }

    /// Waits for `holder`'s next turn.
    ///
    /// # Errors
    /// [`Error::Internal`] if the semaphores were closed, which nothing does.
    pub(super) async fn next(&self, holder: Holder) -> Result<PartTurn, Error> {
        let of_holder = self.0.by.get(holder, || Semaphore::new(1));
        let of_holder = of_holder.acquire_owned().await; // step 1
        let of_holder = of_holder.map_err(Error::internal)?;
        let all = match &self.0.all {
            Some(all) => Some(Arc::clone(all).acquire_owned().await), // step 2
            None => None,
        };
        let all = all.transpose().map_err(Error::internal)?;
        yield_now().await; // step 3
        Ok(PartTurn {
            _all: all,
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
        let turns = PartTurns::new(Some(2));
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

    #[tokio::test]
    async fn where_reads_wait_elsewhere_nobody_waits_for_another_team() {
        let turns = PartTurns::new(None);
        let mut taken = Vec::new();
        for number in 0..100 {
            let next = tokio::time::timeout(std::time::Duration::ZERO, turns.next(team(number)));
            taken.push(next.await.unwrap().unwrap());
        }
        assert!(Box::pin(turns.next(team(0))).now_or_never().is_none());
    }
}
