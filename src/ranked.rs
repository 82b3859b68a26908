//! A semaphore that serves those who had little before those who had much.
//!
//! A plain semaphore serves waiters in order of arrival. Then a person with hundreds of accounts is always among the first.
//! Here each waiter has a handicap, by how much it has recently had: it waits as if it had come that much later. Or all count as
//! having come at the same moment ([`Ranked::acquire_from`]), and the handicaps of their crowds alone say who is next.
//!
//! Waiters may be of a crowd, such as all of one site, which has a handicap of its own ([`Crowds`]). That changes while they
//! wait, as others of the crowd are served: those of one crowd keep the order that they have among themselves, however much
//! the crowd has had, and others go first. If too many wait, the last one is sent away; there, a crowd is later the more of it
//! wait ([`Crowds::crowding`]), since those have not had anything yet.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::HashMap;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::domain::Error;
use crate::domain::holder::Holder;

/// How much crowds have had.
pub(crate) trait Crowds {
    /// Identifies one.
    type Crowd: Copy + Eq + Hash + Debug;

    /// How much later all of the crowd are served, as of now.
    fn handicap(&self, crowd: Self::Crowd) -> Duration;

    /// Counts that the turn of one of the crowd has come, even if it has just gone.
    fn serves(&mut self, crowd: Self::Crowd);

    /// How much later still all of a crowd are when one is to be sent away, if so many of each crowd wait.
    fn crowding(
        waiting: impl Iterator<Item = (Self::Crowd, usize)>,
    ) -> impl Fn(Self::Crowd) -> Duration;
}

/// The permits, and the waiters.
#[derive(Debug)]
pub(crate) struct Ranked<C: Crowds> {
    room: Room,
    state: Mutex<State<C>>,
}

/// How many may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) of_all: usize,
    /// Of one holder.
    pub(crate) of_each: usize,
}

/// By when a waiter came, with its own handicap; a number tells equals apart.
type Key = (Instant, u64);

#[derive(Debug)]
struct State<C: Crowds> {
    crowds: C,
    free: usize,
    /// The waiters of each crowd that has some.
    waiting: HashMap<C::Crowd, BTreeMap<Key, Waiter<C>>>,
    /// The waiters of each holder that has some, and their crowds.
    of: HashMap<Holder, BTreeMap<Key, C::Crowd>>,
    /// How many wait.
    waiters: usize,
    came: u64,
}

#[derive(Debug)]
struct Waiter<C: Crowds> {
    holder: Holder,
    permit: oneshot::Sender<Permit<C>>,
}

/// One of the permits, held until dropped.
#[derive(Debug)]
pub(crate) struct Permit<C: Crowds> {
    /// Whether others were before it.
    pub(crate) has_waited: bool,
    of: Arc<Ranked<C>>,
}

/// Removes a waiter when dropped.
struct Waiting<'a, C: Crowds> {
    ranked: &'a Ranked<C>,
    crowd: C::Crowd,
    key: Key,
}

impl<C: Crowds> Ranked<C> {
    /// With this many permits, and room for so many waiters.
    pub(crate) fn new(permits: usize, room: Room, crowds: C) -> Ranked<C> {
        let state = State {
            crowds,
            free: permits,
            waiting: HashMap::default(),
            of: HashMap::default(),
            waiters: 0,
            came: 0,
        };
        Ranked {
            room,
            state: Mutex::new(state),
        }
    }

