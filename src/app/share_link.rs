//! Share links: a url that shows one file or folder to whoever has it.
//!
//! - The url is `public_url`, `/s/`, and a secret of 256 random bits. Members may read it again, so the
//!   store keeps that secret as it is; a password, which nobody may read again, is kept as Argon2id.
//! - A link ends by being revoked, which hides it, or by expiring, which the list still shows.
//! - An item has at most [`LINKS_PER_ITEM`] links that are not revoked, so that one answer holds them all.

use std::time::Duration;

use argon2::{Argon2, PasswordHasher};

use super::id::{ShareLinkId, TeamId, UserId};
use super::item::ItemId;
use super::secret::Secret;
use super::time::Timestamp;
use super::word::words;
use super::{App, Error, command_text, end_of};

/// How many links an item may have that are not revoked (docs/decisions.md, L3).
pub const LINKS_PER_ITEM: usize = 1000;

/// Bytes of a password: hashing takes time for each, so there is a bound.
const PASSWORD_LENGTH: usize = 1024;

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

words! {
    /// Who may follow a link.
    Audience {
        /// Anybody who has the url.
        Public = "public",
        /// Members of the team.
        Team = "team",
    }
}

words! {
    /// Whether a link works.
    ShareLinkStatus {
        /// It does.
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
    pub fn url(&self, app: &App) -> Secret {
        Secret::from_text(format!("{}/s/{}", app.public_url(), self.secret.reveal()))
    }

    /// Whether the link works now.
    pub fn status(&self, app: &App) -> ShareLinkStatus {
        self.status_at(app.now())
    }

    fn status_at(&self, now: Timestamp) -> ShareLinkStatus {
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
            remedy: "`invoicing link create` makes one and prints its id",
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

impl App {
    /// The links of an item of a team that are not revoked, newest first. Whether the caller is a member
    /// of the team, [`App::membership`] tells before.
    ///
    /// # Errors
    /// [`Error::ItemNotFound`] when the team has no such item.
    pub async fn list_links(
        &self,
        team_id: TeamId,
        item_id: ItemId,
    ) -> Result<Vec<ShareLink>, Error> {
        self.store.list_links(team_id, item_id).await
    }

    /// Makes a link to an item.
    ///
    /// # Errors
    /// [`Error::Missing`] for an item or user that does not exist, [`Error::NotAMember`] for a user who is
    /// not in the item's team, [`Error::Refused`] for an item with [`LINKS_PER_ITEM`] links, a name that is
    /// not one, an empty password and one of more than a kilobyte.
    pub async fn create_link(&self, mut create: CreateLink) -> Result<ShareLink, Error> {
        create.name = create
            .name
            .map(|name| command_text("link's name", &name))
            .transpose()?;
        let password_hash = match create.password.take() {
            Some(password) => Some(hash_password(password).await?),
            None => None,
        };
        let now = self.now();
        let link = NewShareLink {
            id: self.ids.next(now),
            expires_at: create
                .expires_in
                .map(|time| end_of(now, time))
                .transpose()?,
            create,
            secret: Secret::base62(),
            password_hash,
            now,
        };
        self.store.create_link(link).await
    }

    /// Ends a link, at once and for ever. Revoking it again changes nothing.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such link.
    pub async fn revoke_link(&self, id: ShareLinkId) -> Result<(), Error> {
        self.store.revoke_link(id, self.now()).await
    }
}

/// The password as Argon2id with the parameters that OWASP recommends, which are the crate's own: 19 MiB, two
/// passes. That is work for tens of milliseconds, so it is done where no request waits for the thread.
async fn hash_password(password: Secret) -> Result<Secret, Error> {
    match password.reveal().len() {
        0 => {
            return Err(Error::Refused(
                "the password is empty; give it at least one character".into(),
            ));
        }
        1..=PASSWORD_LENGTH => {}
        _ => {
            return Err(Error::Refused(format!(
                "the password is longer than {PASSWORD_LENGTH} bytes; shorten it"
            )));
        }
    }
    let hash = move || {
        let hash = Argon2::default().hash_password(password.reveal().as_bytes());
        hash.map(|hash| Secret::from_text(hash.to_string()))
    };
    let hashed = tokio::task::spawn_blocking(hash)
        .await
        .map_err(Error::internal)?;
    hashed.map_err(|error| Error::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use argon2::PasswordVerifier;
    use argon2::password_hash::phc::PasswordHash;

    use super::*;

    #[tokio::test]
    async fn a_password_is_kept_as_argon2id_and_salted() {
        let hash = || hash_password(Secret::from_text("tulip"));
        let (one, two) = (hash().await.unwrap(), hash().await.unwrap());
        assert!(
            one.reveal().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{}",
            one.reveal()
        );
        assert_ne!(one, two);
        let parsed = PasswordHash::new(one.reveal()).unwrap();
        assert!(Argon2::default().verify_password(b"tulip", &parsed).is_ok());
        assert!(
            Argon2::default()
                .verify_password(b"Tulip", &parsed)
                .is_err()
        );
    }

    #[tokio::test]
    async fn an_empty_password_and_an_endless_one_are_refused() {
        for wrong in [String::new(), "x".repeat(PASSWORD_LENGTH + 1)] {
            let refused = hash_password(Secret::from_text(wrong)).await;
            assert!(matches!(refused, Err(Error::Refused(_))));
        }
    }
}
