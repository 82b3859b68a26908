//! Places for bodies of strangers that find no room: a new one takes the place of one that has waited longest.
//!
//! Only waiting can tell a body that is about to arrive from one that never will. But most bodies come in the same packet as
//! their heads, and those that an attacker holds back do not. So every new one is let in, and when there is no more room,
//! another goes, with 503:
//!
//! 1. A body that has already arrived is accepted, however many come at that moment ([`Place::unless_taken`]), unless it is
//!    such that its check [has to wait](super::checks), too.
//! 2. One that arrives later is accepted while its site (IPv4 /24, IPv6 /48) has less there than another: of the site that
//!    has most, the one goes that has waited longest. A person may have all addresses of a few sites.
//! 3. A displaced request holds its memory until its task runs again, which is before most of the later ones run.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use ipnet::IpNet;
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
    /// Of each site, in the order in which they were taken: the bytes, and a channel that closes when another takes the place.
    of_sites: HashMap<IpNet, BTreeMap<u64, (usize, oneshot::Sender<()>)>>,
}

/// A place, until it is dropped or another takes it.
pub(super) struct Place {
    shared: Arc<Shared>,
    site: IpNet,
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

    /// Takes a place of `bytes` bytes for somebody of this site, from others if necessary: step 2. `None` if that is more
    /// than all have.
    pub(super) fn take(&self, site: IpNet, bytes: usize) -> Option<Place> {
        let shared = &self.0;
        if bytes > shared.whole {
            return None;
        }
        let mut state = shared.state();
        let (displaces, displaced) = oneshot::channel();
        let number = state.taken;
        state.taken += 1;
        state.held += bytes;
        let its = state.of_sites.entry(site).or_default();
        its.insert(number, (bytes, displaces));
        while state.held > shared.whole && state.displace_one(number) {}
        Some(Place {
            shared: Arc::clone(shared),
            site,
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

impl State {
    /// Frees the place that has been held longest at the site that has most, of all but the `newest`; returns whether there
    /// was one.
    fn displace_one(&mut self, newest: u64) -> bool {
        let sites = self.of_sites.iter().filter_map(|(site, its)| {
            let oldest = its.keys().next().filter(|it| **it != newest)?;
            Some((its.len(), Reverse(*oldest), *site))
        });
        let Some((_, Reverse(oldest), site)) = sites.max() else {
            return false;
        };
        self.free(site, oldest);
        true
    }

    /// Frees a place, if it is still held.
    fn free(&mut self, site: IpNet, number: u64) {
        let Entry::Occupied(mut its) = self.of_sites.entry(site) else {
            return;
        };
        if let Some((bytes, _displaces)) = its.get_mut().remove(&number) {
            self.held -= bytes;
        }
        if its.get().is_empty() {
            its.remove();
        }
    }
}

impl Place {
    /// Returns the result of `work`, or `None` if another takes the place first.
    pub(super) async fn unless_taken<T>(mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            // Step 1.
            biased;
            done = work => Some(done),
            _ = &mut self.displaced => None,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.state().free(self.site, self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::FutureExt as _;
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;
    use crate::client_address::surroundings;

    fn site(number: u8) -> IpNet {
        surroundings([192, 0, number, 1].into())
    }

    fn is_taken(place: &mut Place) -> bool {
        place
            .displaced
            .try_recv()
            .is_err_and(|it| it == TryRecvError::Closed)
    }

    #[test]
    fn the_newest_takes_the_places_of_those_of_its_site_who_have_waited_longest() {
        let places = Places::new(100);
        let mut held = [40, 40, 20, 50].map(|bytes| places.take(site(1), bytes).unwrap());
        let taken = held.each_mut().map(is_taken);
        assert_eq!(taken, [true, true, false, false]);
        assert_eq!(places.state(), (70, 100));
        drop(held);
        assert_eq!(places.state(), (0, 100));
        assert!(places.0.state().of_sites.is_empty());
    }

    #[test]
    fn a_site_loses_places_to_others_only_while_it_has_most() {
        let places = Places::new(200);
        let mut few = places.take(site(1), 20).unwrap();
        let mut many: Vec<_> = (0..100)
            .map(|number| places.take(site(2 + number % 3), 20).unwrap())
            .collect();
        assert!(!is_taken(&mut few));
        let left: usize = many.iter_mut().map(|it| usize::from(!is_taken(it))).sum();
        assert_eq!(left, 9);
        let mut more = places.take(site(1), 20).unwrap();
        assert!(!is_taken(&mut few) && !is_taken(&mut more));
    }

    #[test]
    fn what_is_there_is_given_even_by_who_was_displaced() {
        let places = Places::new(100);
        let first = places.take(site(1), 100).unwrap();
        let _newest = places.take(site(1), 1).unwrap();
        assert_eq!(first.unless_taken(ready(1)).now_or_never(), Some(Some(1)));
        let second = places.take(site(1), 100).unwrap();
        let _newest = places.take(site(1), 1).unwrap();
        assert_eq!(
            second.unless_taken(pending::<()>()).now_or_never(),
            Some(None)
        );
    }

    #[test]
    fn more_than_all_is_refused_and_displaces_nobody() {
        let places = Places::new(100);
        let mut first = places.take(site(1), 100).unwrap();
        assert!(places.take(site(2), 101).is_none());
        assert!(!is_taken(&mut first));
    }
}
