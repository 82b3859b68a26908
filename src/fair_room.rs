//! Room for strangers who wait, in which none can take all of it.
//!
//! A person may have all addresses of a site (IPv4 /24, IPv6 /48), and all sites of a block (IPv4 /20, IPv6 /29). When there is
//! no room left:
//!
//! 1. One of the block that has most of it is sent away, unless the block of whoever comes would then have as much.
//! 2. If that is so, one of the same block is sent away, in the same way by sites.
//! 3. It is the newest at the site that has most of the block's, and of such sites the one that came last.
//!
//! So somebody else finds room until there is no more than one of each block, and only whoever is alone in its block is never
//! sent away. A block or site that is alone may have all of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use ipnet::IpNet;
use tokio::sync::oneshot;

use crate::client_address::block;
use crate::domain::Error;

/// Room for so many.
#[derive(Debug)]
pub(crate) struct FairRoom {
    size: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    came: u64,
    /// Those of each site, in the order in which they came. Dropping one sends it away.
    of_sites: HashMap<IpNet, BTreeMap<u64, oneshot::Sender<()>>>,
}

/// One's place in the room, kept until dropped.
#[derive(Debug)]
pub(crate) struct Place {
    room: Arc<FairRoom>,
    site: IpNet,
    number: u64,
    sent_away: oneshot::Receiver<()>,
}

/// There was no room, or no longer.
#[derive(Debug)]
pub(crate) struct SentAway;

impl From<SentAway> for Error {
    fn from(_: SentAway) -> Error {
        Error::unavailable("too many wait, and no other block or site has more")
    }
}

impl FairRoom {
    /// For this many.
    pub(crate) fn new(size: usize) -> FairRoom {
        FairRoom {
            size,
            state: Mutex::default(),
        }
    }

