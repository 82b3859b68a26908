//! Places for bodies of strangers that find no room: the newest takes the place of the one that has waited longest.
//!
//! Only waiting can tell a body that is about to arrive from one that never will. But most bodies come in the same packet as
//! their heads, and those that an attacker holds back do not. So every new one is let in, and when there is no more room,
//! the one that has waited longest goes, with 503:
//!
//! 1. A body that has already arrived is accepted, however many come at that moment ([`Place::unless_taken`]).
//! 2. One that arrives a moment later is accepted unless enough have come in that moment to fill all places: with the
//!    default settings ninety of the largest, so it takes two thousand requests a second, from two hundred addresses, to
//!    shut out bodies that arrive 50 ms after their heads.
//! 3. A displaced request holds its memory until its task runs again, which is before most of the later ones run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A number of bytes for bodies on the way, given to the newest.
#[derive(Clone)]
pub(super) struct Places(Arc<Shared>);

struct Shared {
    whole: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: usize,
    /// How many places have been taken so far.
    taken: u64,
    /// In the order in which they were taken: the bytes, and a channel that closes when another takes the place.
    places: BTreeMap<u64, (usize, oneshot::Sender<()>)>,
}

/// A place, until it is dropped or another takes it.
pub(super) struct Place {
    shared: Arc<Shared>,
    number: u64,
    displaced: oneshot::Receiver<()>,
}

impl Places {
    /// Returns places of `whole` bytes, none of them held.
    pub(super) fn new(whole: usize) -> Places {
        Places(Arc::new(Shared {
            whole,
            state: Mutex::default(),
        }))
    }

    /// Returns the bytes that are held, and how many may be.
    pub(super) fn state(&self) -> (usize, usize) {
        (self.0.state().held, self.0.whole)
    }

    /// Takes a place of `bytes` bytes, from those that have waited longest if necessary; `None` if that is more than all
    /// have.
    pub(super) fn take(&self, bytes: usize) -> Option<Place> {
        let shared = &self.0;
        if bytes > shared.whole {
            return None;
        }
        let mut state = shared.state();
        while state.held + bytes > shared.whole {
            let (_, (freed, _displaces)) = state.places.pop_first()?;
            state.held -= freed;
        }
        let (displaces, displaced) = oneshot::channel();
        let number = state.taken;
        state.taken += 1;
        state.held += bytes;
        state.places.insert(number, (bytes, displaces));
        Some(Place {
            shared: Arc::clone(shared),
            number,
            displaced,
        })
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Returns the result of `work`, or `None` if another takes the place first.
    pub(super) async fn unless_taken<T>(mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            // What has arrived is never refused.
            biased;
            done = work => Some(done),
            _ = &mut self.displaced => None,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        // A displaced place is no longer there.
        if let Some((bytes, _displaces)) = state.places.remove(&self.number) {
            state.held -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::FutureExt as _;

    use super::*;

    fn is_taken(place: Place) -> bool {
        place.unless_taken(pending::<()>()).now_or_never().is_some()
    }

    #[test]
    fn the_newest_takes_the_places_of_those_who_have_waited_longest() {
        let places = Places::new(100);
        let [first, second, third] = [40, 40, 20].map(|bytes| places.take(bytes).unwrap());
        let newest = places.take(50).unwrap();
        assert!(is_taken(first) && is_taken(second));
        assert!(!is_taken(third) && !is_taken(newest));
        let state = places.0.state();
        assert_eq!((state.held, state.places.len()), (0, 0));
    }

    #[test]
    fn what_is_there_is_given_even_by_who_was_displaced() {
        let places = Places::new(100);
        let first = places.take(100).unwrap();
        let _newest = places.take(1).unwrap();
        assert_eq!(first.unless_taken(ready(1)).now_or_never(), Some(Some(1)));
    }

    #[test]
    fn more_than_all_is_refused_and_displaces_nobody() {
        let places = Places::new(100);
        let first = places.take(100).unwrap();
        assert!(places.take(101).is_none());
        assert!(!is_taken(first));
    }
}
