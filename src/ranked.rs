//! A semaphore that serves those who had little before those who had much.
//!
//! A plain semaphore serves waiters in order of arrival. Then a person with hundreds of accounts is always among the first.
//! Here each waiter has a handicap, by how much it has recently had: it waits as if it had come that much later. If too many
//! wait, the last is sent away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::HashMap;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::domain::Error;
use crate::domain::holder::Holder;

/// The permits, and the waiters.
#[derive(Debug)]
pub(crate) struct Ranked {
    room: Room,
    state: Mutex<State>,
}

/// How many may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) of_all: usize,
    /// Of one holder.
    pub(crate) of_each: usize,
}

/// By when a waiter came, with its handicap; a number tells equals apart.
type Key = (Instant, u64);

#[derive(Debug)]
struct State {
    free: usize,
    waiting: BTreeMap<Key, (Holder, oneshot::Sender<Permit>)>,
    /// The waiters of each that has some.
    of: HashMap<Holder, BTreeSet<Key>>,
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
    key: Key,
}

impl Ranked {
    /// With this many permits, and room for so many waiters.
    pub(crate) fn new(permits: usize, room: Room) -> Ranked {
        let state = State {
            free: permits,
            waiting: BTreeMap::new(),
            of: HashMap::default(),
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
        holder: Holder,
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
            state.waiting.insert(key, (holder, permit));
            state.of.entry(holder).or_default().insert(key);
            // Whoever waits for it is told.
            if let Some(last) = state.beyond(holder, self.room) {
                state.remove(last);
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

impl State {
    /// Who has to leave, now that one more of `holder` has come.
    fn beyond(&self, holder: Holder, room: Room) -> Option<Key> {
        let own = self.of.get(&holder)?;
        if own.len() > room.of_each {
            return own.last().copied();
        }
        let is_full = self.waiting.len() > room.of_all;
        let (last, _) = self.waiting.last_key_value().filter(|_| is_full)?;
        Some(*last)
    }

    fn remove(&mut self, key: Key) -> Option<oneshot::Sender<Permit>> {
        let (holder, permit) = self.waiting.remove(&key)?;
        if let Some(own) = self.of.get_mut(&holder) {
            own.remove(&key);
            if own.is_empty() {
                self.of.remove(&holder);
            }
        }
        Some(permit)
    }

    fn next(&mut self) -> Option<oneshot::Sender<Permit>> {
        let (first, _) = self.waiting.first_key_value()?;
        self.remove(*first)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.ranked.state().remove(self.key);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.of.state();
        let Some(next) = state.next() else {
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

    fn user(number: u128) -> Holder {
        Holder::User(uuid::Uuid::from_u128(number))
    }

    fn room(of_all: usize) -> Room {
        let of_each = usize::MAX;
        Room { of_all, of_each }
    }

    fn later(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[tokio::test]
    async fn whoever_had_least_goes_first_and_then_whoever_came_first() {
        let ranked = Arc::new(Ranked::new(1, room(10)));
        let taken = ranked.acquire(user(1), later(0), soon()).await.unwrap();
        let served = Mutex::new(Vec::new());
        let one = async |(had, name)| {
            let permit = ranked.acquire(user(1), later(had), soon()).await.unwrap();
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
        let ranked = Arc::new(Ranked::new(1, room(10)));
        let taken = ranked.acquire(user(1), later(0), soon()).await.unwrap();
        let mut much = Box::pin(ranked.acquire(user(1), later(2), soon()));
        assert!((&mut much).now_or_never().is_none());
        tokio::time::advance(later(1)).await;
        let mut earlier = Box::pin(ranked.acquire(user(1), later(0), soon()));
        assert!((&mut earlier).now_or_never().is_none());
        tokio::time::advance(later(2)).await;
        let mut late = Box::pin(ranked.acquire(user(1), later(0), soon()));
        assert!((&mut late).now_or_never().is_none());
        drop(taken);
        for next in [earlier, much, late] {
            drop(next.now_or_never().unwrap().unwrap());
        }
    }

    #[tokio::test]
    async fn beyond_its_room_whoever_had_most_is_told() {
        let ranked = Arc::new(Ranked::new(1, room(2)));
        let taken = ranked.acquire(user(1), later(0), soon()).await.unwrap();
        let (least, some) = (
            ranked.acquire(user(1), later(0), soon()),
            ranked.acquire(user(1), later(1), soon()),
        );
        let (mut least, mut some) = (Box::pin(least), Box::pin(some));
        assert!((&mut least).now_or_never().is_none() && (&mut some).now_or_never().is_none());
        let most = ranked
            .acquire(user(1), later(2), soon())
            .now_or_never()
            .unwrap();
        assert!(matches!(most, Err(Error::Unavailable(_))), "{most:?}");
        let mut newcomer = Box::pin(ranked.acquire(user(1), later(0), soon()));
        assert!((&mut newcomer).now_or_never().is_none());
        let some = some.now_or_never().unwrap();
        assert!(matches!(some, Err(Error::Unavailable(_))), "{some:?}");
        drop(taken);
        drop(least.await.unwrap());
        drop(newcomer.await.unwrap());
        assert_eq!(ranked.state().free, 1);
    }

    #[tokio::test]
    async fn beyond_the_room_of_one_its_last_is_told_and_others_have_theirs() {
        let room = Room {
            of_all: 3,
            of_each: 1,
        };
        let ranked = Arc::new(Ranked::new(1, room));
        let taken = ranked.acquire(user(1), later(0), soon()).await.unwrap();
        let mut one = Box::pin(ranked.acquire(user(1), later(2), soon()));
        assert!((&mut one).now_or_never().is_none());
        let mut better = Box::pin(ranked.acquire(user(1), later(1), soon()));
        assert!((&mut better).now_or_never().is_none());
        let told = one.now_or_never().unwrap();
        assert!(matches!(told, Err(Error::Unavailable(_))), "{told:?}");
        let mut other = Box::pin(ranked.acquire(user(2), later(3), soon()));
        assert!((&mut other).now_or_never().is_none());
        drop(taken);
        drop(better.now_or_never().unwrap().unwrap());
        drop(other.now_or_never().unwrap().unwrap());
        assert!(ranked.state().of.is_empty());
    }

    #[tokio::test]
    async fn whoever_stops_waiting_leaves_nothing_behind() {
        let ranked = Arc::new(Ranked::new(1, room(10)));
        let taken = ranked.acquire(user(1), later(0), soon()).await.unwrap();
        assert!(
            ranked
                .acquire(user(1), later(0), soon())
                .now_or_never()
                .is_none()
        );
        assert!(ranked.state().waiting.is_empty());
        // The permit is on its way to a waiter that has just stopped.
        let mut waits = Box::pin(ranked.acquire(user(1), later(0), soon()));
        assert!((&mut waits).now_or_never().is_none());
        drop(taken);
        drop(waits);
        assert_eq!(ranked.state().free, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_too_long_is_told() {
        let ranked = Arc::new(Ranked::new(0, room(10)));
        let late = ranked.acquire(user(1), later(0), soon()).await;
        assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
        assert!(ranked.state().waiting.is_empty());
    }
}
