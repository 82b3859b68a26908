//! Memory that callers make the server hold: bounded in total, and shared fairly between them.
//!
//! A [`Charge`] counts bytes held for a holder, from before they are allocated until it is dropped.
//!
//! 1. A holder with nothing charged may hold one thing, however large: whatever makes things bounds their size.
//! 2. Every holder may have a share, a 64th of the whole, however much others hold.
//! 3. Beyond its share, a holder may have up to a quarter of the whole, while the whole is not used up.
//! 4. Of that quarter, each credential of the holder may have as much as it leaves: with nobody else, an eighth of the
//!    whole. So whoever is in one browser of a user, or has one key of a team, does not keep the others out.
//! 5. All client addresses together may hold half of the whole, and a quarter beyond their shares: one person may have a
//!    thousand of them, and a share for each would bound nothing (docs/decisions.md, R12).
//!
//! So no team or user within its share is refused because of others, and no address because of a few. At most, the server
//! holds the whole, half of it once more for addresses, and one share, or one thing, for each team and user that holds
//! anything.

use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use uuid::Uuid;

use crate::domain::holder::{Bearer, Holder};

/// How many shares the whole has.
const SHARES: usize = 64;

/// A holder beyond its share may have at most the whole divided by this.
const QUARTER: usize = 4;

/// How much may be held, and how much is.
#[derive(Debug)]
pub(crate) struct Budget {
    whole: usize,
    /// The sum over `holders`, readable without their lock.
    held: AtomicUsize,
    /// The part of it that client addresses have.
    by_addresses: AtomicUsize,
    /// Every holder that has anything.
    holders: Mutex<HashMap<Holder, Account>>,
}

/// What a holder has, by credential.
#[derive(Debug, Default)]
struct Account(Vec<Part>);

/// What a holder has with one of its credentials.
#[derive(Debug)]
struct Part {
    credential: Option<Uuid>,
    held: usize,
    /// The largest charge refused since one as large was last granted: whoever asks for too much asks for it again.
    refused: usize,
}

/// Bytes held for a holder until this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<Budget>,
    bearer: Bearer,
    bytes: usize,
}

impl Budget {
    /// Returns a budget of `whole` bytes, none of them held.
    pub(crate) fn new(whole: usize) -> Arc<Budget> {
        Arc::new(Budget {
            whole,
            held: AtomicUsize::new(0),
            by_addresses: AtomicUsize::new(0),
            holders: Mutex::default(),
        })
    }

    /// Holds `bytes` for `bearer`. Returns `None` if that is more than it may have.
    pub(crate) fn charge(
        self: &Arc<Self>,
        bearer: impl Into<Bearer>,
        bytes: usize,
    ) -> Option<Charge> {
        let bearer = bearer.into();
        let mut holders = self.holders();
        let account = holders.get(&bearer.holder);
        let admitted = self.admits(bearer, account, bytes);
        let account = holders.get_mut(&bearer.holder);
        if let Some(part) = account.and_then(|it| it.part_mut(bearer.credential)) {
            part.refused = match admitted {
                true if bytes >= part.refused => 0,
                true => part.refused,
                false => part.refused.max(bytes),
            };
        }
        admitted.then(|| self.hold(&mut holders, bearer, bytes))
    }

    /// Holds `bytes` that are already allocated, whether or not `bearer` may have them.
    pub(crate) fn charge_anyway(
        self: &Arc<Self>,
        bearer: impl Into<Bearer>,
        bytes: usize,
    ) -> Charge {
        self.hold(&mut self.holders(), bearer.into(), bytes)
    }

    /// Returns whether `bearer` may have anything more or, if it was refused a charge, that much more.
    ///
    /// A holder within its share is not kept out by what others have, nor by what it was refused while they had the rest:
    /// answering an address takes no more than refusing it, so if this kept addresses out, many that leave answers unread
    /// would shut out all others for nothing.
    pub(crate) fn has_room(&self, bearer: impl Into<Bearer>) -> bool {
        // The common case, without a lock: so little is held in total that hardly anything is refused.
        self.held() < self.whole / QUARTER / 2 || {
            let bearer = bearer.into();
            let holders = self.holders();
            let account = holders.get(&bearer.holder);
            let part = account.and_then(|it| it.part(bearer.credential));
            account.map_or(0, Account::held) < self.whole / SHARES
                || self.admits(bearer, account, part.map_or(0, |it| it.refused).max(1))
        }
    }

