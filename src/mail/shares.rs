//! What one team may have of the places and connections of all letters.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many letters may be promised at once, and how many may wait to be tried again: a few megabytes.
pub(super) const PLACES: u32 = 1_250;

/// How many of either may be of anybody.
pub(super) const FOR_ALL: usize = 500;

/// How many of these a team leaves to others for each that it has of one kind: five teams leave a third, or a tenth if they
/// have both kinds.
const LEFT: usize = 4;

/// How many more are of one team, and to one [kind](crate::domain::letter::Occasion::is_typed) of address. A person has a few
/// teams at most: with users of no team, six take fourteen times as many. Two hundred may be for resets of which it is not
/// known yet whose they are.
pub(super) const PLACES_OF_A_TEAM: usize = 32;

/// How many more letters of one team may be on their way for the first time to addresses that are stored.
pub(super) const MORE_LINES_OF_A_TEAM: usize = 3;

/// What a team has under way.
pub(super) struct OfTeam {
    pub(super) places: Places,
    /// Of letters that are tried again.
    pub(super) again: Places,
    pub(super) line: Semaphore,
    /// Of those to addresses that are stored.
    pub(super) more_lines: Semaphore,
}

impl Default for OfTeam {
    fn default() -> OfTeam {
        OfTeam {
            places: Places::default(),
            again: Places::default(),
            line: Semaphore::new(1),
            more_lines: Semaphore::new(MORE_LINES_OF_A_TEAM),
        }
    }
}

/// The places that a team has.
pub(super) struct Places {
    /// Its own.
    own: Arc<Semaphore>,
    /// Cloned for each that it has of those for all.
    others: Arc<()>,
}

impl Default for Places {
    fn default() -> Places {
        Places {
            own: Arc::new(Semaphore::new(PLACES_OF_A_TEAM)),
            others: Arc::default(),
        }
    }
}

impl Places {
    /// One more: of its own, or else of those `for_all`, if it leaves enough of them.
    pub(super) fn one_more(&self, for_all: &Arc<Semaphore>) -> Option<Share> {
        if let Ok(own) = Arc::clone(&self.own).try_acquire_owned() {
            return Some(Share(own, None));
        }
        let has = Arc::strong_count(&self.others) - 1;
        if for_all.available_permits() <= LEFT * has {
            return None;
        }
        let of_all = Arc::clone(for_all).try_acquire_owned().ok()?;
        Some(Share(of_all, Some(Arc::clone(&self.others))))
    }
}

/// What a letter has of its team's places, or of those for all, until dropped.
pub(super) struct Share(
    #[expect(dead_code, reason = "it is kept to be dropped")] OwnedSemaphorePermit,
    #[expect(dead_code, reason = "it is kept to be dropped")] Option<Arc<()>>,
);
