//! Changing an email (docs/decisions.md, P17 to P19).
//!
//! 1. A user asks for it with a fresh sign-in. The new email is stored beside the account, and a link is mailed to it. The
//!    link's secret has 256 bits; the database has the SHA-256. It is valid for an hour, and a newer one replaces it.
//! 2. The new email counts once the same user, signed in, has confirmed it by a POST from the page that the link leads to.
//!    The link alone is not enough: after a typing error it goes to someone else, who could then reset the password.
//! 3. The user who asks does not learn whether another user has the email. That other user is told, but only that someone
//!    wants it. This is checked again before the new email counts.

use std::time::Duration;

use super::id::UserId;
use super::secret::{Digest, Secret};
use super::time::Timestamp;

/// How long a link is valid.
pub const LIFETIME: Duration = Duration::from_hours(1);

/// A new email that a user has asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmailChange {
    /// The user who asked.
    pub user_id: UserId,
    /// The SHA-256 of the secret of the link.
    pub digest: Digest,
    /// The email.
    pub email: String,
    /// The first instant at which it is no longer valid.
    pub expires_at: Timestamp,
}

/// The URL of the page, under the origin at which people reach the service.
pub(crate) fn url(origin: &str, secret: &Secret) -> Secret {
    Secret::from_text(format!("{origin}/account/email/{}", secret.reveal()))
}
