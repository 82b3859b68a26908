//! Whose list is made next.
//!
//! A page of long products takes a hundred times the processor that one product takes, most of it to compress it. Limits count
//! requests, and a team has as many of these as all its keys: it can ask for more pages than there are cores for. tokio runs
//! what is ready in the order in which it came, so everybody else would stand behind as many pages as that team has asked for
//! at once.
//!
//! So a team has [a few](Turns::on) lists made at once, and its next ones wait for these. What waits is not
//! ready, and nobody stands behind it.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::available_parallelism;

use foldhash::HashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;

use super::rejection::Error;
use crate::domain;
use crate::domain::holder::Holder;
use crate::settings::Database;

/// Who has lists made, and how many of one may be.
#[derive(Debug)]
pub(super) struct Turns {
    at_once: usize,
    /// As long as somebody has or waits for a turn.
    by: Mutex<HashMap<Holder, Weak<Semaphore>>>,
}

impl Turns {
    /// One for each core on SQLite, which is read by the core that makes the list. On PostgreSQL four, which are mostly waited
    /// for.
    pub(super) fn on(database: &Database) -> Turns {
        let cores = available_parallelism().map_or(1, usize::from);
        let each = match database {
            Database::Sqlite(_) => 1,
            Database::Postgres(_) => 4,
        };
        Turns {
            at_once: each * cores,
            by: Mutex::default(),
        }
    }

    /// The next turn of `holder`, until it is dropped.
    ///
    /// # Errors
    /// In truth never: nobody closes what is waited for.
    pub(super) async fn next(&self, holder: Holder) -> Result<OwnedSemaphorePermit, Error> {
        let turns = self.of(holder);
        if let Ok(turn) = Arc::clone(&turns).try_acquire_owned() {
            return Ok(turn);
        }
        let turn = turns.acquire_owned().await;
        // Whoever is woken goes ahead of all who are ready, and is made to go behind them.
        yield_now().await;
        turn.map_err(|error| Error::Domain(domain::Error::internal(error)))
    }

    fn of(&self, holder: Holder) -> Arc<Semaphore> {
        // Nothing panics while it is locked.
        let mut by = self.by.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turns) = by.get(&holder).and_then(Weak::upgrade) {
            return turns;
        }
        by.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::new(Semaphore::new(self.at_once));
        by.insert(holder, Arc::downgrade(&turns));
        turns
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn a_team_has_so_many_turns_and_others_have_theirs() {
        let turns = Turns::on(&Database::Sqlite("x.db".into()));
        let team = |number| Holder::Team(Uuid::from_u128(number));
        let mut taken = Vec::new();
        for _ in 0..turns.at_once {
            taken.push(turns.next(team(1)).await.unwrap());
        }
        let mut late = Box::pin(turns.next(team(1)));
        assert!((&mut late).now_or_never().is_none());
        assert!(turns.next(team(2)).now_or_never().is_some());
        taken.pop();
        drop(late.await.unwrap());
        drop(taken);
        drop(turns.next(team(3)).await);
        assert_eq!(turns.by.lock().unwrap().len(), 1);
    }
}
