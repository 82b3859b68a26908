//! Whether somebody may still change a catalog ([`crate::domain::author`]).

use super::api_key::require_valid_key;
use super::browser_session::require_signed_in;
use super::member::hold_role;
use crate::domain::author::{Author, Right};
use crate::domain::member::Role;
use crate::domain::time::Timestamp;
use crate::store::Batch;

/// Refuses an author whose right has ended by `now`, and keeps it from ending until the end of the transaction. It travels
/// with the first statements of a change.
pub(super) fn require_author(author: Author, now: Timestamp) -> impl Batch {
    let Author { catalog, right } = author;
    let (key, member) = match right {
        Right::Key(id) => (Some(require_valid_key(catalog.team_id, id, now)), None),
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
