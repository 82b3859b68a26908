//! Whether somebody may still change a catalog ([`crate::domain::author`]).

use std::sync::Arc;

use super::App;
use super::api_key::require_valid_key;
use super::browser_session::require_signed_in;
use super::member::hold_role;
use crate::domain::author::{Author, Right};
use crate::domain::member::Role;
use crate::domain::time::{Clock, Timestamp};
use crate::store::Batch;

/// A change that somebody asks for.
#[derive(Clone)]
pub(super) struct Change {
    pub author: Author,
    /// When it was asked for, which is what it is dated by.
    pub now: Timestamp,
    clock: Arc<dyn Clock>,
}

impl App {
    /// A change that is asked for now.
    pub(super) fn change(&self, author: Author) -> Change {
        Change {
            author,
            now: self.now(),
            clock: Arc::clone(&self.clock),
        }
    }
}

impl Change {
    /// Refuses an author whose right has ended, and keeps it from ending until the end of the transaction, but for its time. It
    /// travels with the first statements of a change; whether a key's time is over is asked when these are answered, since they
    /// may have waited for others (C11).
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
