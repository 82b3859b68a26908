//! Whether somebody may still change a catalog ([`crate::domain::author`]).

use super::api_key::require_valid_key;
use super::browser_session::require_signed_in;
use crate::domain::Error;
use crate::domain::author::{Author, Right};
use crate::domain::catalog::Catalog;
use crate::domain::id::UserId;
use crate::domain::time::Timestamp;
use crate::store::{Batch, member};

/// Refuses an author whose right has ended by `now`, and keeps it from ending until the end of the transaction. It travels
/// with the first statements of a change.
pub(super) fn require_author(author: Author, now: Timestamp) -> impl Batch {
    let Author { catalog, right } = author;
    let (key, member) = match right {
        Right::Key(id) => (Some(require_valid_key(catalog.team_id, id, now)), None),
        Right::Member(user_id, session_id) => {
            let signed_in = require_signed_in(user_id, session_id);
            (None, Some((signed_in, hold_writer(catalog, user_id))))
        }
    };
    (key, member)
}

/// Refuses a user who is not in the team, or only looks on; nobody takes the role away before the end of the transaction.
fn hold_writer(catalog: Catalog, user_id: UserId) -> impl Batch<Out = ()> {
    member::hold_role(catalog.team_id, user_id).rule(|role| match role {
        Some(role) if role.may_write() => Ok(()),
        Some(_) => Err(Error::RoleInsufficient),
        None => Err(Error::NotAMember),
    })
}
