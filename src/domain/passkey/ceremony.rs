//! WebAuthn ceremonies: asks a browser to have something signed, and checks its answer, with calls to the library.
//!
//! Checking a signature is done inline with the request, so only keys are accepted with which that takes a few hundred
//! microseconds: no P-384, which takes two milliseconds, and no unusual RSA. Nobody needs these: authenticators have Ed25519,
//! P-256, or RSA with 2048 bits.

use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;
use webauthn_rp::bin::{Decode as _, Encode as _};
use webauthn_rp::request::auth::{
    AuthenticationVerificationOptions, DiscoverableCredentialRequestOptions,
};
use webauthn_rp::request::register::{
    CoseAlgorithmIdentifier, CredProtect, PublicKeyCredentialCreationOptions,
    PublicKeyCredentialUserEntity, RegistrationVerificationOptions, UserHandle16, Username,
};
use webauthn_rp::request::{ExtensionInfo, PublicKeyCredentialDescriptor};
use webauthn_rp::response::auth::error::AuthCeremonyErr;
use webauthn_rp::response::register::{
    AttestationObject, DynamicState, StaticState, UncompressedPubKey,
};
use webauthn_rp::response::{AuthTransports, CredentialId};
use webauthn_rp::{
    AuthenticatedCredential, DiscoverableAuthentication16, DiscoverableAuthenticationServerState,
    Registration, RegistrationServerState,
};

use super::{FORMAT, Passkey, RelyingParty};
use crate::domain::Error;
use crate::domain::id::{PasskeyId, UserId};
use crate::domain::time::Timestamp;
use crate::domain::user::User;

/// The longest answer that is read. An answer has two kilobytes, or a few more if the key is RSA.
const LENGTH: usize = 32 * 1024;

/// The longest modulus of an RSA key, in bytes. The library would accept four times as much, with which checking a signature
/// takes twelve milliseconds.
const MODULUS_LENGTH: usize = 4096 / 8;

/// The exponent of an RSA key. With the largest, checking a signature takes four times as long.
const EXPONENT: u32 = 65_537;

/// What a browser is asked to have signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The options that its script passes on, as JSON (WebAuthn Level 3, section 5.1.10).
    pub options: String,
    /// The sealed challenge, which comes back with the answer.
    pub challenge: String,
}

/// A browser's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The sealed challenge.
    pub challenge: String,
    /// The credential, as JSON (WebAuthn Level 3, section 5.1).
    pub credential: String,
}

/// The options for the browser, and the state that checking its answer needs.
type Begun = Result<(String, Vec<u8>), Error>;

/// Asks for a new passkey, on a device that has none of `known`.
pub(crate) fn ask_to_add(party: &RelyingParty, user: &User, known: &[Passkey]) -> Begun {
    let handle = UserHandle16::from(*user.id.as_bytes());
    let id = user.id.to_string();
    // If the library does not accept the email as a name, the device shows the id instead.
    let name = Username::try_from(user.email.as_str());
    let name = name.or_else(|_| Username::try_from(id.as_str()));
    let display_name = display_name(&user.name);
    let entity = PublicKeyCredentialUserEntity {
        name: name.map_err(failed)?,
        id: &handle,
        display_name: display_name.as_str().try_into().ok(),
    };
    let known: Result<_, Error> = known.iter().map(descriptor).collect();
    let mut options = PublicKeyCredentialCreationOptions::passkey(&party.rp_id, entity, known?);
    // A security key should name no user before it has verified who holds it; devices without that protection are
    // accepted, too.
    let protection = CredProtect::UserVerificationRequired(ExtensionInfo::AllowDontEnforceValue);
    options.extensions.cred_protect = protection;
    options.pub_key_cred_params = options
        .pub_key_cred_params
        .remove(CoseAlgorithmIdentifier::Es384);
    let (state, options) = options.start_ceremony().map_err(failed)?;
    let options = serde_json::to_string(&options).map_err(failed)?;
    Ok((options, state.encode().map_err(failed)?))
}

/// The name as the device shows it. The library maps the spaces by itself (RFC 8266, section 2.1), but panics if one that it
/// has to map stands behind a letter that is not ASCII, such as the one in a Japanese name.
fn display_name(name: &str) -> String {
    let name: String = name.nfkc().collect();
    let words: Vec<_> = name.split_whitespace().collect();
    words.join(" ")
}

