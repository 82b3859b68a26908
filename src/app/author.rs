//! Checks whether an author may still change a catalog ([`crate::domain::author`]).

use std::sync::Arc;

use super::App;
use super::api_key::require_valid_key;
use super::browser_session::require_signed_in;
use super::member::hold_role;
use crate::domain::author::{Author, Right};
use crate::domain::member::Role;
use crate::domain::time::{Clock, Timestamp};
use crate::store::Batch;

/// A change that an author requested.
#[derive(Clone)]
pub(super) struct Change {
    pub author: Author,
    /// When it was requested, which is the date of the change.
    pub now: Timestamp,
    clock: Arc<dyn Clock>,
}

impl App {
    /// A change requested now.
    pub(super) fn change(&self, author: Author) -> Change {
        Change {
            author,
            now: self.now(),
            clock: Arc::clone(&self.clock),
        }
    }
}

impl Change {
    /// Refuses an author whose right has ended, and keeps it from ending before the end of the transaction, except by
    /// expiry. It is sent with the first statements of a change. Whether a key has expired is checked when these are
    /// answered, since they may have waited for others (C11).
    pub(super) fn require_author(&self) -> impl Batch + use<> {
        let Author { catalog, right } = self.author;
        let (key, member) = match right {
            Right::Key(id) => {
                let clock = Arc::clone(&self.clock);
                (Some(require_valid_key(catalog.team_id, id, clock)), None)
            }
            Right::Member(user_id, session_id) => {
                let signed_in = require_signed_in(user_id, session_id);
                (
                    None,
                    Some((
                        signed_in,
                        hold_role(catalog.team_id, user_id, Role::may_write),
                    )),
                )
            }
        };
        (key, member)
    }
}
