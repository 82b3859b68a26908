//! Credentials that were recently found good, and their holders.
//!
//! A credential's holder is known only after its lookup, so the lookup itself counts as a stranger's, and all strangers have
//! one share between them (docs/decisions.md, R8). A credential that was found good once is looked up on behalf of its
//! holder from then on, so that no stranger is in its way.
//!
//! It has no other use: a credential is valid because a lookup says so, never because it is in here. Memory is bounded by
//! two generations: a credential that is used moves to the young one, and when that is full, it replaces the old one. So
//! credentials in use are the last to be forgotten. Those that were not found good are never in here.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use crate::domain::holder::Holder;
use crate::domain::secret::Digest;

/// Credentials in a generation. Both together take four megabytes or so at most.
const MAX_GENERATION: usize = 16_384;

/// The credentials that a process knows.
#[derive(Debug, Default)]
pub(super) struct Known(RwLock<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<[u8; 32], Holder>,
    old: HashMap<[u8; 32], Holder>,
}

impl Known {
    /// The holder of the credential with this digest; [`Holder::Strangers`] if it is not known.
    pub(super) fn holder(&self, digest: &Digest) -> Holder {
        // The maps are consistent between any two statements, whatever panicked elsewhere.
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.young.get(digest.as_bytes());
        let found = found.or_else(|| known.old.get(digest.as_bytes()));
        found.copied().unwrap_or(Holder::Strangers)
    }

    /// Notes that a credential was found good.
    pub(super) fn note(&self, digest: &Digest, holder: Holder) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if known.young.contains_key(digest.as_bytes()) {
            return;
        }
        drop(known);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.young.len() >= MAX_GENERATION {
            known.old = std::mem::take(&mut known.young);
        }
        known.young.insert(*digest.as_bytes(), holder);
    }

    /// Forgets a credential that was found to be no longer good.
    pub(super) fn forget(&self, digest: &Digest) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.young.remove(digest.as_bytes());
        known.old.remove(digest.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn credential(number: usize) -> (Digest, Holder) {
        let holder = Holder::Team(Uuid::from_u128(number as u128));
        (Digest::of(&number.to_be_bytes()), holder)
    }

    #[test]
    fn what_was_noted_is_known_until_it_is_forgotten() {
        let known = Known::default();
        let (digest, holder) = credential(1);
        assert_eq!(known.holder(&digest), Holder::Strangers);
        known.note(&digest, holder);
        assert_eq!(known.holder(&digest), holder);
        assert_eq!(known.holder(&credential(2).0), Holder::Strangers);
        known.forget(&digest);
        assert_eq!(known.holder(&digest), Holder::Strangers);
    }

    #[test]
    fn memory_is_bounded_and_what_is_in_use_is_not_forgotten() {
        let known = Known::default();
        let (used, holder) = credential(0);
        for number in 1..=4 * MAX_GENERATION {
            let (digest, other) = credential(number);
            known.note(&digest, other);
            if number % (MAX_GENERATION / 2) == 0 {
                known.note(&used, holder);
            }
        }
        assert_eq!(known.holder(&used), holder);
        assert_eq!(known.holder(&credential(1).0), Holder::Strangers);
        let generations = known.0.read().unwrap();
        assert!(
            generations.young.len() <= MAX_GENERATION && generations.old.len() <= MAX_GENERATION
        );
    }

    #[test]
    fn many_are_known_at_once() {
        let known = Known::default();
        let all: Vec<_> = (0..10).map(credential).collect();
        for (digest, holder) in &all {
            known.note(digest, *holder);
        }
        assert!(
            all.iter()
                .all(|(digest, holder)| known.holder(digest) == *holder)
        );
    }
}
