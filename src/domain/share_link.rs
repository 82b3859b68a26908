//! Share links: a url that shows one file or folder to whoever has it.
//!
//! - The url is `public_url`, `/s/`, and a secret of 256 random bits. Members may read it again, so the
//!   store keeps that secret as it is; a password, which nobody may read again, is kept as Argon2id.
//! - A link ends by being revoked, which hides it, or by expiring, which the list still shows.
//! - An item has at most [`LINKS_PER_ITEM`] links that are not revoked, so that one answer holds them all.

use std::time::Duration;

use super::Error;
use super::id::{ShareLinkId, UserId};
use super::item::ItemId;
use super::secret::Secret;
use super::string_enum::string_enum;
use super::time::Timestamp;

/// How many links an item may have that are not revoked (docs/decisions.md, L3).
pub const LINKS_PER_ITEM: usize = 1000;

/// A share link, without its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareLink {
    /// Identifies it.
    pub id: ShareLinkId,
    /// What it shares.
    pub item_id: ItemId,
    /// The part of the url that nobody can guess.
    pub secret: Secret,
    /// What people call it.
    pub name: Option<String>,
    /// Who may follow it.
    pub audience: Audience,
    /// What it allows.
    pub permissions: Permissions,
    /// Whether it asks for a password.
    pub password_protected: bool,
    /// From when on it shows nothing; none for a link without end.
    pub expires_at: Option<Timestamp>,
    /// How often it was opened.
    pub view_count: i64,
    /// How often something was downloaded through it.
    pub download_count: i64,
    /// When it was last opened.
    pub last_viewed_at: Option<Timestamp>,
    /// Who made it.
    pub created_by: Creator,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed; `created_at` at first.
    pub updated_at: Timestamp,
}

/// A link, with what people call the item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedShareLink {
    /// The link.
    pub link: ShareLink,
    /// What the file or folder is called.
    pub item_name: String,
}

string_enum! {
    /// Who may follow a link.
    Audience {
        /// Anybody who has the url.
        Public = "public",
        /// Members of the team.
        Team = "team",
    }
}

string_enum! {
    /// Whether a link works.
    ShareLinkStatus {
        /// It can be followed.
        Active = "active",
        /// Its time is over.
        Expired = "expired",
    }
}

/// What a link allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// Whether it shows the item.
    pub can_view: bool,
    /// Whether it hands the item out.
    pub can_download: bool,
}

/// Who made a link; also after the user was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creator {
    /// The user.
    pub id: UserId,
    /// What the user is called.
    pub display_name: String,
}

impl ShareLink {
    /// The url to hand out. It is a secret: whoever has it can follow it.
    pub fn url(&self, public_url: &str) -> Secret {
        Secret::from_text(format!("{public_url}/s/{}", self.secret.reveal()))
    }

    /// Whether the link works now.
    pub fn status(&self, now: Timestamp) -> ShareLinkStatus {
        match self.expires_at {
            Some(expires_at) if expires_at <= now => ShareLinkStatus::Expired,
            _ => ShareLinkStatus::Active,
        }
    }

    /// The error for an id that no link has; the command line shows it.
    pub(crate) fn missing(id: ShareLinkId) -> Error {
        Error::Missing {
            noun: "share link",
            id: id.to_string(),
            remedy: "`invoicing link list` shows the links of a team",
        }
    }

    /// The error for an item that has as many links as it may; the command line shows it.
    pub(crate) fn too_many(item_id: ItemId) -> Error {
        Error::Refused(format!(
            "{item_id} has {LINKS_PER_ITEM} share links, and no item may have more; revoke one first"
        ))
    }
}

/// What a new link is to be.
#[derive(Clone, Debug)]
pub struct CreateLink {
    /// What to share.
    pub item_id: ItemId,
    /// Who shares it: a member of the item's team.
    pub user_id: UserId,
    /// What to call the link.
    pub name: Option<String>,
    /// Who may follow it.
    pub audience: Audience,
    /// Whether it hands the item out, or only shows it.
    pub can_download: bool,
    /// What it asks for.
    pub password: Option<Secret>,
    /// How long it works; none for a link without end.
    pub expires_in: Option<Duration>,
}

/// A new link, as it goes to the store.
#[derive(Clone, Debug)]
pub struct NewShareLink {
    /// Identifies it.
    pub id: ShareLinkId,
    /// As asked for.
    pub create: CreateLink,
    /// The part of the url that nobody can guess.
    pub secret: Secret,
    /// The password as Argon2id, a PHC string.
    pub password_hash: Option<Secret>,
    /// From when on it shows nothing.
    pub expires_at: Option<Timestamp>,
    /// When it is made.
    pub now: Timestamp,
}
