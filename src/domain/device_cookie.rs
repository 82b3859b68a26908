//! The device cookie: gives a browser that has signed in to an account before its own count of wrong passwords there,
//! so that nobody can keep the user out by typing wrong passwords elsewhere (docs/decisions.md, P32).
//!
//! It is the time (six bytes), ten random bytes, and the HMAC-SHA-256 of both with the user's id and the password hash, in
//! base64url. It grants no access, and the database does not have it. Changing the password makes it worthless: someone who
//! knew the old one might have collected a thousand cookies.

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign, verify};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::id::UserId;
use super::password::Source;
use super::secret::{Digest, Secret, random};
use super::time::Timestamp;

const NONCE: usize = 16;

/// How many bytes of it say since when the browser has had one, in milliseconds.
const TIME: usize = 6;

/// A browser in which a user has signed in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    /// What it counts as.
    pub(crate) source: Source,
    /// When it got its first cookie.
    pub(crate) since: Timestamp,
}

/// Issues and checks device cookies.
#[derive(Debug)]
pub(crate) struct DeviceCookies(Key);

impl DeviceCookies {
    pub(crate) fn new(key: [u8; 32]) -> DeviceCookies {
        DeviceCookies(Key::new(HMAC_SHA256, &key))
    }

    /// Makes a cookie for a browser in which this user has signed in, for the first time at `since`.
    pub(crate) fn issue(&self, user_id: UserId, hash: &Secret, since: Timestamp) -> Secret {
        let mut nonce = random::<NONCE>();
        let [_, _, time @ ..] = since.as_millis().to_be_bytes();
        nonce[..TIME].copy_from_slice(&time);
        let tag = sign(&self.0, &message(&nonce, user_id, hash));
        Secret::from_text(URL_SAFE_NO_PAD.encode([&nonce, tag.as_ref()].concat()))
    }

    /// The browser, if the cookie is one of this user's.
    pub(crate) fn device(&self, cookie: &Secret, user_id: UserId, hash: &Secret) -> Option<Device> {
        let bytes = URL_SAFE_NO_PAD.decode(cookie.reveal()).ok()?;
        let (nonce, tag) = bytes.split_first_chunk::<NONCE>()?;
        verify(&self.0, &message(nonce, user_id, hash), tag).ok()?;
        let time = nonce[..TIME].iter();
        let since = time.fold(0, |time, byte| time << 8 | i64::from(*byte));
        Some(Device {
            source: Source(Digest::of(nonce)),
            since: Timestamp::from_millis(since),
        })
    }
}

fn message(nonce: &[u8; NONCE], user_id: UserId, hash: &Secret) -> Vec<u8> {
    // The first two have a fixed length, so no two different inputs give the same message.
    [
        &nonce[..],
        &user_id.as_bytes()[..],
        hash.reveal().as_bytes(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_cookie_is_good_for_its_user_and_under_its_key_alone() {
        let [hash, other] = ["one", "other"].map(Secret::from_text);
        let cookies = DeviceCookies::new([7; 32]);
        let [ada, ben] = [1, 2].map(|id| UserId(Uuid::from_u128(id)));
        let now = Timestamp::from_millis(1_795_211_340_123);
        let cookie = cookies.issue(ada, &hash, now);
        let device = cookies.device(&cookie, ada, &hash);
        assert_eq!(device.map(|it| it.since), Some(now));
        assert!(cookies.device(&cookie, ben, &hash).is_none());
        assert!(cookies.device(&cookie, ada, &other).is_none());
        assert!(
            DeviceCookies::new([8; 32])
                .device(&cookie, ada, &hash)
                .is_none()
        );
        for wrong in ["", "x", "AAAA", &cookie.reveal()[1..]] {
            let wrong = Secret::from_text(wrong);
            assert!(cookies.device(&wrong, ada, &hash).is_none());
        }
    }
}
