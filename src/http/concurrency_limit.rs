//! Limits how many requests are worked on at once.
//!
//! A permit is for work: a request has one while its credential is looked up, and one from when its body has arrived until
//! its answer is made. It has none while its body is on the way, which takes as long as its client likes;
//! [`received`](super::received) bounds those separately. When all permits that a request may have are taken, it is refused
//! at once: it would only wait, and hold memory while it does. That the server is busy reveals nothing about anyone's data,
//! so callers learn it whether they are known or not, as they do when a store that does not answer cannot tell whether they
//! are.
//!
//! No holder has more than [its share](Holder::share), so that requests that wait for one thing, such as a row, never have
//! all permits. Nor do all client addresses together have more than [theirs](Holder::share_of_addresses): addresses cost
//! nothing, and each may ask for tokens that do not exist (docs/decisions.md, R10). Those of one site have no more than are
//! free: the owner of an address often has the whole site, and some have a few.
//!
//! One person may be two holders or more, such as a team and a user. So all known holders together have three quarters, and
//! each of them a [64th](Shared::least) whatever the others have (R7). Strangers and addresses have a quarter each, whatever
//! the known holders have. If all of them use all of that at once, more requests run than the limit says.

use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use ipnet::IpNet;

use super::rejection::Error;
use crate::admin::Shortage;
use crate::client_address::surroundings;
use crate::domain::holder::Holder;

/// How many requests a server works on at once, and how many of them each holder has.
#[derive(Clone)]
pub(crate) struct ConcurrencyLimit(Arc<Shared>);

struct Shared {
    limit: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    /// Held by all client addresses.
    addresses: usize,
    /// Held by all known holders.
    known: usize,
    /// Held by each holder that has any, and by the addresses of each site.
    by: HashMap<Holder, usize>,
    by_site: HashMap<IpNet, usize>,
}

/// Permission to work on one request, until it is dropped.
pub(crate) struct Permit {
    shared: Arc<Shared>,
    holder: Holder,
}

impl ConcurrencyLimit {
    /// Returns a limit of `limit` requests.
    pub(super) fn new(limit: u32) -> ConcurrencyLimit {
        ConcurrencyLimit(Arc::new(Shared {
            limit: limit as usize,
            taken: Mutex::default(),
        }))
    }

    /// Returns how many permits are taken, and how many there are.
    pub(super) fn state(&self) -> (usize, usize) {
        (self.0.taken().all, self.0.limit)
    }

    /// Takes a permit for a request of `holder`.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when `holder`, or all of its kind, have as many as they may.
    pub(crate) fn acquire(&self, holder: Holder) -> Result<Permit, Error> {
        let shared = &self.0;
        let mut taken = shared.taken();
        let its = taken.by.get(&holder).copied().unwrap_or_default();
        if !shared.admits(holder, its, &taken) {
            return Err(Error::Overloaded(Shortage::Permits));
        }
        taken.by.insert(holder, its + 1);
        if let Some(site) = site(holder) {
            *taken.by_site.entry(site).or_default() += 1;
        }
        taken.all += 1;
        taken.addresses += usize::from(holder.is_address());
        taken.known += usize::from(holder.is_known());
        Ok(Permit {
            shared: Arc::clone(shared),
            holder,
        })
    }
}

impl Shared {
    /// Returns whether `holder`, which has `its` permits, may have one more.
    fn admits(&self, holder: Holder, its: usize, taken: &Taken) -> bool {
        if holder.is_known() && its < self.least() {
            return true;
        }
        let is_full = match (holder.is_known(), holder.is_address()) {
            (true, _) => taken.known >= holder.share(self.limit),
            (false, true) => {
                let share = Holder::share_of_addresses(self.limit);
                let free = share.saturating_sub(taken.addresses);
                let of_site = site(holder).and_then(|site| taken.by_site.get(&site));
                of_site.copied().unwrap_or_default() >= free
            }
            (false, false) => false,
        };
        !is_full && its < holder.share(self.limit)
    }

    /// Returns how many each known holder may have in any case.
    fn least(&self) -> usize {
        self.limit / 64
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        // Nothing panics while it is locked.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = self.shared.taken();
        taken.all -= 1;
        taken.addresses -= usize::from(self.holder.is_address());
        taken.known -= usize::from(self.holder.is_known());
        give_back(taken.by.entry(self.holder));
        if let Some(site) = site(self.holder) {
            give_back(taken.by_site.entry(site));
        }
    }
}

