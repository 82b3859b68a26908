//! The ways in which people sign in, and which of them are switched on (docs/decisions.md, P3, P16 and P30).

use super::passkey::RelyingParty;
use super::string_enum::string_enum;

string_enum! {
    /// A way to sign in.
    Way {
        /// By a password.
        Password = "password",
        /// By a passkey.
        Passkey = "passkey",
        /// By an identity at the OpenID provider.
        Provider = "provider",
    }
}

/// Which ways are switched on, according to the settings.
#[derive(Clone, Debug)]
pub struct SwitchedOn {
    /// Passwords.
    pub password: bool,
    /// Where passkeys work, if they are offered.
    pub relying_party: Option<RelyingParty>,
    /// The issuer whose identities count, if there is a provider.
    pub issuer: Option<String>,
}

impl SwitchedOn {
    /// Whether no way is switched on.
    pub fn is_none(&self) -> bool {
        !self.password && self.relying_party.is_none() && self.issuer.is_none()
    }

    /// The host of the passkeys that count; empty, which no passkey has, if none are offered.
    pub(crate) fn rp_id(&self) -> &str {
        self.relying_party.as_ref().map_or("", RelyingParty::id)
    }
}

impl Default for SwitchedOn {
    fn default() -> SwitchedOn {
        SwitchedOn {
            password: true,
            relying_party: None,
            issuer: None,
        }
    }
}

/// The ways in which a user can sign in; only those that are switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaysToSignIn {
    /// Whether the user has a password.
    pub password: bool,
    /// Whether the user has a passkey that works here.
    pub passkey: bool,
    /// Whether the user has an identity at the provider.
    pub provider: bool,
}

impl WaysToSignIn {
    /// Whether there is none.
    pub fn is_none(self) -> bool {
        self == WaysToSignIn::default()
    }
}
