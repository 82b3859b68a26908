//! Who works on a catalog: a program with an API key, or a member of the team in a browser.
//!
//! A read needs only the catalog: the code that found the caller has checked that it may read. A change checks again,
//! in its own transaction ([`Author`]): its body may arrive long after its head, and the right may have ended in
//! between. Ending a right waits for the changes that found it.

use super::Error;
use super::catalog::Catalog;
use super::id::{ApiKeyId, BrowserSessionId, UserId};
use super::member::Role;

/// A caller that asks for products.
pub trait Caller {
    /// The catalog that it works on.
    fn catalog(&self) -> Catalog;

    /// On whose authority its changes are made.
    ///
    /// # Errors
    /// [`Error::ScopeInsufficient`] or [`Error::RoleInsufficient`] if it may change nothing.
    fn author(&self) -> Result<Author, Error>;
}

/// On whose authority something is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Author {
    /// The catalog.
    pub catalog: Catalog,
    /// What must still hold when the change is made.
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

/// A team member in a browser, working on one of the team's catalogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogMember {
    /// The catalog.
    pub catalog: Catalog,
    /// The member's role in the team.
    pub role: Role,
    /// The user.
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
