//! Share links: a url that shows one file or folder to anyone who has it.
//!
//! - The url is `public_url`, `/s/`, and a secret of 256 random bits. Members may read it again, so the store keeps
//!   that secret in plain text; a password, which nobody may read again, is kept as Argon2id.
//! - A link ends when it is revoked, which hides it, or when it expires; expired links are still listed.
//! - An item has at most [`LINKS_PER_ITEM`] links that are not revoked, so that one answer holds them all.

use std::time::Duration;

use super::Error;
use super::id::{ShareLinkId, UserId};
use super::item::ItemId;
use super::secret::Secret;
use super::string_enum::string_enum;
use super::time::Timestamp;

/// How many unrevoked links an item may have (docs/decisions.md, L3).
pub const LINKS_PER_ITEM: usize = 1000;

/// A share link, without its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareLink {
    /// Identifies it.
    pub id: ShareLinkId,
    /// What it shares.
    pub item_id: ItemId,
    /// The unguessable part of the url.
    pub secret: Secret,
    /// What people call it.
    pub name: Option<String>,
    /// Who may follow it.
    pub audience: Audience,
    /// What it allows.
    pub permissions: Permissions,
    /// Whether it asks for a password.
    pub password_protected: bool,
    /// When it expires, and shows nothing from then on; `None` if it never does.
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
        /// Anyone who has the url.
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
        /// It has expired.
        Expired = "expired",
    }
}

/// What a link allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// Whether it shows the item.
    pub can_view: bool,
    /// Whether the item can be downloaded.
    pub can_download: bool,
}

/// Who made a link, kept after the user is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creator {
    /// The user.
    pub id: UserId,
    /// What the user is called.
    pub display_name: String,
}

impl ShareLink {
    /// The url to hand out. It is a secret: anyone who has it can follow it.
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

    /// The error for an item that already has the most links allowed; the command line shows it.
    pub(crate) fn too_many(item_id: ItemId) -> Error {
        Error::Refused(format!(
            "{item_id} has {LINKS_PER_ITEM} share links, and no item may have more; revoke one first"
        ))
    }
}

/// A request for a new link.
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
    /// Whether the item can be downloaded, or only viewed.
    pub can_download: bool,
    /// The password that it asks for.
    pub password: Option<Secret>,
    /// How long it works; `None` if it never expires.
    pub expires_in: Option<Duration>,
}

/// A new link, as it goes to the store.
#[derive(Clone, Debug)]
pub struct NewShareLink {
    /// Identifies it.
    pub id: ShareLinkId,
    /// As asked for.
    pub create: CreateLink,
    /// The unguessable part of the url.
    pub secret: Secret,
    /// The password as Argon2id, a PHC string.
    pub password_hash: Option<Secret>,
    /// When it expires, and shows nothing from then on.
    pub expires_at: Option<Timestamp>,
    /// When it is made.
    pub now: Timestamp,
}
