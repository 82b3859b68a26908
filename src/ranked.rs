//! A semaphore that serves those who had little before those who had much.
//!
//! A plain semaphore serves waiters in order of arrival. Then a person with hundreds of accounts is always among the first.
//! Here each waiter has a handicap, by how much it has recently had: it waits as if it had come that much later. So nobody
//! waits forever behind others who had less, however many of these there are. If too many wait, the last is sent away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::domain::Error;

/// The permits, and the waiters.
#[derive(Debug)]
pub(crate) struct Ranked {
    /// How many may wait.
    room: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// By when they came, with their handicaps; a number tells equals apart.
    waiting: BTreeMap<(Instant, u64), oneshot::Sender<Permit>>,
    came: u64,
}

/// One of the permits, held until dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    /// Whether others were before it.
    pub(crate) has_waited: bool,
    of: Arc<Ranked>,
}

/// Removes a waiter when dropped.
struct Waiting<'a> {
    ranked: &'a Ranked,
    key: (Instant, u64),
}

impl Ranked {
    /// With this many permits, and room for so many waiters.
    pub(crate) fn new(permits: usize, room: usize) -> Ranked {
        let state = State {
            free: permits,
            waiting: BTreeMap::new(),
            came: 0,
        };
        Ranked {
            room,
            state: Mutex::new(state),
        }
    }

    /// Waits for a permit, as if the caller had come later by the `handicap`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when none is free in time, or there is no room behind those who wait.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        handicap: Duration,
        deadline: Instant,
    ) -> Result<Permit, Error> {
        let (permit, comes) = oneshot::channel();
        let _waiting = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return Ok(Permit {
                    has_waited: false,
                    of: Arc::clone(self),
                });
            }
            state.came += 1;
            let key = (Instant::now() + handicap, state.came);
            state.waiting.insert(key, permit);
            if state.waiting.len() > self.room {
                // Whoever waits for it is told.
                state.waiting.pop_last();
            }
            Waiting { ranked: self, key }
        };
        let permit = timeout_at(deadline, comes).await;
        let permit = permit.map_err(Error::unavailable)?;
        permit.map_err(Error::unavailable)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while this is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.ranked.state().waiting.remove(&self.key);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.of.state();
        let Some((_, next)) = state.waiting.pop_first() else {
            state.free += 1;
            return;
        };
        drop(state);
        let permit = Permit {
            has_waited: true,
            of: Arc::clone(&self.of),
        };
        // A waiter that is gone drops the permit, which passes it on to the next.
        drop(next.send(permit));
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::{join, join_all};

    use super::*;

    fn later(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[tokio::test]
    async fn whoever_had_least_goes_first_and_then_whoever_came_first() {
        let ranked = Arc::new(Ranked::new(1, 10));
        let taken = ranked.acquire(later(0), soon()).await.unwrap();
        let served = Mutex::new(Vec::new());
        let one = async |(had, name)| {
            let permit = ranked.acquire(later(had), soon()).await.unwrap();
            served.lock().unwrap().push(name);
            drop(permit);
        };
        let all = [(2, "a"), (0, "b"), (1, "c"), (0, "d")].map(one);
        join(join_all(all), async { drop(taken) }).await;
        assert_eq!(served.into_inner().unwrap(), ["b", "d", "c", "a"]);
        assert_eq!(ranked.state().free, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_had_much_waits_for_those_who_come_in_that_time_and_for_no_others() {
        let ranked = Arc::new(Ranked::new(1, 10));
        let taken = ranked.acquire(later(0), soon()).await.unwrap();
        let mut much = Box::pin(ranked.acquire(later(2), soon()));
        assert!((&mut much).now_or_never().is_none());
        tokio::time::advance(later(1)).await;
        let mut earlier = Box::pin(ranked.acquire(later(0), soon()));
        assert!((&mut earlier).now_or_never().is_none());
        tokio::time::advance(later(2)).await;
        let mut late = Box::pin(ranked.acquire(later(0), soon()));
        assert!((&mut late).now_or_never().is_none());
        drop(taken);
        for next in [earlier, much, late] {
            drop(next.now_or_never().unwrap().unwrap());
        }
    }

    #[tokio::test]
    async fn beyond_its_room_whoever_had_most_is_told() {
        let ranked = Arc::new(Ranked::new(1, 2));
        let taken = ranked.acquire(later(0), soon()).await.unwrap();
        let (least, some) = (
            ranked.acquire(later(0), soon()),
            ranked.acquire(later(1), soon()),
        );
        let (mut least, mut some) = (Box::pin(least), Box::pin(some));
        assert!((&mut least).now_or_never().is_none() && (&mut some).now_or_never().is_none());
        let most = ranked.acquire(later(2), soon()).now_or_never().unwrap();
        assert!(matches!(most, Err(Error::Unavailable(_))), "{most:?}");
        let mut newcomer = Box::pin(ranked.acquire(later(0), soon()));
        assert!((&mut newcomer).now_or_never().is_none());
        let some = some.now_or_never().unwrap();
        assert!(matches!(some, Err(Error::Unavailable(_))), "{some:?}");
        drop(taken);
        drop(least.await.unwrap());
        drop(newcomer.await.unwrap());
        assert_eq!(ranked.state().free, 1);
    }

    #[tokio::test]
    async fn whoever_stops_waiting_leaves_nothing_behind() {
        let ranked = Arc::new(Ranked::new(1, 10));
        let taken = ranked.acquire(later(0), soon()).await.unwrap();
        assert!(ranked.acquire(later(0), soon()).now_or_never().is_none());
        assert!(ranked.state().waiting.is_empty());
        // The permit is on its way to a waiter that has just stopped.
        let mut waits = Box::pin(ranked.acquire(later(0), soon()));
        assert!((&mut waits).now_or_never().is_none());
        drop(taken);
        drop(waits);
        assert_eq!(ranked.state().free, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_too_long_is_told() {
        let ranked = Arc::new(Ranked::new(0, 10));
        let late = ranked.acquire(later(0), soon()).await;
        assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
        assert!(ranked.state().waiting.is_empty());
    }
}
