//! Passkeys: WebAuthn credentials by which users sign in (docs/decisions.md, P20 to P24).
//!
//! 1. The relying party is the host of the origin, and a passkey is good at the host at which it was made. An IP address is
//!    no host to a browser, so there are none at one.
//! 2. A passkey finds its user by itself (it is discoverable), and makes sure that it is the user who holds it, by a PIN or a
//!    finger. Which device made it is not asked.
//! 3. The library checks what WebAuthn Level 3 has a relying party check (sections 7.1 and 7.2), and writes what it has to know
//!    next time: the key, then the counter, whether there is a backup, and how the user was verified. `FORMAT` tells its writings apart.
//! 4. A counter that does not go on means that there are two of the same key: that passkey is refused.

pub mod ceremony;
pub(crate) mod challenge;

use std::net::IpAddr;

use webauthn_rp::request::{AsciiDomain, DomainOrigin, RpId};

use super::Error;
use super::id::{PasskeyId, UserId};
use super::input::typed_text;
use super::time::Timestamp;

/// A user has as many at most.
pub const PASSKEYS: usize = 20;

/// How the library of this version writes a key and a state.
pub(crate) const FORMAT: i64 = 1;

/// The longest name.
const NAME_LENGTH: usize = 100;

/// A passkey of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    /// Identifies it here.
    pub id: PasskeyId,
    /// Whose it is.
    pub user_id: UserId,
    /// What the user calls it.
    pub name: String,
    /// The host at which it was made, and is good.
    pub rp_id: String,
    /// What its authenticator calls it.
    pub credential_id: Vec<u8>,
    /// `FORMAT`, by which the next three are written.
    pub format: i64,
    /// How a browser reaches its authenticator.
    pub transports: i64,
    /// Its public key.
    pub public_key: Vec<u8>,
    /// The counter, whether it is backed up, and what else the library wants to know next time.
    pub state: Vec<u8>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last signed in its user, or confirmed that it was them.
    pub last_used_at: Option<Timestamp>,
}

impl Passkey {
    /// The error for an id that no passkey of the user has.
    pub(crate) fn missing(id: PasskeyId) -> Error {
        Error::Missing {
            noun: "passkey",
            id: id.to_string(),
            remedy: "it may have been removed",
        }
    }
}

/// What a user calls a passkey.
///
/// # Errors
/// [`Error::Invalid`] for what is no name.
pub(crate) fn passkey_name(text: &str) -> Result<String, Error> {
    let name = typed_text("name", text)?;
    match name.chars().count() <= NAME_LENGTH {
        true => Ok(name),
        false => Err(Error::invalid(
            "name",
            format!("is longer than {NAME_LENGTH} characters; shorten it"),
        )),
    }
}

/// Where passkeys are good: the host of an origin, and the origin itself, which a browser writes into what is signed.
#[derive(Clone, Debug)]
pub struct RelyingParty {
    rp_id: RpId,
    origin: String,
}

impl RelyingParty {
    /// That of an origin; none of one at an IP address.
    pub fn of(origin: &str) -> Option<RelyingParty> {
        let host = DomainOrigin::try_from(origin).ok()?.host;
        if host.starts_with('[') || host.parse::<IpAddr>().is_ok() {
            return None;
        }
        let domain = AsciiDomain::try_from(host.to_owned()).ok()?;
        Some(RelyingParty {
            rp_id: RpId::Domain(domain),
            origin: origin.to_owned(),
        })
    }

    /// The host.
    pub fn id(&self) -> &str {
        self.rp_id.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_passkeys_and_an_ip_address_has_none() {
        for (origin, id) in [
            ("https://invoices.example.com", Some("invoices.example.com")),
            ("https://a.example:8443", Some("a.example")),
            ("http://localhost:8080", Some("localhost")),
            ("http://127.0.0.1:8080", None),
            ("https://192.0.2.1", None),
            ("http://[::1]:8080", None),
            ("https://[2001:db8::1]", None),
        ] {
            let party = RelyingParty::of(origin);
            assert_eq!(party.as_ref().map(RelyingParty::id), id, "{origin}");
        }
    }

    #[test]
    fn a_name_is_trimmed_and_has_a_hundred_characters_at_most() {
        assert_eq!(passkey_name(" My phone ").unwrap(), "My phone");
        passkey_name(&"x".repeat(100)).unwrap();
        for wrong in ["", " ", &"x".repeat(101), "a\0b"] {
            let refused = passkey_name(wrong);
            assert!(matches!(refused, Err(Error::Invalid(_))), "{wrong:?}");
        }
    }
}
