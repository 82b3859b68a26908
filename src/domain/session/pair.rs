//! Pairs of tokens: an access token, and the refresh token for the next pair.

use crate::domain::secret::{Digest, Secret};

/// A pair of tokens, just drawn.
pub(crate) struct TokenPair {
    pub(crate) access: Secret,
    pub(crate) refresh: Secret,
}

impl TokenPair {
    pub(crate) fn draw() -> TokenPair {
        TokenPair {
            access: Secret::base64url(),
            refresh: Secret::base64url(),
        }
    }

    pub(crate) fn digests(&self) -> PairDigests {
        PairDigests {
            access: self.access.digest(),
            refresh: self.refresh.digest(),
        }
    }
}

/// What the store keeps of a pair.
#[derive(Clone, Copy, Debug)]
pub struct PairDigests {
    /// Of the access token.
    pub access: Digest,
    /// Of the refresh token.
    pub refresh: Digest,
}