fn descriptor(passkey: &Passkey) -> Result<PublicKeyCredentialDescriptor<Vec<u8>>, Error> {
    Ok(PublicKeyCredentialDescriptor {
        id: CredentialId::try_from(passkey.credential_id.clone()).map_err(failed)?,
        transports: transports(passkey)?,
    })
}

fn transports(passkey: &Passkey) -> Result<AuthTransports, Error> {
    // Transports that a later release wrote cannot be read; a browser finds the device without them.
    if passkey.format != FORMAT {
        return Ok(AuthTransports::NONE);
    }
    let bits = u8::try_from(passkey.transports).map_err(failed)?;
    AuthTransports::decode(bits).map_err(failed)
}

/// Checks a browser's answer, and returns the new passkey; `state` was made with the options.
///
/// # Errors
/// [`Error::PasskeyRefused`]; [`Error::Internal`].
pub(crate) fn added(
    party: &RelyingParty,
    state: &[u8],
    json: &str,
    (id, user_id, name): (PasskeyId, UserId, String),
    now: Timestamp,
) -> Result<Passkey, Error> {
    let registration =
        (json.len() <= LENGTH).then(|| Registration::from_json_relaxed(json.as_bytes()));
    let registration = registration.ok_or(Error::PasskeyRefused)?;
    let registration = registration.map_err(|_| Error::PasskeyRefused)?;
    // Before the library checks what the key itself has signed.
    if !has_quick_key(&registration) {
        return Err(Error::PasskeyRefused);
    }
    let state = RegistrationServerState::<16>::decode(state).map_err(|_| Error::PasskeyRefused)?;
    let origins = [party.origin.as_str()];
    let options = RegistrationVerificationOptions::<&str, &str> {
        allowed_origins: &origins,
        // Password managers answer for extensions that were not asked for, which does no harm.
        error_on_unsolicited_extensions: false,
        ..RegistrationVerificationOptions::default()
    };
    let made = state.verify(&party.rp_id, &registration, &options);
    let made = made.map_err(|_| Error::PasskeyRefused)?;
    if made.user_id().as_ref() != user_id.as_bytes() {
        return Err(Error::PasskeyRefused);
    }
    Ok(Passkey {
        id,
        user_id,
        name,
        rp_id: party.id().to_owned(),
        credential_id: made.id().as_ref().to_vec(),
        format: FORMAT,
        transports: made.transports().encode().map_err(failed)?.into(),
        public_key: made.static_state().encode().map_err(failed)?,
        state: made.dynamic_state().encode().map_err(failed)?.to_vec(),
        created_at: now,
        last_used_at: None,
    })
}

/// Whether checking a signature with the new key takes no longer than it may.
fn has_quick_key(registration: &Registration) -> bool {
    let object = AttestationObject::try_from(registration.response().attestation_object());
    object.is_ok_and(|object| {
        let attested = object.auth_data().attested_credential_data();
        match &attested.credential_public_key {
            UncompressedPubKey::Ed25519(_) | UncompressedPubKey::P256(_) => true,
            UncompressedPubKey::P384(_) => false,
            UncompressedPubKey::Rsa(key) => key.n().len() <= MODULUS_LENGTH && key.e() == EXPONENT,
        }
    })
}

/// Asks for any passkey of this relying party: the device shows which it has (docs/decisions.md, P24).
pub(crate) fn ask_to_sign(party: &RelyingParty) -> Begun {
    let options = DiscoverableCredentialRequestOptions::passkey(&party.rp_id);
    let (state, options) = options.start_ceremony().map_err(failed)?;
    let options = serde_json::to_string(&options).map_err(failed)?;
    Ok((options, state.encode().map_err(failed)?))
}

/// An answer that says which user the passkey is of. The library reads one that says `null`, and panics when it is checked.
#[derive(Deserialize)]
struct WithUser {
    #[serde(rename = "response")]
    _response: UserOfResponse,
}

#[derive(Deserialize)]
struct UserOfResponse {
    #[serde(rename = "userHandle")]
    _user_handle: String,
}

