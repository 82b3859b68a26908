//! Who works on a catalog: a program with an API key, or a member of the team in a browser.
//!
//! A read needs the catalog alone: whoever found the caller has seen to it that it may read. A change asks again, in its own
//! transaction ([`Author`]): its body may have come long after its head, and the right may have ended in between. Who ends a
//! right waits for the changes that found it.

use super::Error;
use super::catalog::Catalog;
use super::id::{ApiKeyId, BrowserSessionId, UserId};
use super::member::Role;

/// Whoever asks for products.
pub trait Caller {
    /// The catalog that they work on.
    fn catalog(&self) -> Catalog;

    /// On whose word a change of theirs is made.
    ///
    /// # Errors
    /// [`Error::ScopeInsufficient`] or [`Error::RoleInsufficient`] when they may change nothing.
    fn author(&self) -> Result<Author, Error>;
}

/// On whose word something is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Author {
    /// The catalog.
    pub catalog: Catalog,
    /// What has to hold still when the change is made.
    pub right: Right,
}

/// The right to change a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Right {
    /// A key that is valid.
    Key(ApiKeyId),
    /// A role that may write, of a user who is signed in.
    Member(UserId, BrowserSessionId),
}

/// A member of a team, in a browser, at one of its catalogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogMember {
    /// The catalog.
    pub catalog: Catalog,
    /// What the member is in the team.
    pub role: Role,
    /// Who it is.
    pub user_id: UserId,
    /// The browser session.
    pub session_id: BrowserSessionId,
}

impl Caller for CatalogMember {
    fn catalog(&self) -> Catalog {
        self.catalog
    }

    fn author(&self) -> Result<Author, Error> {
        match self.role.may_write() {
            true => Ok(Author {
                catalog: self.catalog,
                right: Right::Member(self.user_id, self.session_id),
            }),
            false => Err(Error::RoleInsufficient),
        }
    }
}
