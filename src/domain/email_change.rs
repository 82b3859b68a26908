//! Changing an email (docs/decisions.md, P17 to P19).
//!
//! 1. A user asks for it with a fresh sign-in. The email is kept beside the account, and a link is mailed to it, whose secret
//!    has 256 bits, and the database the SHA-256. A newer one replaces it, and it is good for an hour.
//! 2. It counts once the same user, signed in, has confirmed it by a POST of the page that the link leads to. The link alone is
//!    not enough: with a slip of the keyboard it goes to somebody else, who could set the password anew after that.
//! 3. Whether another user has the email is not told to whoever asks. That user is, and finds out no more than that somebody
//!    wants it. It is checked again when it is to count.

use std::time::Duration;

use super::id::UserId;
use super::secret::{Digest, Secret};
use super::time::Timestamp;

/// For how long a link is good.
pub const LIFETIME: Duration = Duration::from_hours(1);

/// An email that a user wants to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmailChange {
    /// Who wants it.
    pub user_id: UserId,
    /// The SHA-256 of the secret of the link.
    pub digest: Digest,
    /// The email.
    pub email: String,
    /// The first instant at which it is no longer good.
    pub expires_at: Timestamp,
}

/// The address of the page, below where people reach the service.
pub(crate) fn url(origin: &str, secret: &Secret) -> Secret {
    Secret::from_text(format!("{origin}/account/email/{}", secret.reveal()))
}
