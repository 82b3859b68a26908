//! What a store keeps of share links.

use async_trait::async_trait;

use crate::domain::Error;
use crate::domain::id::{ShareLinkId, TeamId};
use crate::domain::item::ItemId;
use crate::domain::share_link::{NewShareLink, ShareLink};
use crate::domain::time::Timestamp;

/// Share links in the store.
#[async_trait]
pub trait ShareLinkStore {
    /// The links of an item that are not revoked, newest first.
    ///
    /// # Errors
    /// [`Error::ItemNotFound`] when the team has no such item.
    async fn list_links(&self, team_id: TeamId, item_id: ItemId) -> Result<Vec<ShareLink>, Error>;

    /// Adds a link.
    ///
    /// # Errors
    /// `ItemId::missing`, `User::missing`, [`Error::NotAMember`] when the user is
    /// not in the item's team, `ShareLink::too_many`.
    async fn create_link(&self, link: NewShareLink) -> Result<ShareLink, Error>;

    /// Ends a link, unless it has ended before.
    ///
    /// # Errors
    /// `ShareLink::missing`.
    async fn revoke_link(&self, id: ShareLinkId, now: Timestamp) -> Result<(), Error>;
}
