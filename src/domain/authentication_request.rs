//! Authentication requests: a browser's way to the OpenID provider and back (docs/decisions.md, P29). And what such a browser
//! keeps for the next time.
//!
//! 1. The browser carries the request in a cookie of its own: the purpose, where to go afterwards, and the state, nonce and
//!    PKCE verifier, 256 random bits each.
//! 2. The cookie is sealed with AES-256-GCM under a key that all processes on one database share: it comes back as we wrote
//!    it, and is not readable on the way, not even to someone with access to the browser.
//! 3. It is valid for ten minutes, by our own clock.
//! 4. It works once: the answer that uses the cookie removes it, and the code in that answer works once at the provider (RFC
//!    6749, 4.1.2), and only with this verifier (RFC 7636). So nothing has to be stored that strangers could fill.
//! 5. A browser in which a user has come back with a good code keeps a cookie that says who it was, sealed under the same key.
//!    It grants nothing, but whoever has none brings codes as a stranger. Nothing ends it but time.

use std::fmt;
use std::time::Duration;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use super::Error;
use super::id::{BrowserSessionId, UserId};
use super::secret::Secret;
use super::time::Timestamp;

/// How long a user may be at the provider.
pub const LIFETIME: Duration = Duration::from_mins(10);

/// How long a browser is known as one to which a user came back. No browser keeps a cookie for longer.
pub const RETURNING_LIFETIME: Duration = Duration::from_hours(400 * 24);

/// The longest path to return to: a browser keeps cookies of 4,096 bytes.
pub const WAY_BACK_LENGTH: usize = 2_000;

/// What the key is for. Another format needs another text.
const FORMAT: &[u8] = b"invoicing authentication request 1";

/// The same, of the cookie that a browser keeps.
const RETURNING: &[u8] = b"invoicing returning browser 2";

/// Why a browser is sent to the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To sign in.
    SignIn,
    /// To accept the invitation with this link, as someone who is not a user yet.
    Join(Secret),
    /// To link the identity to the user of this session.
    Link(BrowserSessionId),
    /// To confirm that this is still the user of this session.
    Confirm(BrowserSessionId),
}

/// A way to the provider and back.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthenticationRequest {
    /// Why it is made.
    pub purpose: Purpose,
    /// What the provider sends back.
    pub state: Secret,
    /// The nonce that the ID token must have.
    pub nonce: Secret,
    /// The PKCE verifier, of which the provider has the SHA-256.
    pub verifier: Secret,
    /// Where to go afterwards: a path on this server.
    pub next: String,
    /// When it started.
    pub begun_at: Timestamp,
}

impl fmt::Debug for AuthenticationRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthenticationRequest(..)")
    }
}

impl AuthenticationRequest {
    /// Starts one now.
    pub fn new(purpose: Purpose, next: &str, now: Timestamp) -> AuthenticationRequest {
        AuthenticationRequest {
            purpose,
            state: Secret::base64url(),
            nonce: Secret::base64url(),
            verifier: Secret::base64url(),
            next: match next.len() <= WAY_BACK_LENGTH {
                true => next.to_owned(),
                false => "/".to_owned(),
            },
            begun_at: now,
        }
    }

    /// None of the parts has a line break: the path to return to and the secrets are printable ASCII.
    fn to_text(&self) -> String {
        let (purpose, of) = match &self.purpose {
            Purpose::SignIn => ("sign-in", String::new()),
            Purpose::Join(link) => ("join", link.reveal().to_owned()),
            Purpose::Link(id) => ("link", id.to_string()),
            Purpose::Confirm(id) => ("confirm", id.to_string()),
        };
        let [state, nonce, verifier] =
            [&self.state, &self.nonce, &self.verifier].map(Secret::reveal);
        let (begun_at, next) = (self.begun_at.as_millis(), &self.next);
        format!("{purpose}\n{of}\n{state}\n{nonce}\n{verifier}\n{begun_at}\n{next}")
    }

