//! Challenges: what a passkey is to sign, so that nobody can use a signature of another time or place
//! (docs/decisions.md, P23).
//!
//! 1. Anybody may ask for a challenge, so none is kept. What would have to be kept is sealed by a key that all replicas share,
//!    given to the browser, and comes back with the answer: what the library has to know, and when it expires.
//! 2. The seal is bound to one purpose and one browser: that of a sign-in to a cookie, the others to the browser session.
//! 3. A challenge whose answer was right is spent: its digest is kept until it expires, in the transaction that the answer is
//!    good for. So that table grows by what somebody with a passkey does, and by nothing else.
//! 4. A release that changes what is sealed changes the version, too: what was sealed before is refused, which a browser
//!    notices for five minutes at most.

use std::time::Duration;

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign, verify};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;

/// For how long a challenge is good.
pub const LIFETIME: Duration = Duration::from_mins(5);

const VERSION: u8 = 1;
const TAG: usize = 32;

/// Several times what any text of ours has.
const LENGTH: usize = 1024;

/// What a challenge is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To sign in.
    SignIn = 1,
    /// To prove again who one is.
    Confirm = 2,
    /// To add a passkey.
    Add = 3,
}

/// The key of challenges.
#[derive(Debug)]
pub(crate) struct Challenges(Key);

/// A challenge that has come back, and may be answered.
#[derive(Debug)]
pub(crate) struct Opened {
    /// What the library has to know.
    pub(crate) state: Vec<u8>,
    /// What is kept of it once it is spent.
    pub(crate) digest: Digest,
    /// The first instant at which it is no longer good.
    pub(crate) expires_at: Timestamp,
}

impl Challenges {
    pub(crate) fn new(key: [u8; 32]) -> Challenges {
        Challenges(Key::new(HMAC_SHA256, &key))
    }

    /// What a browser brings back with the answer; `browser` is what it is known by.
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

    /// What was sealed, if it was for this purpose and this browser, and is still good.
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
        // One of a clock that is ahead by as much again was not made in these five minutes.
        let is_in_time = now < expires_at && expires_at <= now.after(2 * LIFETIME);
        is_in_time.then(|| Opened {
            state: state.to_vec(),
            digest: Digest::of(tag),
            expires_at,
        })
    }
}

fn message(purpose: Purpose, browser: &Digest, expires_at: [u8; 8], state: &[u8]) -> Vec<u8> {
    // All but the last have one length each, so no two messages are the same.
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
