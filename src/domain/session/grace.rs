//! The sealed successor: how a pair of tokens can be given twice although the store cannot read it.
//!
//! Steps Refresh 1, Refresh 5 and Refresh 6 of the protocol (`app/session.rs`) need the pair issued for a spent refresh
//! token a second time, but the store keeps only digests. So the pair is stored encrypted:
//!
//! 1. The key is HKDF-SHA-256 of the spent token (RFC 5869), which the service does not keep: only a caller that
//!    presents that token again can open the pair. The token is 256 random bits, so the key needs neither salt nor
//!    stretching. `info` names the use and its version.
//! 2. The pair is sealed with AES-256-GCM under a random nonce, which is stored in front of it.
//! 3. So a sealed pair stolen with the database alone is as useless as a digest; and it is erased when the successor is
//!    presented or the grace ends. How soon it is gone from the disk, too, is up to the store.

use std::fmt;
use std::time::Duration;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};

use super::super::Error;
use super::super::secret::Secret;
use super::pair::TokenPair;

/// How long a spent refresh token may get its pair again.
pub const GRACE: Duration = Duration::from_secs(30);

/// What the key is for. Another use of the token, or another format, needs another text.
const INFO: &[u8] = b"invoicing refresh successor 1";

/// Bytes of an AES-256 key.
const KEY_LENGTH: usize = 32;

/// A pair of tokens that only the refresh token before it can open: a nonce, then the ciphertext.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Vec<u8>);

impl Sealed {
    /// A sealed pair as the store kept it.
    pub fn from_bytes(bytes: Vec<u8>) -> Sealed {
        Sealed(bytes)
    }

    /// The bytes, for the store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealed(..)")
    }
}

/// Seals a pair under the token that it succeeds.
pub(crate) fn seal(spent: &Secret, pair: &TokenPair) -> Result<Sealed, Error> {
    let mut pair = format!("{} {}", pair.access.reveal(), pair.refresh.reveal()).into_bytes();
    let nonce = key(spent)
        .and_then(|key| key.seal_in_place_append_tag(Aad::empty(), &mut pair))
        .map_err(|_| Error::internal("a successor pair could not be sealed"))?;
    Ok(Sealed([nonce.as_ref().as_slice(), &pair].concat()))
}

/// Opens a pair with the token that it succeeds.
pub(crate) fn open(spent: &Secret, sealed: &Sealed) -> Result<TokenPair, Error> {
    decrypt(spent, sealed)
        .ok_or_else(|| Error::internal("a sealed successor pair could not be opened"))
}

fn decrypt(spent: &Secret, sealed: &Sealed) -> Option<TokenPair> {
    let (nonce, ciphertext) = sealed.0.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut pair = ciphertext.to_vec();
    let pair = key(spent)
        .ok()?
        .open_in_place(nonce, Aad::empty(), &mut pair)
        .ok()?;
    let (access, refresh) = std::str::from_utf8(pair).ok()?.split_once(' ')?;
    Some(TokenPair {
        access: Secret::from_text(access),
        refresh: Secret::from_text(refresh),
    })
}

fn key(spent: &Secret) -> Result<RandomizedNonceKey, Unspecified> {
    let mut key = [0; KEY_LENGTH];
    let secret = Salt::new(HKDF_SHA256, &[]).extract(spent.reveal().as_bytes());
    secret.expand(&[INFO], Length)?.fill(&mut key)?;
    RandomizedNonceKey::new(&AES_256_GCM, &key)
}

/// Tells HKDF the length of the key.
struct Length;

impl KeyType for Length {
    fn len(&self) -> usize {
        KEY_LENGTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spent_token_opens_what_it_sealed() {
        let (spent, pair) = (Secret::base64url(), TokenPair::draw());
        let opened = open(&spent, &seal(&spent, &pair).unwrap()).unwrap();
        assert_eq!((opened.access, opened.refresh), (pair.access, pair.refresh));
    }

    #[test]
    fn no_other_token_opens_it() {
        let sealed = seal(&Secret::base64url(), &TokenPair::draw()).unwrap();
        assert!(open(&Secret::base64url(), &sealed).is_err());
    }

    #[test]
    fn an_altered_or_shortened_pair_does_not_open() {
        let spent = Secret::base64url();
        let sealed = seal(&spent, &TokenPair::draw()).unwrap();
        for index in 0..sealed.0.len() {
            let mut altered = sealed.clone();
            altered.0[index] ^= 1;
            assert!(open(&spent, &altered).is_err(), "byte {index}");
            assert!(
                open(&spent, &Sealed(sealed.0[..index].to_vec())).is_err(),
                "length {index}"
            );
        }
    }

    #[test]
    fn sealing_twice_gives_two_texts_and_neither_shows_a_token() {
        let (spent, pair) = (Secret::base64url(), TokenPair::draw());
        let (one, two) = (seal(&spent, &pair).unwrap(), seal(&spent, &pair).unwrap());
        assert_ne!(one, two);
        for token in [&pair.access, &pair.refresh, &spent] {
            let token = token.reveal().as_bytes();
            assert!(!one.0.windows(token.len()).any(|window| window == token));
        }
        assert_eq!(format!("{one:?}"), "Sealed(..)");
    }
}