    fn from_text(text: &str) -> Option<AuthenticationRequest> {
        let mut parts = text.split('\n');
        let (purpose, of) = (parts.next()?, parts.next()?);
        Some(AuthenticationRequest {
            purpose: match purpose {
                "sign-in" => Purpose::SignIn,
                "join" => Purpose::Join(Secret::from_text(of)),
                "link" => Purpose::Link(of.parse().ok()?),
                "confirm" => Purpose::Confirm(of.parse().ok()?),
                _ => return None,
            },
            state: Secret::from_text(parts.next()?),
            nonce: Secret::from_text(parts.next()?),
            verifier: Secret::from_text(parts.next()?),
            begun_at: Timestamp::from_millis(parts.next()?.parse().ok()?),
            next: parts.next()?.to_owned(),
        })
    }
}

/// Seals such requests, and opens them: step 2.
pub(crate) struct AuthenticationRequests(RandomizedNonceKey);

impl AuthenticationRequests {
    /// # Errors
    /// [`Error::Internal`], which never happens: the key is of the right length.
    pub(crate) fn new(key: [u8; 32]) -> Result<AuthenticationRequests, Error> {
        let key = RandomizedNonceKey::new(&AES_256_GCM, &key);
        key.map(AuthenticationRequests)
            .map_err(|_| Error::internal("a key of 256 bits is none"))
    }

    /// The value of the cookie.
    ///
    /// # Errors
    /// [`Error::Internal`] when it cannot be sealed.
    pub(crate) fn seal(&self, request: &AuthenticationRequest) -> Result<Secret, Error> {
        self.seal_bytes(FORMAT, request.to_text().into_bytes())
    }

    /// Opens a cookie, unless it is not ours or too old: step 3.
    pub(crate) fn open(&self, cookie: &str, now: Timestamp) -> Option<AuthenticationRequest> {
        let text = String::from_utf8(self.open_bytes(FORMAT, cookie)?).ok()?;
        let request = AuthenticationRequest::from_text(&text)?;
        // A request that started later than that was made by a clock that is more than ten minutes ahead.
        let is_in_time =
            now < request.begun_at.after(LIFETIME) && request.begun_at <= now.after(LIFETIME);
        is_in_time.then_some(request)
    }

    /// The value of the cookie that says who came back to a browser, and when: step 5.
    ///
    /// # Errors
    /// [`Error::Internal`] when it cannot be sealed.
    pub(crate) fn seal_returning(&self, user_id: UserId, now: Timestamp) -> Result<Secret, Error> {
        let at = now.as_millis().to_be_bytes();
        self.seal_bytes(RETURNING, [user_id.0.as_bytes().as_slice(), &at].concat())
    }

    /// Opens that cookie, unless it is not ours or too old.
    pub(crate) fn open_returning(&self, cookie: &str, now: Timestamp) -> Option<UserId> {
        let opened = self.open_bytes(RETURNING, cookie)?;
        let (user_id, at) = opened.split_first_chunk()?;
        let at = Timestamp::from_millis(i64::from_be_bytes(at.try_into().ok()?));
        let is_in_time = now < at.after(RETURNING_LIFETIME) && at <= now.after(LIFETIME);
        is_in_time.then_some(UserId(Uuid::from_bytes(*user_id)))
    }

    fn seal_bytes(&self, format: &[u8], mut bytes: Vec<u8>) -> Result<Secret, Error> {
        let nonce = self
            .0
            .seal_in_place_append_tag(Aad::from(format), &mut bytes)
            .map_err(|_| Error::internal("a cookie could not be sealed"))?;
        let sealed = [nonce.as_ref().as_slice(), &bytes].concat();
        Ok(Secret::from_text(URL_SAFE_NO_PAD.encode(sealed)))
    }

