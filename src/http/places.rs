//! Places for bodies of strangers that find no room: the newest takes that of the one that has waited longest.
//!
//! Nobody can tell a body that is about to come from one that never will, except by waiting. But most bodies come in the
//! same packet as their heads, and those that are held back by an attacker do not. So whoever comes is let in, and who has
//! waited longest goes, with 503, when there is room no more:
//!
//! 1. A body that is there already is taken, however many come at that moment ([`Place::unless_taken`]).
//! 2. One that comes a moment later is taken unless so many have come in that moment that they fill all places: with
//!    the default settings ninety of the largest, so that it takes two thousand requests a second, of two hundred
//!    addresses, to shut out bodies that come 50 ms behind their heads.
//! 3. Who was displaced holds its memory until its task runs again, which is before most of those that came later run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// So many bytes for bodies on the way, for whoever came last.
#[derive(Clone)]
pub(super) struct Places(Arc<Shared>);

struct Shared {
    whole: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: usize,
    /// How many places were taken so far.
    taken: u64,
    /// In the order in which they were taken: the bytes, and what ends when another takes the place.
    places: BTreeMap<u64, (usize, oneshot::Sender<()>)>,
}

/// A place, until it is dropped or another takes it.
pub(super) struct Place {
    shared: Arc<Shared>,
    number: u64,
    displaced: oneshot::Receiver<()>,
}

impl Places {
    /// So many bytes, of which none are held.
    pub(super) fn new(whole: usize) -> Places {
        Places(Arc::new(Shared {
            whole,
            state: Mutex::default(),
        }))
    }

    /// The bytes that are held, and how many may be.
    pub(super) fn state(&self) -> (usize, usize) {
        (self.0.state().held, self.0.whole)
    }

    /// A place of so many bytes, taken from those who have waited longest if it must be; `None` when it is more than all.
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
    /// What `work` gives; `None` when another takes the place before that is there.
    pub(super) async fn unless_taken<T>(mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            // What is there is never refused.
            biased;
            done = work => Some(done),
            _ = &mut self.displaced => None,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        // Who was displaced has none.
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