fn give_back<K>(entry: Entry<'_, K, usize>) {
    if let Entry::Occupied(mut its) = entry {
        *its.get_mut() -= 1;
        if *its.get() == 0 {
            its.remove();
        }
    }
}

/// Returns the site of an address.
fn site(holder: Holder) -> Option<IpNet> {
    match holder {
        Holder::Address(address) => Some(surroundings(address)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const LIMIT: u32 = 8;

    fn team(number: u128) -> Holder {
        Holder::Team(Uuid::from_u128(number))
    }

    /// Takes as many as `holder` can get.
    fn all(limit: &ConcurrencyLimit, holder: Holder) -> Vec<Permit> {
        std::iter::from_fn(|| limit.acquire(holder).ok()).collect()
    }

    #[test]
    fn two_who_take_all_that_they_can_leave_others_a_64th_and_strangers_a_quarter() {
        let limit = ConcurrencyLimit::new(256);
        let taken = [team(1), Holder::User(Uuid::nil())].map(|holder| all(&limit, holder));
        assert_eq!(taken.each_ref().map(Vec::len), [192, 4]);
        assert_eq!(all(&limit, team(2)).len(), 4);
        let address = Holder::Address([192, 0, 2, 1].into());
        assert_eq!(all(&limit, address).len(), 32);
    }

    #[test]
    fn however_many_are_known_strangers_have_their_quarter() {
        let limit = ConcurrencyLimit::new(256);
        let known: Vec<_> = (0..100).map(|number| all(&limit, team(number))).collect();
        assert!(known.iter().map(Vec::len).sum::<usize>() > 256);
        assert_eq!(all(&limit, Holder::Strangers).len(), 64);
    }

    #[test]
    fn a_team_has_three_quarters_and_strangers_have_one() {
        let limit = ConcurrencyLimit::new(LIMIT);
        let mut strangers = all(&limit, Holder::Strangers);
        assert_eq!(strangers.len(), 2);
        let one = all(&limit, team(1));
        assert_eq!(one.len(), 6);
        assert!(all(&limit, team(2)).is_empty());
        drop(one);
        assert_eq!(all(&limit, team(2)).len(), 6);
        strangers.pop();
        assert_eq!(all(&limit, Holder::Strangers).len(), 1);
    }

    #[test]
    fn all_addresses_have_a_quarter_and_those_of_a_site_no_more_than_are_free() {
        let limit = ConcurrencyLimit::new(256);
        let address = |site, last| Holder::Address([192, 0, site, last].into());
        let of_site = |site| {
            let addresses = (0..40).map(|last| all(&limit, address(site, last)));
            addresses.flatten().collect()
        };
        let sites: [Vec<Permit>; 3] = [2, 3, 4].map(of_site);
        assert_eq!(sites.each_ref().map(Vec::len), [32, 16, 8]);
        drop(sites);
        assert!(limit.0.taken().by_site.is_empty());
    }

    /// They last while others come.
    #[test]
    fn a_permit_that_is_given_back_goes_to_whoever_has_fewer() {
        let limit = ConcurrencyLimit::new(4_096);
        let address = |site: u8| Holder::Address([192, 0, site, 1].into());
        let mut taken: Vec<_> = (0..40).map(|site| all(&limit, address(site))).collect();
        for round in 0..4_096 {
            let site = round % 40;
            taken[site].pop();
            for (site, its) in taken.iter_mut().enumerate() {
                its.extend(all(&limit, address(site as u8)));
            }
        }
        assert!(all(&limit, address(40)).len() > 5);
    }

    #[test]
    fn one_address_has_a_permit_in_any_case() {
        let address = Holder::Address([192, 0, 2, 1].into());
        for limit in [1, 4, 8] {
            assert_eq!(all(&ConcurrencyLimit::new(limit), address).len(), 1);
        }
    }

    #[test]
    fn what_is_dropped_leaves_nothing() {
        let limit = ConcurrencyLimit::new(LIMIT);
        let address = Holder::Address([192, 0, 2, 1].into());
        drop([team(1), team(2), address].map(|holder| all(&limit, holder)));
        let taken = limit.0.taken();
        assert_eq!((taken.all, taken.addresses, taken.by.len()), (0, 0, 0));
    }
}
