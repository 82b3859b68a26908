//! Turns to make the next part of a long answer, such as an export.
//!
//! Few parts are made at once over all long answers, and one per team or user. The next is for the one that had
//! [fewer](Turns), so an answer now and then does not wait behind those of a whole team, of whom each is another user. Other
//! tasks that are ready run first, since on SQLite the thread that asks is the one that reads. A turn must not be held while
//! waiting in a queue that one caller can make long, so parts are read for [`Holder::Parts`], and each in a turn: of these
//! there are no more than connections that this holder may have, so no part waits there for others.
//!
//! A part may have to wait for the disk. So whose parts have waited for long take turns with each other, apart from the rest.
//!
//! A client that reads fast asks for the next part at once, so each turn is followed by a pause, for so long that all parts
//! together keep at most half of the cores busy. The rest is left to others, such as those who sign in, whose passwords are
//! hashed behind all other work. What counts is how long the part itself [was busy](BusyTime). That it waited for the
//! database does not, since others could go on; nor does what other tasks do for it, as those that decrypt and send.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::pause::{BusyTime, OthersFirst, keep_for};
use crate::turns::{Turn, Turns};
use crate::weak_map::WeakMap;

/// The longest pause after a turn, however long it was busy.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long a turn is busy before others have theirs.
const SHORT: Duration = Duration::from_millis(2);

/// Turns of those whose parts wait for long.
const WAITING: usize = 2;

/// A part that waits for this long, such as for a disk, keeps others waiting.
const LONG: Duration = Duration::from_millis(20);

/// For how long it counts that parts of a holder did.
const REMEMBERED: Duration = Duration::from_secs(10);

/// How many of these holders are remembered at most.
const HOLDERS: usize = 10_000;

/// The turns to make parts.
#[derive(Clone)]
pub(super) struct PartTurns(Arc<Shared>);

struct Shared {
    all: Turns,
    is_one: bool,
    /// Of those whose parts wait for long.
    waiting: Turns,
    /// Until when these have their turns there.
    waited: Mutex<HashMap<Holder, Instant>>,
    /// How much longer the pause after a turn is than the turn was busy.
    pause: f64,
    /// Kept while anyone holds or waits for a turn.
    by: WeakMap<Holder, Semaphore>,
    others_first: OthersFirst,
}

/// A turn to make a part, held until dropped.
pub(super) struct PartTurn {
    of_all: Option<Turn>,
    _of_holder: OwnedSemaphorePermit,
    shared: Arc<Shared>,
    holder: Holder,
    begun: Instant,
    busy: BusyTime,
    busy_before: Duration,
    pause: f64,
}

impl PartTurns {
    /// Allows `at_once` turns at a time, all together busy half of the time of so many `cores`. Where it is one, there are
    /// [two](WAITING) more of those whose parts wait for long.
    pub(super) fn new(at_once: usize, cores: usize) -> PartTurns {
        // How much of a turn and its pause together may be busy; beyond all of it there is no pause.
        let share = cores as f64 / (2 * at_once) as f64;
        PartTurns(Arc::new(Shared {
            all: Turns::new(at_once, &Arc::default()),
            is_one: at_once == 1,
            waiting: Turns::new(WAITING, &Arc::default()),
            waited: Mutex::default(),
            pause: (1.0 / share - 1.0).max(0.0),
            by: WeakMap::default(),
            others_first: OthersFirst::default(),
        }))
    }

    /// Waits for `holder`'s next turn, in work that `busy` measures.
    ///
    /// # Errors
    /// [`Error::Internal`] if the semaphore was closed, which nothing does.
    pub(super) async fn next(&self, holder: Holder, busy: &BusyTime) -> Result<PartTurn, Error> {
        let of_holder = self.0.by.get(holder, || Semaphore::new(1));
        let of_holder = of_holder.acquire_owned().await.map_err(Error::internal)?;
        let of = match self.0.is_one && self.0.waits(holder) {
            true => &self.0.waiting,
            false => &self.0.all,
        };
        // Nothing else of this holder waits, so this is not refused.
        let of_all = of.take(holder).await?;
        self.0.others_first.pause().await;
        Ok(PartTurn {
            of_all: Some(of_all),
            _of_holder: of_holder,
            shared: Arc::clone(&self.0),
            holder,
            begun: Instant::now(),
            busy: busy.clone(),
            busy_before: busy.so_far(),
            pause: self.0.pause,
        })
    }

    /// Makes a part in `holder`'s next turn.
    ///
    /// # Errors
    /// Those of `part`.
    pub(super) async fn make<T>(
        &self,
        holder: Holder,
        part: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let busy = BusyTime::default();
        let _turn = self.next(holder, &busy).await?;
        busy.measure(part).await
    }
}

impl Shared {
    /// Whether parts of `holder` have waited for long lately.
    fn waits(&self, holder: Holder) -> bool {
        let until = self.waited().get(&holder).copied();
        until.is_some_and(|until| Instant::now() < until)
    }

