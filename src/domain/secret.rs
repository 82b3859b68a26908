//! Secrets: how they are made, written, hashed and compared.
//!
//! 1. A secret is 256 random bits, so nobody can guess one and no slow hash is needed to protect it.
//! 2. It leaves the service once, as text: base62 in an API key, base64url in a token or code.
//! 3. The store keeps its [`Digest`] only, the SHA-256 of that text, and looks it up by the digest. The time such a
//!    lookup takes reveals something about digests, not about secrets.
//! 4. Nothing here prints a secret: `Debug` is redacted, and there is no `Display`.

use std::fmt;

use aws_lc_rs::{constant_time, digest, rand};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// `N` random bytes fit for keys, from aws-lc, which is seeded with the operating system's entropy.
///
/// # Panics
/// If the machine has no source of randomness; no part of the service could work then.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// Characters of 256 bits in base64url.
const BASE64URL: usize = 43;

/// A secret as text: 256 random bits, or what a caller presents as such.
#[derive(Clone, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new secret in base64url without padding, 43 characters.
    pub fn base64url() -> Secret {
        Secret(URL_SAFE_NO_PAD.encode(random::<32>()))
    }

    /// A new secret in base62 (`0-9A-Za-z`), 43 characters.
    pub fn base62() -> Secret {
        Secret(base62::<32, 43>(random()).map(char::from).iter().collect())
    }

    /// Whether a text can be a secret in base64url.
    pub fn is_base64url(text: &str) -> bool {
        let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        text.len() == BASE64URL && text.bytes().all(is_digit)
    }

    /// Wraps a text that is a secret.
    pub fn from_text(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself: to show to its owner, once, or to hash.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What the store keeps instead of the secret.
    pub fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

/// Takes the same time wherever two secrets of one length differ.
impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        constant_time::verify_slices_are_equal(self.0.as_bytes(), other.0.as_bytes()).is_ok()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A SHA-256 digest. Comparing two takes the same time wherever they differ.
#[derive(Clone, Copy, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The SHA-256 of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        let mut sum = [0; 32];
        sum.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
        Digest(sum)
    }

    /// A digest that was computed before, as the store kept it.
    pub const fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    /// The bytes, for the store.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Digest) -> bool {
        constant_time::verify_slices_are_equal(&self.0, &other.0).is_ok()
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(..)")
    }
}

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// `number` (big endian) in base62, most significant digit first, padded with `0`.
///
/// 43 digits hold 256 bits, 6 digits hold 32: log62(2^256) < 43 and log62(2^32) < 6.
pub fn base62<const BYTES: usize, const DIGITS: usize>(mut number: [u8; BYTES]) -> [u8; DIGITS] {
    let mut digits = [0; DIGITS];
    for digit in digits.iter_mut().rev() {
        let mut rest = 0_u32;
        for byte in &mut number {
            let value = rest << 8 | u32::from(*byte);
            *byte = (value / 62) as u8; // value < 62 * 256, so the quotient is a byte
            rest = value % 62;
        }
        *digit = BASE62[rest as usize];
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base62_is_positional_and_filled_with_zeros() {
        assert_eq!(&base62(0_u32.to_be_bytes()), b"000000");
        assert_eq!(&base62(61_u32.to_be_bytes()), b"00000z");
        assert_eq!(&base62(62_u32.to_be_bytes()), b"000010");
        assert_eq!(&base62(u32::MAX.to_be_bytes()), b"4gfFC3");
    }

    #[test]
    fn base62_of_256_bits_needs_all_43_digits() {
        let digits: [u8; 43] = base62([0xff; 32]);
        assert_ne!(digits[0], b'0');
    }

    #[test]
    fn secrets_differ_and_have_the_stated_form() {
        for (one, two) in [
            (Secret::base62(), Secret::base62()),
            (Secret::base64url(), Secret::base64url()),
        ] {
            assert_ne!(one, two);
            assert_eq!(one.reveal().len(), 43);
            assert_ne!(one.digest(), two.digest());
        }
        assert!(
            Secret::base62()
                .reveal()
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric())
        );
    }

    #[test]
    fn debug_shows_neither_a_secret_nor_its_digest() {
        let secret = Secret::from_text("hunter2");
        assert_eq!(
            format!("{secret:?} {:?}", secret.digest()),
            "Secret(..) Digest(..)"
        );
    }

    #[test]
    fn a_digest_is_sha_256() {
        let hex: String = Digest::of(b"abc")
            .as_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            hex,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_secret_in_base64url_has_43_digits() {
        let secret = Secret::base64url().reveal().to_owned();
        assert!(Secret::is_base64url(&secret));
        for wrong in [
            "",
            &secret[1..],
            &format!("{secret}A"),
            &format!("{}+", &secret[1..]),
        ] {
            assert!(!Secret::is_base64url(wrong), "{wrong}");
        }
    }
}
