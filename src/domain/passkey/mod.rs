//! Passkeys: WebAuthn credentials with which users sign in (docs/decisions.md, P20 to P24).
//!
//! 1. The relying party is the host of the origin, and a passkey works at the host for which it was made. Browsers accept no
//!    IP address as that host, so there are no passkeys at one.
//! 2. A passkey finds its user by itself (it is discoverable), and verifies with a PIN or a fingerprint that its user is the
//!    one who holds it. The service does not ask which device made it.
//! 3. The library makes the checks that WebAuthn Level 3 requires of a relying party (sections 7.1 and 7.2), and encodes
//!    what it needs next time: the key, then the counter, whether there is a backup, and how the user was verified. `FORMAT`
//!    is the version of this encoding.
//! 4. A counter that does not advance means that there are two copies of the key: that passkey is refused.

pub mod ceremony;
pub(crate) mod challenge;

use std::net::IpAddr;

use webauthn_rp::request::{AsciiDomain, DomainOrigin, RpId};

use super::Error;
use super::id::{PasskeyId, UserId};
use super::input::typed_text;
use super::time::Timestamp;

/// The most passkeys a user may have.
pub const PASSKEYS: usize = 20;

/// The format in which this version of the library encodes a key and a state.
pub(crate) const FORMAT: i64 = 1;

/// The most characters in a name.
const NAME_LENGTH: usize = 100;

/// A passkey of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    /// Identifies it here.
    pub id: PasskeyId,
    /// The user it belongs to.
    pub user_id: UserId,
    /// What the user calls it.
    pub name: String,
    /// The host for which it was made, and at which it works.
    pub rp_id: String,
    /// The authenticator's id for it.
    pub credential_id: Vec<u8>,
    /// The `FORMAT` in which the next three are encoded.
    pub format: i64,
    /// How a browser reaches its authenticator.
    pub transports: i64,
    /// Its public key.
    pub public_key: Vec<u8>,
    /// The counter, whether it is backed up, and what else the library needs next time.
    pub state: Vec<u8>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last signed its user in, or confirmed who they are.
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

/// Checks the name that a user gives a passkey.
///
/// # Errors
/// [`Error::Invalid`] if it is not a valid name.
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

/// Where passkeys work: the host of an origin, and the origin itself, which a browser includes in what is signed.
#[derive(Clone, Debug)]
pub struct RelyingParty {
    rp_id: RpId,
    origin: String,
}

impl RelyingParty {
    /// The relying party of an origin; `None` if its host is an IP address.
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
