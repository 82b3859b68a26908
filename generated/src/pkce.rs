//! Proof Key for Code Exchange (RFC 7636), method S256, the only one that the service accepts.
//!
//! 1. The app generates a random verifier and keeps it.
//! 2. It starts the sign-in with the challenge, which is the verifier's SHA-256.
//! 3. It exchanges the code together with the verifier. An attacker who intercepts the code cannot,
//!    because the verifier cannot be derived from the challenge.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A code verifier and its challenge, for one sign-in.
///
/// `Debug` does not show the verifier.
///
/// ```
/// use invoicing_client::Pkce;
///
/// let pkce = Pkce::generate();
/// assert_eq!(pkce.verifier().len(), 43);
/// assert_eq!(pkce.challenge().len(), 43);
/// assert_ne!(pkce.verifier(), Pkce::generate().verifier());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Pkce {
    verifier: String,
}

impl Pkce {
    /// Generates a verifier of 256 random bits, as RFC 7636, section 4.1, recommends.
    ///
    /// # Panics
    /// If the system has no randomness, which does not happen in practice.
    ///
    /// ```
    /// use invoicing_client::Pkce;
    ///
    /// let pkce = Pkce::generate();
    /// let sign_in = format!("https://invoices.example/sign-in?code_challenge={}", pkce.challenge());
    /// # assert!(!sign_in.contains(pkce.verifier()));
    /// ```
    pub fn generate() -> Pkce {
        let mut bits = [0; 32];
        // A system without randomness can make neither the id of a request nor a TLS connection.
        getrandom::fill(&mut bits).expect("the system has randomness");
        Pkce {
            verifier: URL_SAFE_NO_PAD.encode(bits),
        }
    }

    /// Restores a verifier that was made earlier, for example one kept while the browser was in
    /// front.
    ///
    /// The exchange checks its form: 43 to 128 letters, digits, `-`, `.`, `_` and `~`.
    ///
    /// ```
    /// use invoicing_client::Pkce;
    ///
    /// // The example of RFC 7636, appendix B.
    /// let pkce = Pkce::from_verifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    /// assert_eq!(pkce.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    /// ```
    pub fn from_verifier(verifier: impl Into<String>) -> Pkce {
        Pkce {
            verifier: verifier.into(),
        }
    }

    /// Returns the verifier: a secret until the exchange, in which it is sent to the service.
    ///
    /// ```
    /// # use invoicing_client::Pkce;
    /// assert_eq!(Pkce::generate().verifier().len(), 43);
    /// ```
    pub fn verifier(&self) -> &str {
        &self.verifier
    }

    /// Returns the challenge, with which the sign-in starts: base64url of the verifier's SHA-256.
    ///
    /// ```
    /// # use invoicing_client::Pkce;
    /// let pkce = Pkce::generate();
    /// assert_eq!(pkce.challenge(), Pkce::from_verifier(pkce.verifier()).challenge());
    /// ```
    pub fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(hmac_sha256::Hash::hash(self.verifier.as_bytes()))
    }
}

impl fmt::Debug for Pkce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pkce")
            .field("challenge", &self.challenge())
            .finish_non_exhaustive()
    }
}
