//! Links that are good once (docs/decisions.md, P34): whoever has one may set the service up, or set a password anew.
//!
//! The secret at the end of a link has 256 bits, and the database its SHA-256. A newer link replaces the one before of its
//! purpose and user. Only a POST spends it: scanners of mail follow links.

use std::time::Duration;

use super::id::UserId;
use super::secret::{Digest, Secret};
use super::string_enum::string_enum;
use super::time::Timestamp;

string_enum! {
    /// What a link is good for.
    Purpose {
        /// To make the first owner.
        SetUp = "set-up",
        /// To set a password anew.
        Reset = "reset",
    }
}

impl Purpose {
    /// For how long a link is good.
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
    /// What it is good for.
    pub purpose: Purpose,
    /// For whom; nobody yet for setting up.
    pub user_id: Option<UserId>,
    /// The first instant at which it is no longer good.
    pub expires_at: Timestamp,
}

/// A link that was just made; this is the only time that it is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedLink {
    /// What it is good for.
    pub purpose: Purpose,
    /// Its secret.
    pub secret: Secret,
    /// The first instant at which it is no longer good.
    pub expires_at: Timestamp,
}

impl IssuedLink {
    /// The address of the page, below where people reach the service.
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
