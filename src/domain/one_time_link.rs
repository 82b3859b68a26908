//! One-time links (docs/decisions.md, P34): anyone who has one may set the service up, or reset a password.
//!
//! The secret at the end of a link has 256 bits; the database has its SHA-256. A newer link replaces the previous one
//! with the same purpose and user. Only a POST spends a link, since mail scanners follow links.

use std::time::Duration;

use super::id::UserId;
use super::secret::{Digest, Secret};
use super::string_enum::string_enum;
use super::time::Timestamp;

string_enum! {
    /// What a link is for.
    Purpose {
        /// To make the first owner.
        SetUp = "set-up",
        /// To reset a password.
        Reset = "reset",
    }
}

impl Purpose {
    /// How long a link is valid.
    pub fn lifetime(self) -> Duration {
        match self {
            Purpose::SetUp => Duration::from_hours(24),
            Purpose::Reset => Duration::from_hours(1),
        }
    }

    /// The path of the page that a link leads to, without its secret.
    pub fn path(self) -> &'static str {
        match self {
            Purpose::SetUp => "/setup/",
            Purpose::Reset => "/reset/",
        }
    }
}

/// A link, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneTimeLink {
    /// The SHA-256 of the secret.
    pub digest: Digest,
    /// What it is for.
    pub purpose: Purpose,
    /// The user it is for; `None` for set-up, when there is no user yet.
    pub user_id: Option<UserId>,
    /// The first instant at which it is no longer valid.
    pub expires_at: Timestamp,
}

/// A link that was just made; it is shown only this once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedLink {
    /// What it is for.
    pub purpose: Purpose,
    /// Its secret.
    pub secret: Secret,
    /// The first instant at which it is no longer valid.
    pub expires_at: Timestamp,
}

impl IssuedLink {
    /// The URL of its page, under the origin at which people reach the service.
    pub fn url(&self, origin: &str) -> Secret {
        let path = self.purpose.path();
        Secret::from_text(format!("{origin}{path}{}", self.secret.reveal()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_its_page_and_is_good_for_a_day_or_an_hour() {
        for (purpose, url, hours) in [
            (Purpose::SetUp, "https://a.example/setup/s", 24),
            (Purpose::Reset, "https://a.example/reset/s", 1),
        ] {
            let issued = IssuedLink {
                purpose,
                secret: Secret::from_text("s"),
                expires_at: Timestamp::from_millis(0),
            };
            assert_eq!(issued.url("https://a.example").reveal(), url);
            assert_eq!(purpose.lifetime(), Duration::from_secs(hours * 3600));
        }
    }
}