    fn open_bytes(&self, format: &[u8], cookie: &str) -> Option<Vec<u8>> {
        let sealed = URL_SAFE_NO_PAD.decode(cookie).ok()?;
        let (nonce, bytes) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut bytes = bytes.to_vec();
        let opened = self.0.open_in_place(nonce, Aad::from(format), &mut bytes);
        Some(opened.ok()?.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_211_340_123);

    fn requests(key: u8) -> AuthenticationRequests {
        AuthenticationRequests::new([key; 32]).unwrap()
    }

    #[test]
    fn what_a_returning_browser_keeps_is_ours_and_nothing_else() {
        let ada = UserId(Uuid::from_u128(1));
        let kept = requests(7).seal_returning(ada, NOW).unwrap();
        let open = |key, age| requests(key).open_returning(kept.reveal(), NOW.after(age));
        let short = Duration::from_millis(1);
        assert_eq!(open(7, RETURNING_LIFETIME - short), Some(ada));
        assert_eq!(open(7, RETURNING_LIFETIME), None);
        assert_eq!(open(8, short), None);
        assert!(requests(7).open(kept.reveal(), NOW).is_none());
        let request = AuthenticationRequest::new(Purpose::SignIn, "/", NOW);
        let request = requests(7).seal(&request).unwrap();
        for wrong in [request.reveal(), "", "x", &kept.reveal()[1..]] {
            assert_eq!(requests(7).open_returning(wrong, NOW), None, "{wrong}");
        }
    }

    #[test]
    fn what_was_sealed_comes_back_whatever_it_is_for() {
        let session = BrowserSessionId(Uuid::from_u128(7));
        for purpose in [
            Purpose::SignIn,
            Purpose::Join(Secret::base64url()),
            Purpose::Link(session),
            Purpose::Confirm(session),
        ] {
            let request = AuthenticationRequest::new(purpose, "/account?a=b", NOW);
            let sealed = requests(7).seal(&request).unwrap();
            assert!(!sealed.reveal().contains(request.state.reveal()));
            let opened = requests(7).open(sealed.reveal(), NOW).unwrap();
            assert!(opened == request, "{:?}", request.purpose);
        }
    }

    #[test]
    fn it_is_good_for_ten_minutes() {
        let request = AuthenticationRequest::new(Purpose::SignIn, "/", NOW);
        let sealed = requests(7).seal(&request).unwrap();
        let last = NOW.after(LIFETIME - Duration::from_millis(1));
        assert!(requests(7).open(sealed.reveal(), last).is_some());
        let over = NOW.after(LIFETIME);
        assert!(requests(7).open(sealed.reveal(), over).is_none());
        let long_before = NOW.before(LIFETIME + Duration::from_millis(1));
        assert!(requests(7).open(sealed.reveal(), long_before).is_none());
    }

    #[test]
    fn nobody_else_writes_or_alters_one() {
        let request = AuthenticationRequest::new(Purpose::SignIn, "/", NOW);
        let sealed = requests(7).seal(&request).unwrap();
        assert!(requests(8).open(sealed.reveal(), NOW).is_none());
        let bytes = URL_SAFE_NO_PAD.decode(sealed.reveal()).unwrap();
        for index in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[index] ^= 1;
            let altered = URL_SAFE_NO_PAD.encode(altered);
            assert!(requests(7).open(&altered, NOW).is_none(), "byte {index}");
        }
        for wrong in ["", "!", "AAAA"] {
            assert!(requests(7).open(wrong, NOW).is_none());
        }
    }

    #[test]
    fn a_browser_keeps_the_longest() {
        let next = format!("/{}", "x".repeat(WAY_BACK_LENGTH - 1));
        let purpose = Purpose::Join(Secret::base64url());
        let request = AuthenticationRequest::new(purpose.clone(), &next, NOW);
        assert_eq!(request.next, next);
        assert!(requests(7).seal(&request).unwrap().reveal().len() < 3_900);
        let request = AuthenticationRequest::new(purpose, &format!("{next}x"), NOW);
        assert_eq!(request.next, "/");
    }
}