    /// Returns the bytes held in total.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Returns the bytes held, and the whole.
    pub(crate) fn state(&self) -> (usize, usize) {
        (self.held(), self.whole)
    }

    /// Applies the rules above; `account` is what the holder has already.
    fn admits(&self, bearer: Bearer, account: Option<&Account>, bytes: usize) -> bool {
        let already = account.map_or(0, Account::held);
        let is_first_or_share =
            already == 0 || already.saturating_add(bytes) <= self.whole / SHARES;
        if bearer.holder.is_address() {
            let part = self.whole / if is_first_or_share { 2 } else { QUARTER };
            let by_addresses = self.by_addresses.load(Ordering::Relaxed);
            if by_addresses.saturating_add(bytes) > part {
                return false;
            }
        }
        is_first_or_share
            || self.counted().saturating_add(bytes) <= self.whole
                && account.is_none_or(|it| it.admits(bearer, self.whole / QUARTER, bytes))
    }

    /// Returns what is held in total, less what addresses have beyond their half: small answers are charged to them anyway,
    /// and strangers that leave those unread must not take room from teams and users.
    fn counted(&self) -> usize {
        let by_addresses = self.by_addresses.load(Ordering::Relaxed);
        let beyond = by_addresses.saturating_sub(self.whole / 2);
        self.held().saturating_sub(beyond)
    }

    fn hold(
        self: &Arc<Self>,
        holders: &mut HashMap<Holder, Account>,
        bearer: Bearer,
        bytes: usize,
    ) -> Charge {
        let account = holders.entry(bearer.holder).or_default();
        match account.part_mut(bearer.credential) {
            Some(part) => part.held += bytes,
            None => account.0.push(Part {
                credential: bearer.credential,
                held: bytes,
                refused: 0,
            }),
        }
        self.held.fetch_add(bytes, Ordering::Relaxed);
        if bearer.holder.is_address() {
            self.by_addresses.fetch_add(bytes, Ordering::Relaxed);
        }
        Charge {
            budget: Arc::clone(self),
            bearer,
            bytes,
        }
    }

    fn holders(&self) -> MutexGuard<'_, HashMap<Holder, Account>> {
        // Nothing panics while it is locked.
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    fn held(&self) -> usize {
        self.0.iter().map(|it| it.held).sum()
    }

    fn part(&self, credential: Option<Uuid>) -> Option<&Part> {
        self.0.iter().find(|it| it.credential == credential)
    }

    fn part_mut(&mut self, credential: Option<Uuid>) -> Option<&mut Part> {
        self.0.iter_mut().find(|it| it.credential == credential)
    }

    /// Rule 4, and the end of rule 3.
    fn admits(&self, bearer: Bearer, quarter: usize, bytes: usize) -> bool {
        let Some(credential) = bearer.credential else {
            return self.held().saturating_add(bytes) <= quarter;
        };
        // Small answers are charged anyway: one that leaves those unread must not take room from the others either.
        let counted = self.0.iter().map(|it| it.held.min(quarter / 2));
        let Some(left) = quarter.checked_sub(counted.sum::<usize>().saturating_add(bytes)) else {
            return false;
        };
        let part = self.part(Some(credential));
        part.is_none_or(|it| it.held.saturating_add(bytes) <= left)
    }

