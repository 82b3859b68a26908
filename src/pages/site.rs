//! What all pages share.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::domain::id::UserId;
use crate::settings::Origin;

/// What all pages share.
pub(super) struct Site {
    /// Where people reach them.
    pub(super) origin: Origin,
    /// Who is being told of all that is stored about them.
    exporting: Mutex<HashSet<UserId>>,
}

impl Site {
    pub(super) fn new(origin: Origin) -> Site {
        Site {
            origin,
            exporting: Mutex::default(),
        }
    }

    /// A turn for an export, of which a user has one at a time: it takes memory while it is made.
    pub(super) fn export_turn(&self, user_id: UserId) -> Option<ExportTurn<'_>> {
        // A set is whole after every change, so a poisoned lock holds a good one.
        let mut all = self
            .exporting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Made only where there is one to give: what is dropped gives a turn back.
        all.insert(user_id).then(|| ExportTurn(self, user_id))
    }
}

/// That an export is being made, until it is dropped.
pub(super) struct ExportTurn<'a>(&'a Site, UserId);

impl Drop for ExportTurn<'_> {
    fn drop(&mut self) {
        let ExportTurn(site, user_id) = self;
        let mut all = site
            .exporting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.remove(user_id);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_user_has_one_export_at_a_time() {
        let site = Site::new("https://a.example".parse().unwrap());
        let [ada, ben] = [1, 2].map(|id| UserId(Uuid::from_u128(id)));
        let turn = site.export_turn(ada).unwrap();
        assert!(site.export_turn(ada).is_none());
        assert!(site.export_turn(ben).is_some());
        drop(turn);
        assert!(site.export_turn(ada).is_some());
    }
}
