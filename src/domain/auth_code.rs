//! Authorization codes: what a sign-in hands to the app, to be exchanged for a session.
//!
//! A code travels through a browser and an app's URL handler, where others may read it. So it lives for 60 seconds,
//! works once, for the client and redirect URI that it was made for, and only together with the verifier whose
//! challenge the app sent before (RFC 7636). S256 is the only method: with `plain` the challenge is the verifier, so
//! anyone who saw the one would have the other. Since a challenge is stored as the digest that it encodes, there is
//! nothing to make a `plain` comparison with.
//!
//! [`super::session`] describes what happens to a code.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::id::UserId;
use super::oauth_client::ClientId;
use super::secret::{Digest, Secret};
use super::time::Timestamp;

/// How long a code can be exchanged (docs/decisions.md, S1).
pub const CODE_LIFETIME: Duration = Duration::from_secs(60);

/// An S256 code challenge: the SHA-256 of a verifier that only the app has (RFC 7636, 4.2).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CodeChallenge(Digest);

impl CodeChallenge {
    /// The challenge that `verifier` answers.
    pub fn of(verifier: &Secret) -> CodeChallenge {
        CodeChallenge(verifier.digest())
    }

    /// The challenge as the store keeps it.
    pub fn digest(&self) -> &Digest {
        &self.0
    }

    /// A challenge that the store kept.
    pub fn from_digest(digest: Digest) -> CodeChallenge {
        CodeChallenge(digest)
    }
}

/// Not a secret, but it does not belong in a log either.
impl fmt::Debug for CodeChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CodeChallenge(..)")
    }
}

/// A text that is not an S256 challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a code challenge is BASE64URL(SHA256(verifier)) without padding, 43 characters (RFC 7636, method S256)"
)]
pub struct NotAChallenge;

impl FromStr for CodeChallenge {
    type Err = NotAChallenge;

    fn from_str(text: &str) -> Result<CodeChallenge, NotAChallenge> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| NotAChallenge)?;
        let bytes = bytes.try_into().map_err(|_| NotAChallenge)?;
        Ok(CodeChallenge(Digest::from_bytes(bytes)))
    }
}

/// A code as it is issued: everything that the store keeps of it.
#[derive(Clone, Debug)]
pub struct AuthCode {
    /// The digest of the code.
    pub digest: Digest,
    /// Who signed in.
    pub user_id: UserId,
    /// The only client that may exchange it.
    pub client_id: ClientId,
    /// Where it was sent; the exchange must name the same.
    pub redirect_uri: String,
    /// The challenge that the exchange's verifier must answer.
    pub challenge: CodeChallenge,
    /// The first instant at which it is no longer valid.
    pub expires_at: Timestamp,
}

/// A code to hand to the app.
#[derive(Clone, Debug)]
pub struct IssuedAuthCode {
    /// The code itself; the service does not keep it.
    pub code: Secret,
    /// How long it can be exchanged, in seconds.
    pub expires_in: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    #[test]
    fn the_challenge_of_the_rfc_is_answered_by_its_verifier() {
        let challenge: CodeChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            .parse()
            .unwrap();
        let verifier = Secret::from_text("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(CodeChallenge::of(&verifier), challenge);
    }

    #[test]
    fn a_challenge_is_not_its_own_verifier() {
        let text = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        let challenge: CodeChallenge = text.parse().unwrap();
        assert_ne!(CodeChallenge::of(&Secret::from_text(text)), challenge);
    }

    #[test]
    fn a_challenge_is_43_characters_of_base64url() {
        let right = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        for wrong in [
            "",
            &right[1..],
            &format!("{right}="),
            &format!("{right}A"),
            &right.replace('-', "+"),
        ] {
            assert_eq!(
                wrong.parse::<CodeChallenge>(),
                Err(NotAChallenge),
                "{wrong}"
            );
        }
        // The last character holds two bits that mean nothing; they must be zero, so that a challenge has one form.
        assert_eq!(
            format!("{}N", &right[..42]).parse::<CodeChallenge>(),
            Err(NotAChallenge)
        );
    }
}