    fn has_waited(&self, holder: Holder) {
        let (now, mut waited) = (Instant::now(), self.waited());
        if waited.len() >= HOLDERS {
            waited.retain(|_, until| now < *until);
        }
        if waited.len() < HOLDERS {
            waited.insert(holder, now + REMEMBERED);
        }
    }

    fn waited(&self) -> MutexGuard<'_, HashMap<Holder, Instant>> {
        // Nothing panics while it is locked.
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartTurn {
    /// How long it was busy until now.
    fn was_busy(&self) -> Duration {
        self.busy.so_far().saturating_sub(self.busy_before)
    }

    /// Whether it has waited until now for as long as keeps others waiting.
    fn has_waited(&self) -> bool {
        self.begun.elapsed().saturating_sub(self.was_busy()) >= LONG
    }

    /// Whether others need not have theirs yet.
    pub(super) fn is_short(&self) -> bool {
        self.was_busy() < SHORT && !self.has_waited()
    }
}

impl Drop for PartTurn {
    fn drop(&mut self) {
        if self.has_waited() {
            self.shared.has_waited(self.holder);
        }
        let pause = self.was_busy().mul_f64(self.pause).min(LONGEST_PAUSE);
        keep_for(pause, self.of_all.take());
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::join_all;
    use tokio::time::{Instant, advance, sleep};
    use uuid::Uuid;

    use super::*;

    fn team(number: u128) -> Holder {
        Holder::Team(Uuid::from_u128(number))
    }

    #[tokio::test]
    async fn a_team_makes_one_part_at_a_time_and_all_together_as_many_as_there_are_turns() {
        let turns = PartTurns::new(2, 2);
        let busy = BusyTime::default();
        let first = turns.next(team(1), &busy).await.unwrap();
        let mut second = Box::pin(turns.next(team(1), &busy));
        assert!((&mut second).now_or_never().is_none());
        let other = turns.next(team(2), &busy).await.unwrap();
        let mut third = Box::pin(turns.next(team(3), &busy));
        assert!((&mut third).now_or_never().is_none());
        drop(first);
        third.await.unwrap();
        drop(other);
        second.await.unwrap();
    }

    /// How many milliseconds one of the turns is unused after a part that waited, and was busy, for so many.
    async fn pause(at_once: usize, cores: usize, waits: u64, busy: u64) -> u128 {
        let turns = PartTurns::new(at_once, cores);
        let [waits, half] = [waits, busy / 2].map(Duration::from_millis);
        let part = async {
            advance(half).await;
            sleep(waits).await;
            advance(half).await;
            Ok(())
        };
        turns.make(team(0), part).await.unwrap();
        let ended = Instant::now();
        let others = BusyTime::default();
        let all = (1..=at_once).map(|it| turns.next(team(it as u128), &others));
        let _all = join_all(all).await;
        ended.elapsed().as_millis()
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_as_long_as_the_part_was_busy_however_long_it_waited() {
        assert_eq!(pause(1, 1, 0, 400).await, 400);
        assert_eq!(pause(1, 1, 10_000, 400).await, 400);
        assert_eq!(pause(1, 1, 0, 10_000).await, 1_000, "the longest");
    }

    #[tokio::test(start_paused = true)]
    async fn all_parts_together_keep_half_of_the_cores_busy() {
        assert_eq!(pause(8, 2, 50, 100).await, 700, "an eighth of the time");
        assert_eq!(pause(12, 8, 50, 100).await, 200, "a third");
        assert_eq!(pause(12, 32, 50, 100).await, 0, "all of it");
    }

    #[tokio::test(start_paused = true)]
    async fn whose_parts_wait_for_long_keeps_none_of_the_turns_of_the_others() {
        let turns = PartTurns::new(1, 1);
        let long = async || {
            sleep(10 * LONG).await;
            Ok(())
        };
        turns.make(team(1), long()).await.unwrap();
        let mut second = Box::pin(turns.make(team(1), long()));
        assert!((&mut second).now_or_never().is_none());
        let begun = Instant::now();
        turns.make(team(2), async { Ok(()) }).await.unwrap();
        assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
        second.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_short_until_it_was_busy_or_has_waited() {
        let turns = PartTurns::new(1, 1);
        let busy = BusyTime::default();
        let turn = turns.next(team(1), &busy).await.unwrap();
        assert!(turn.is_short());
        advance(LONG).await;
        assert!(!turn.is_short());
        drop(turn);
        let turn = turns.next(team(2), &busy).await.unwrap();
        busy.measure(advance(SHORT)).await;
        assert!(!turn.is_short());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_ends_while_its_work_goes_on_counts_what_was_busy_in_it() {
        let turns = PartTurns::new(1, 1);
        let busy = BusyTime::default();
        let work = async {
            advance(Duration::from_millis(500)).await;
            let turn = turns.next(team(1), &busy).await;
            let _ = advance(Duration::from_millis(100)).now_or_never();
            drop(turn);
            let ended = Instant::now();
            let _next = turns.next(team(1), &busy).await;
            ended.elapsed().as_millis()
        };
        assert_eq!(busy.measure(work).await, 100);
    }
}
