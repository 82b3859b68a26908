//! Challenges: what a passkey signs, so that no signature from another time or place can be used (docs/decisions.md, P23).
//!
//! 1. Anyone may ask for a challenge, so none is stored. What would have to be stored (what the library needs, and when the
//!    challenge expires) is sealed with a key that all replicas share, given to the browser, and comes back with the answer.
//! 2. The seal is bound to one purpose and one browser: for a sign-in, to a cookie; otherwise, to the browser session.
//! 3. A correct answer spends its challenge: the transaction in which the answer counts stores the digest, which is kept
//!    until the challenge expires. So only people with a passkey can make that table grow.
//! 4. A release that changes what is sealed must also change the version: challenges sealed before are then refused, which a
//!    browser notices for five minutes at most.

use std::time::Duration;

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign, verify};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;

/// How long a challenge is valid.
pub const LIFETIME: Duration = Duration::from_mins(5);

const VERSION: u8 = 1;
const TAG: usize = 32;

/// Several times the length of any challenge that we make.
const LENGTH: usize = 1024;

/// What a challenge is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To sign in.
    SignIn = 1,
    /// To confirm who the user is.
    Confirm = 2,
    /// To add a passkey.
    Add = 3,
}

/// Seals and opens challenges.
#[derive(Debug)]
pub(crate) struct Challenges(Key);

/// A challenge that has come back and is still valid.
#[derive(Debug)]
pub(crate) struct Opened {
    /// What the library needs to check the answer.
    pub(crate) state: Vec<u8>,
    /// What is stored once it is spent.
    pub(crate) digest: Digest,
    /// The first instant at which it is no longer valid.
    pub(crate) expires_at: Timestamp,
}

impl Challenges {
    pub(crate) fn new(key: [u8; 32]) -> Challenges {
        Challenges(Key::new(HMAC_SHA256, &key))
    }

    /// Seals a challenge, to come back from the browser with the answer; `browser` identifies that browser.
    pub(crate) fn seal(
        &self,
        purpose: Purpose,
        browser: &Digest,
        state: &[u8],
        now: Timestamp,
    ) -> String {
        let expires_at = now.after(LIFETIME).as_millis().to_be_bytes();
        let tag = sign(&self.0, &message(purpose, browser, expires_at, state));
        let sealed = [&[VERSION][..], &expires_at, tag.as_ref(), state].concat();
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// Opens a sealed challenge, if it is for this purpose and this browser and still valid.
    pub(crate) fn open(
        &self,
        purpose: Purpose,
        browser: &Digest,
        text: &str,
        now: Timestamp,
    ) -> Option<Opened> {
        let sealed = (text.len() <= LENGTH).then(|| URL_SAFE_NO_PAD.decode(text).ok())??;
        let (&VERSION, sealed) = sealed.split_first()? else {
            return None;
        };
        let (expires_at, sealed) = sealed.split_first_chunk()?;
        let (tag, state) = sealed.split_first_chunk::<TAG>()?;
        verify(&self.0, &message(purpose, browser, *expires_at, state), tag).ok()?;
        let expires_at = Timestamp::from_millis(i64::from_be_bytes(*expires_at));
        // A challenge that expires later than that was made by a clock that is more than five minutes ahead.
        let is_in_time = now < expires_at && expires_at <= now.after(2 * LIFETIME);
        is_in_time.then(|| Opened {
            state: state.to_vec(),
            digest: Digest::of(tag),
            expires_at,
        })
    }
}

fn message(purpose: Purpose, browser: &Digest, expires_at: [u8; 8], state: &[u8]) -> Vec<u8> {
    // All parts but the last have a fixed length, so no two different inputs give the same message.
    let purpose = [VERSION, purpose as u8];
    [&purpose[..], browser.as_bytes(), &expires_at, state].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_for_one_purpose_one_browser_and_five_minutes() {
        let challenges = Challenges::new([7; 32]);
        let [here, elsewhere] = [b"here", b"away"].map(|it| Digest::of(it));
        let at = |seconds| Timestamp::from_millis(1_000_000).after(Duration::from_secs(seconds));
        let sealed = challenges.seal(Purpose::SignIn, &here, b"state", at(0));
        let open = |purpose, browser, text: &str, seconds| {
            let opened = challenges.open(purpose, browser, text, at(seconds));
            opened.map(|it| it.state)
        };
        let state = Some(b"state".to_vec());
        assert_eq!(open(Purpose::SignIn, &here, &sealed, 299), state);
        assert_eq!(open(Purpose::SignIn, &here, &sealed, 300), None);
        let ahead = challenges.seal(Purpose::SignIn, &here, b"state", at(301));
        assert_eq!(open(Purpose::SignIn, &here, &ahead, 0), None);
        assert_eq!(open(Purpose::SignIn, &here, &ahead, 1), state);
        assert_eq!(open(Purpose::Confirm, &here, &sealed, 0), None);
        assert_eq!(open(Purpose::Add, &here, &sealed, 0), None);
        assert_eq!(open(Purpose::SignIn, &elsewhere, &sealed, 0), None);
        let other_key = Challenges::new([8; 32]);
        let opened = other_key.open(Purpose::SignIn, &here, &sealed, at(0));
        assert!(opened.is_none());
    }

    #[test]
    fn what_was_not_sealed_is_no_challenge() {
        let challenges = Challenges::new([7; 32]);
        let (here, now) = (Digest::of(b"here"), Timestamp::from_millis(0));
        let sealed = challenges.seal(Purpose::Add, &here, b"state", now);
        let changed = |at: usize| {
            let mut bytes = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
            bytes[at] ^= 1;
            URL_SAFE_NO_PAD.encode(bytes)
        };
        let length = URL_SAFE_NO_PAD.decode(&sealed).unwrap().len();
        let mut wrong: Vec<String> = (0..length).map(changed).collect();
        wrong.extend(["", "x", "AQ", &sealed[..40], &"A".repeat(2000)].map(str::to_owned));
        for text in wrong {
            let opened = challenges.open(Purpose::Add, &here, &text, now);
            assert!(opened.is_none(), "{text}");
        }
        challenges.open(Purpose::Add, &here, &sealed, now).unwrap();
    }
}