/// What a passkey has signed, not checked yet.
pub(crate) struct Signed(DiscoverableAuthentication16);

/// The result of checking it.
#[derive(Debug)]
pub(crate) enum Verified {
    /// The passkey is its user's; this is its state from now on.
    Good(Vec<u8>),
    /// There are two copies of the key.
    Cloned,
}

impl Signed {
    /// Reads an answer.
    ///
    /// # Errors
    /// [`Error::PasskeyRefused`].
    pub(crate) fn read(json: &str) -> Result<Signed, Error> {
        if json.len() > LENGTH || serde_json::from_str::<WithUser>(json).is_err() {
            return Err(Error::PasskeyRefused);
        }
        let read = DiscoverableAuthentication16::from_json_relaxed(json.as_bytes());
        read.map(Signed).map_err(|_| Error::PasskeyRefused)
    }

    /// The authenticator's id for the passkey.
    pub(crate) fn credential_id(&self) -> Vec<u8> {
        self.0.raw_id().as_ref().to_vec()
    }

    /// Checks it against the passkey with that id; `state` was made with the options.
    ///
    /// # Errors
    /// [`Error::PasskeyRefused`]; [`Error::Internal`].
    pub(crate) fn verify(
        &self,
        party: &RelyingParty,
        state: &[u8],
        passkey: &Passkey,
    ) -> Result<Verified, Error> {
        if passkey.format != FORMAT {
            return Err(Error::internal("a passkey of a later release"));
        }
        let asked = DiscoverableAuthenticationServerState::decode(state);
        let asked = asked.map_err(|_| Error::PasskeyRefused)?;
        let handle = UserHandle16::from(*passkey.user_id.as_bytes());
        let kept = passkey.state.as_slice().try_into().map_err(failed)?;
        let id = CredentialId::try_from(passkey.credential_id.as_slice()).map_err(failed)?;
        let mut known = AuthenticatedCredential::new(
            id,
            &handle,
            StaticState::decode(&passkey.public_key).map_err(failed)?,
            DynamicState::decode(kept).map_err(failed)?,
        )
        .map_err(failed)?;
        let origins = [party.origin.as_str()];
        let options = AuthenticationVerificationOptions::<&str, &str> {
            allowed_origins: &origins,
            error_on_unsolicited_extensions: false,
            ..AuthenticationVerificationOptions::default()
        };
        match asked.verify(&party.rp_id, &self.0, &mut known, &options) {
            Ok(_) => {
                let state = known.dynamic_state().encode().map_err(failed)?;
                Ok(Verified::Good(state.to_vec()))
            }
            Err(AuthCeremonyErr::SignatureCounter) => Ok(Verified::Cloned),
            Err(_) => Err(Error::PasskeyRefused),
        }
    }
}

/// An error that cannot happen with data that this module itself has written.
fn failed(error: impl std::fmt::Display) -> Error {
    Error::internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn asked_with(name: &str) -> serde_json::Value {
        let party = RelyingParty::of("https://a.example").unwrap();
        let user = User {
            id: UserId(Uuid::from_u128(1)),
            email: "a@example.com".to_owned(),
            name: name.to_owned(),
            created_at: Timestamp::from_millis(0),
            deactivated_at: None,
        };
        let (options, _) = ask_to_add(&party, &user, &[]).unwrap();
        let options: serde_json::Value = serde_json::from_str(&options).unwrap();
        options["user"]["displayName"].clone()
    }

    #[test]
    fn a_name_with_spaces_of_any_kind_is_shown_with_plain_ones() {
        for (name, shown) in [
            ("日本\u{3000}太郎", "日本 太郎"),
            ("É\u{3000}é", "É é"),
            ("ééééé\u{a0}x", "ééééé x"),
            ("é  x", "é x"),
            // Its normal form begins with a space.
            ("é \u{a8}", "é \u{308}"),
            ("\u{3000}é\u{2003}", "é"),
        ] {
            assert_eq!(asked_with(name), shown, "{name:?}");
        }
        // Each character that may be, or become, a space.
        let all = ('\u{1}'..='\u{ffff}').filter(|it| it.nfkc().any(char::is_whitespace));
        for space in all {
            asked_with(&format!("ééé{space}é {space}é"));
        }
    }
}
