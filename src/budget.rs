//! Memory that callers make the server hold: bounded in all, and shared fairly between them.
//!
//! A [`Charge`] counts bytes that are held for somebody, from before they are there until it is dropped.
//!
//! 1. Who holds nothing may hold one thing, however large: whatever makes things bounds their size.
//! 2. Everybody may hold a share, a 64th of the whole, however much others hold.
//! 3. Beyond its share, a holder may have up to half of the whole, while the whole is not used up.
//!
//! So nobody who stays within a share is refused because of others, and what is held at most is the whole, and one
//! share, or one thing, for each who holds anything.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use crate::client_address::network;

/// For whom something is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// All keys of a team.
    Team(Uuid),
    /// All sessions of a user.
    User(Uuid),
    /// Whoever calls from a client address without a credential.
    Address(IpAddr),
}

impl Holder {
    /// Whoever calls from this address. An IPv6 customer is given a /64, and may use any address in it.
    pub fn of(address: IpAddr) -> Holder {
        Holder::Address(network(address))
    }
}

/// How many shares the whole has.
const SHARES: usize = 64;

/// What may be held, and what is.
#[derive(Debug)]
pub struct Budget {
    whole: usize,
    /// The sum of `holders`, to be read without their lock.
    held: AtomicUsize,
    /// Who holds how many bytes; nobody who holds none is in it.
    holders: Mutex<HashMap<Holder, usize>>,
}

/// Bytes that are held for somebody, until this is dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    holder: Holder,
    bytes: usize,
}

impl Budget {
    /// A budget of so many bytes, of which none are held.
    pub fn new(whole: usize) -> Arc<Budget> {
        Arc::new(Budget {
            whole,
            held: AtomicUsize::new(0),
            holders: Mutex::default(),
        })
    }

    /// Holds `bytes` for `holder`; `None` when that is more than it may have.
    pub fn charge(self: &Arc<Self>, holder: Holder, bytes: usize) -> Option<Charge> {
        let mut holders = self.holders();
        let already = holders.get(&holder).copied().unwrap_or(0);
        if !self.admits(already, bytes) {
            return None;
        }
        Some(self.hold(&mut holders, holder, bytes))
    }

    /// Holds `bytes` that are there already, whether or not `holder` may have them.
    pub fn charge_anyway(self: &Arc<Self>, holder: Holder, bytes: usize) -> Charge {
        self.hold(&mut self.holders(), holder, bytes)
    }

    /// Whether `holder` may have anything more.
    pub fn has_room(&self, holder: Holder) -> bool {
        // The common case, without a lock: where so little is held in all, nobody has more than half of the whole.
        self.held() < self.whole / 2 || {
            let already = self.holders().get(&holder).copied().unwrap_or(0);
            self.admits(already, 1)
        }
    }

    /// The bytes that are held in all.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// The rules, in their order.
    fn admits(&self, already: usize, bytes: usize) -> bool {
        let then = already.saturating_add(bytes);
        already == 0
            || then <= self.whole / SHARES
            || then <= self.whole / 2 && self.held().saturating_add(bytes) <= self.whole
    }

    fn hold(
        self: &Arc<Self>,
        holders: &mut HashMap<Holder, usize>,
        holder: Holder,
        bytes: usize,
    ) -> Charge {
        *holders.entry(holder).or_default() += bytes;
        self.held.fetch_add(bytes, Ordering::Relaxed);
        Charge {
            budget: Arc::clone(self),
            holder,
            bytes,
        }
    }

    fn holders(&self) -> MutexGuard<'_, HashMap<Holder, usize>> {
        // Nothing panics while it is locked.
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut holders = self.budget.holders();
        if let Some(held) = holders.get_mut(&self.holder) {
            *held = held.saturating_sub(self.bytes);
            if *held == 0 {
                holders.remove(&self.holder);
            }
        }
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: usize = 6_400;
    const SHARE: usize = WHOLE / SHARES;

    fn team(number: u128) -> Holder {
        Holder::Team(Uuid::from_u128(number))
    }

    #[test]
    fn a_holder_may_have_half_of_the_whole_and_not_more() {
        let budget = Budget::new(WHOLE);
        let _half = budget.charge(team(1), WHOLE / 2).unwrap();
        assert!(!budget.has_room(team(1)));
        assert!(budget.charge(team(1), 1).is_none());
        assert!(budget.charge(team(2), 1).is_some());
    }

    #[test]
    fn a_share_is_there_however_much_others_hold() {
        let budget = Budget::new(WHOLE);
        let _others = [1, 2].map(|it| budget.charge(team(it), WHOLE / 2).unwrap());
        let small = budget.charge(team(3), SHARE - 1).unwrap();
        assert!(budget.has_room(team(3)));
        assert!(budget.charge(team(3), 2).is_none());
        drop(small);
        // Who holds nothing may hold one thing that is larger than a share.
        assert!(budget.charge(team(3), SHARE * 5).is_some());
    }

    #[test]
    fn what_is_dropped_makes_room() {
        let budget = Budget::new(WHOLE);
        let half = budget.charge(team(1), WHOLE / 2).unwrap();
        let more = budget.charge_anyway(team(1), WHOLE);
        assert_eq!(budget.held(), WHOLE / 2 + WHOLE);
        drop((half, more));
        assert_eq!(budget.held(), 0);
        assert!(budget.holders().is_empty());
        assert!(budget.charge(team(1), WHOLE / 2).is_some());
    }
}