    fn give_back(&mut self, credential: Option<Uuid>, bytes: usize) {
        let position = self.0.iter().position(|it| it.credential == credential);
        if let Some(position) = position {
            self.0[position].held -= bytes;
            if self.0[position].held == 0 {
                self.0.swap_remove(position);
            }
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut holders = self.budget.holders();
        if let Entry::Occupied(mut account) = holders.entry(self.bearer.holder) {
            account
                .get_mut()
                .give_back(self.bearer.credential, self.bytes);
            if account.get().0.is_empty() {
                account.remove();
            }
        }
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
        if self.bearer.holder.is_address() {
            let by_addresses = &self.budget.by_addresses;
            by_addresses.fetch_sub(self.bytes, Ordering::Relaxed);
        }
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
    fn a_holder_may_have_a_quarter_of_the_whole_and_not_more() {
        let budget = Budget::new(WHOLE);
        let _quarter = budget.charge(team(1), WHOLE / 4).unwrap();
        assert!(!budget.has_room(team(1)));
        assert!(budget.charge(team(1), 1).is_none());
        assert!(budget.charge(team(2), 1).is_some());
    }

    #[test]
    fn one_credential_leaves_the_others_of_its_holder_as_much_as_it_has() {
        let budget = Budget::new(WHOLE);
        let key = |number| Bearer {
            holder: team(1),
            credential: Some(Uuid::from_u128(number)),
        };
        let all_of = |number| {
            let charges = std::iter::repeat_with(|| budget.charge(key(number), SHARE));
            charges.map_while(|it| it).collect::<Vec<_>>()
        };
        let first = all_of(1);
        assert_eq!(first.len(), SHARES / QUARTER / 2);
        assert!(!budget.has_room(key(1)) && budget.has_room(key(2)));
        // Refusals and what has been done are answered anyway.
        let anyway = budget.charge_anyway(key(1), WHOLE / 8);
        let second = all_of(2);
        assert_eq!(second.len(), SHARES / QUARTER / 4);
        assert!(budget.charge(key(3), SHARE).is_some());
        drop((first, anyway));
        assert!(!all_of(2).is_empty());
    }

    #[test]
    fn a_share_is_there_however_much_others_hold() {
        let budget = Budget::new(WHOLE);
        let _others = [1, 2, 3, 4].map(|it| budget.charge(team(it), WHOLE / 4).unwrap());
        let small = budget.charge(team(5), SHARE - 1).unwrap();
        assert!(budget.has_room(team(5)));
        assert!(budget.charge(team(5), 2).is_none());
        drop(small);
        // A holder with nothing may hold one thing larger than a share.
        assert!(budget.charge(team(5), SHARE * 5).is_some());
    }

    #[test]
    fn all_addresses_together_have_half_and_a_few_of_them_a_quarter() {
        let budget = Budget::new(WHOLE);
        let address = |last: u8| Holder::Address([192, 0, 2, last].into());
        let charge = |last| budget.charge(address(last), SHARE);
        // Two addresses take all they can get.
        let few: Vec<_> = std::iter::repeat_with(|| charge(1).or_else(|| charge(2)))
            .map_while(|charge| charge)
            .collect();
        assert_eq!(few.len(), SHARES / QUARTER + 1);
        let many: Vec<_> = (3..=255).filter_map(charge).collect();
        assert_eq!(few.len() + many.len(), SHARES / 2);
        // It may not have as much as the others, but it may still be answered.
        assert!(charge(255).is_none() && budget.has_room(address(255)));
        assert!(!budget.has_room(address(1)));
        assert!(budget.charge(team(1), WHOLE / 4).is_some());
        drop((few, many));
        assert_eq!(budget.by_addresses.load(Ordering::Relaxed), 0);
        assert!(charge(255).is_some());
    }

    #[test]
    fn what_addresses_are_charged_beyond_their_half_leaves_others_theirs() {
        let budget = Budget::new(WHOLE);
        let _left = budget.charge_anyway(Holder::Address([192, 0, 2, 1].into()), 10 * WHOLE);
        let _quarters = [1, 2].map(|it| budget.charge(team(it), WHOLE / 4).unwrap());
        assert!(budget.charge(team(3), SHARE).is_some());
        assert!(budget.charge(team(2), 1).is_none());
        assert!(budget.has_room(team(3)));
    }

    #[test]
    fn who_was_refused_something_large_has_no_room_until_that_fits() {
        let budget = Budget::new(WHOLE);
        let held = [1, 2].map(|_| budget.charge(team(1), WHOLE / 8 - 1).unwrap());
        assert!(budget.has_room(team(1)));
        assert!(budget.charge(team(1), WHOLE / 8).is_none());
        assert!(!budget.has_room(team(1)));
        assert!(budget.has_room(team(2)));
        let [_kept, gone] = held;
        drop(gone);
        assert!(budget.has_room(team(1)));
    }

    #[test]
    fn who_was_refused_something_large_because_of_others_has_room_within_its_share() {
        let budget = Budget::new(WHOLE);
        let _others = [1, 2, 3, 4].map(|it| budget.charge(team(it), WHOLE / 4).unwrap());
        let _small = budget.charge(team(5), 1).unwrap();
        assert!(budget.charge(team(5), WHOLE / 8).is_none());
        assert!(budget.has_room(team(5)));
    }

    #[test]
    fn what_is_dropped_makes_room() {
        let budget = Budget::new(WHOLE);
        let quarter = budget.charge(team(1), WHOLE / 4).unwrap();
        let more = budget.charge_anyway(team(1), WHOLE);
        assert_eq!(budget.held(), WHOLE / 4 + WHOLE);
        drop((quarter, more));
        assert_eq!(budget.held(), 0);
        assert!(budget.holders().is_empty());
        assert!(budget.charge(team(1), WHOLE / 4).is_some());
    }
}