    /// Takes a place for somebody of this site.
    ///
    /// # Errors
    /// [`SentAway`] when there is no room.
    pub(crate) fn enter(self: &Arc<Self>, site: IpNet) -> Result<Place, SentAway> {
        let mut state = self.state();
        if state.taken >= self.size {
            state.send_one_away(site)?;
        }
        let (here, sent_away) = oneshot::channel();
        state.came += 1;
        state.taken += 1;
        let number = state.came;
        let its = state.of_sites.entry(site).or_default();
        its.insert(number, here);
        Ok(Place {
            room: Arc::clone(self),
            site,
            number,
            sent_away,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Makes room for one more of this site.
    fn send_one_away(&mut self, for_one_of: IpNet) -> Result<(), SentAway> {
        let own = block(for_one_of);
        let crowded = self.crowded_block(own);
        // Step 2 compares sites; in step 1, any of the other block may leave.
        let spared = match crowded == own {
            true => self.of_sites.get(&for_one_of).map_or(0, BTreeMap::len) + 1,
            false => 0,
        };
        let of_sites = self.of_sites.iter();
        let (_, newest, site) = of_sites
            .filter(|(site, its)| block(**site) == crowded && its.len() > spared)
            .filter_map(|(site, its)| Some((its.len(), *its.keys().next_back()?, *site)))
            .max()
            .ok_or(SentAway)?;
        self.remove(site, newest);
        Ok(())
    }

    /// The block from which one leaves for one of the block `own`: step 1.
    fn crowded_block(&self, own: IpNet) -> IpNet {
        let mut of_blocks: HashMap<IpNet, usize> = HashMap::default();
        of_blocks.reserve(self.of_sites.len());
        for (site, its) in &self.of_sites {
            *of_blocks.entry(block(*site)).or_default() += its.len();
        }
        let of_own = of_blocks.get(&own).copied().unwrap_or_default();
        let most = of_blocks.into_iter().max_by_key(|(_, number)| *number);
        let most = most.filter(|(_, number)| *number > of_own + 1);
        most.map_or(own, |(block, _)| block)
    }

    /// Removes one, if it is still there.
    fn remove(&mut self, site: IpNet, number: u64) {
        let Some(its) = self.of_sites.get_mut(&site) else {
            return;
        };
        if its.remove(&number).is_some() {
            self.taken -= 1;
        }
        if its.is_empty() {
            self.of_sites.remove(&site);
        }
    }
}

impl Place {
    /// Waits in this place, of which there is nothing left once somebody was sent away.
    ///
    /// # Errors
    /// [`SentAway`] when somebody else got the place meanwhile.
    pub(crate) async fn wait<T>(&mut self, wait: impl Future<Output = T>) -> Result<T, SentAway> {
        tokio::select! {
            biased;
            waited = wait => Ok(waited),
            _ = &mut self.sent_away => Err(SentAway),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.state().remove(self.site, self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::FutureExt;

    use super::*;
    use crate::client_address::surroundings;

    fn room(size: usize) -> Arc<FairRoom> {
        Arc::new(FairRoom::new(size))
    }

    fn site(number: u8) -> IpNet {
        surroundings([192, 0, number, 1].into())
    }

    fn is_sent_away(place: &mut Place) -> bool {
        matches!(
            place.wait(pending::<()>()).now_or_never(),
            Some(Err(SentAway))
        )
    }

    #[test]
    fn a_site_alone_has_all_of_it_and_gives_it_back() {
        let room = room(3);
        let places: Vec<_> = (0..3).map(|_| room.enter(site(1)).unwrap()).collect();
        assert!(room.enter(site(1)).is_err());
        drop(places);
        let state = room.state();
        assert_eq!(state.taken, 0);
        assert!(state.of_sites.is_empty());
    }

    #[test]
    fn the_newest_of_the_site_that_has_most_makes_room_for_others() {
        let room = room(4);
        let enter = |number| room.enter(site(number));
        let mut many: Vec<_> = (0..3).map(|_| enter(1).unwrap()).collect();
        let mut one = enter(2).unwrap();
        let mut two = enter(2).unwrap();
        let sent_away: Vec<_> = many.iter_mut().map(is_sent_away).collect();
        assert_eq!(sent_away, [false, false, true]);
        // Either would have three then.
        assert!(enter(1).is_err() && enter(2).is_err());
        drop(many.pop());
        assert_eq!(room.state().taken, 4);
        let mut others = [enter(3).unwrap(), enter(4).unwrap()];
        let still_there = [&mut one, &mut two].into_iter().chain(&mut many);
        let sent_away = still_there.map(is_sent_away).filter(|it| *it);
        assert_eq!(sent_away.count(), 2);
        assert!(enter(5).is_err());
        assert!(others.iter_mut().all(|it| !is_sent_away(it)));
    }

    #[test]
    fn the_sites_of_a_block_that_fill_the_room_leave_for_those_of_others() {
        let room = room(4);
        let enter = |block: u8, site: u8| room.enter(surroundings([192, block, site, 1].into()));
        let mut many: Vec<_> = (0..4).map(|site| enter(1, site).unwrap()).collect();
        assert!(enter(1, 4).is_err());
        let mut others = [enter(2, 0).unwrap(), enter(2, 0).unwrap()];
        let sent_away: Vec<_> = many.iter_mut().map(is_sent_away).collect();
        assert_eq!(sent_away, [false, false, true, true]);
        // Either block would have three then; and of a block, sites are equal.
        assert!(enter(1, 4).is_err() && enter(2, 0).is_err());
        let _of_another_site = enter(2, 1).unwrap();
        assert_eq!(others.each_mut().map(is_sent_away), [false, true]);
        let _of_another_block = enter(3, 0).unwrap();
        assert_eq!(room.state().taken, 4);
    }

    #[test]
    fn of_a_block_the_newest_of_the_site_that_has_most_leaves() {
        let room = room(3);
        let enter = |block: u8, site: u8| room.enter(surroundings([192, block, site, 1].into()));
        let mut here = [enter(1, 1), enter(1, 1), enter(1, 2)].map(Result::unwrap);
        let _other = enter(32, 1).unwrap();
        assert_eq!(here.each_mut().map(is_sent_away), [false, true, false]);
    }

    #[test]
    fn whoever_has_waited_is_not_sent_away() {
        let room = room(2);
        let mut waiting = [room.enter(site(1)).unwrap(), room.enter(site(1)).unwrap()];
        let _other = room.enter(site(2)).unwrap();
        let waited = waiting[1].wait(ready(()));
        assert!(waited.now_or_never().unwrap().is_ok());
    }
}