    /// Waits for a permit, as if the caller had come later by the `handicap`, and that of its crowd.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when none is free in time, or there is no room behind those who wait.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        holder: Holder,
        crowd: C::Crowd,
        handicap: Duration,
        deadline: Instant,
    ) -> Result<Permit<C>, Error> {
        let came = Instant::now() + handicap;
        self.acquire_from(holder, crowd, came, deadline).await
    }

    /// The same, as if the caller had come then.
    ///
    /// # Errors
    /// As for [`acquire`](Ranked::acquire).
    pub(crate) async fn acquire_from(
        self: &Arc<Self>,
        holder: Holder,
        crowd: C::Crowd,
        came: Instant,
        deadline: Instant,
    ) -> Result<Permit<C>, Error> {
        let (permit, comes) = oneshot::channel();
        let _waiting = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                state.crowds.serves(crowd);
                return Ok(Permit {
                    has_waited: false,
                    of: Arc::clone(self),
                });
            }
            state.came += 1;
            let key = (came, state.came);
            state.insert(crowd, key, Waiter { holder, permit });
            // Whoever waits for it is told.
            if let Some((crowd, last)) = state.beyond(holder, self.room) {
                state.remove(crowd, last);
            }
            Waiting {
                ranked: self,
                crowd,
                key,
            }
        };
        let permit = timeout_at(deadline, comes).await;
        let permit = permit.map_err(Error::unavailable)?;
        permit.map_err(|_| Error::unavailable("too many wait"))
    }

    /// Changes how much crowds have had.
    pub(crate) fn correct(&self, change: impl FnOnce(&mut C)) {
        change(&mut self.state().crowds);
    }

    fn state(&self) -> MutexGuard<'_, State<C>> {
        // Nothing panics while this is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Crowds> State<C> {
    /// Who has to leave, now that one more of `holder` has come.
    fn beyond(&self, holder: Holder, room: Room) -> Option<(C::Crowd, Key)> {
        let own = self.of.get(&holder)?;
        if own.len() > room.of_each {
            // Nearly all of a holder are of one crowd.
            let mut handicaps = HashMap::default();
            let last = own.iter().max_by_key(|((came, number), crowd)| {
                let handicap = handicaps.entry(**crowd);
                let handicap = handicap.or_insert_with(|| self.crowds.handicap(**crowd));
                (*came + *handicap, *number)
            });
            return last.map(|(key, crowd)| (*crowd, *key));
        }
        if self.waiters <= room.of_all {
            return None;
        }
        self.last()
    }

    fn insert(&mut self, crowd: C::Crowd, key: Key, waiter: Waiter<C>) {
        self.of.entry(waiter.holder).or_default().insert(key, crowd);
        self.waiting.entry(crowd).or_default().insert(key, waiter);
        self.waiters += 1;
    }

    fn remove(&mut self, crowd: C::Crowd, key: Key) -> Option<oneshot::Sender<Permit<C>>> {
        let of_crowd = self.waiting.get_mut(&crowd)?;
        let Waiter { holder, permit } = of_crowd.remove(&key)?;
        if of_crowd.is_empty() {
            self.waiting.remove(&crowd);
        }
        if let Some(own) = self.of.get_mut(&holder) {
            own.remove(&key);
            if own.is_empty() {
                self.of.remove(&holder);
            }
        }
        self.waiters -= 1;
        Some(permit)
    }

    fn next(&mut self) -> Option<oneshot::Sender<Permit<C>>> {
        let firsts = self.of_each_crowd(|them| them.keys().next());
        let (_, crowd, key) = firsts.min_by_key(|it| it.0)?;
        self.crowds.serves(crowd);
        self.remove(crowd, key)
    }

    fn last(&self) -> Option<(C::Crowd, Key)> {
        let lasts = self.of_each_crowd(|them| them.keys().next_back());
        let waiting = self.waiting.iter();
        let crowding = C::crowding(waiting.map(|(crowd, waiters)| (*crowd, waiters.len())));
        let last =
            lasts.max_by_key(|((came, number), crowd, _)| (*came + crowding(*crowd), *number));
        last.map(|(_, crowd, key)| (crowd, key))
    }

    /// One of each crowd, the first or the last: its rank, its crowd, and its key.
    fn of_each_crowd(
        &self,
        which: fn(&BTreeMap<Key, Waiter<C>>) -> Option<&Key>,
    ) -> impl Iterator<Item = (Key, C::Crowd, Key)> {
        self.waiting.iter().filter_map(move |(crowd, waiters)| {
            let key = which(waiters)?;
            Some((rank(*key, *crowd, &self.crowds), *crowd, *key))
        })
    }
}

/// The key, later by the handicap of the crowd.
fn rank<C: Crowds>((came, number): Key, crowd: C::Crowd, crowds: &C) -> Key {
    (came + crowds.handicap(crowd), number)
}

impl<C: Crowds> Drop for Waiting<'_, C> {
    fn drop(&mut self) {
        self.ranked.state().remove(self.crowd, self.key);
    }
}

impl<C: Crowds> Drop for Permit<C> {
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
mod tests;
