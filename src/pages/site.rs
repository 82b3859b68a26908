//! What all pages share.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::domain::id::UserId;
use crate::settings::Origin;

/// As many export or import at once.
const TURNS: usize = 8;

/// What all pages share.
pub(super) struct Site {
    /// Where people reach them.
    pub(super) origin: Origin,
    /// Who exports or imports just now.
    at_turn: Mutex<HashSet<UserId>>,
}

impl Site {
    pub(super) fn new(origin: Origin) -> Site {
        Site {
            origin,
            at_turn: Mutex::default(),
        }
    }

    /// A turn for an export or import, of which a user has one at a time, and all together [`TURNS`]: each takes memory, up
    /// to some thirty megabytes.
    pub(super) fn turn(&self, user_id: UserId) -> Option<Turn<'_>> {
        // A set is whole after every change, so a poisoned lock holds a good one.
        let mut all = self.at_turn.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = all.len() < TURNS;
        // Made only where there is one to give: what is dropped gives a turn back.
        (has_room && all.insert(user_id)).then(|| Turn(self, user_id))
    }
}

/// That a user exports or imports, until it is dropped.
pub(super) struct Turn<'a>(&'a Site, UserId);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Turn(site, user_id) = self;
        let mut all = site.at_turn.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(user_id);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_user_exports_or_imports_one_thing_at_a_time() {
        let site = Site::new("https://a.example".parse().unwrap());
        let [ada, ben] = [1, 2].map(|id| UserId(Uuid::from_u128(id)));
        let turn = site.turn(ada).unwrap();
        assert!(site.turn(ada).is_none());
        assert!(site.turn(ben).is_some());
        drop(turn);
        assert!(site.turn(ada).is_some());
    }

    #[test]
    fn eight_export_or_import_at_once() {
        let site = Site::new("https://a.example".parse().unwrap());
        let turn = |id| site.turn(UserId(Uuid::from_u128(id)));
        let mut turns: Vec<_> = (0..8).map(|id| turn(id).unwrap()).collect();
        assert!(turn(8).is_none());
        turns.pop();
        assert!(turn(8).is_some());
    }
}
