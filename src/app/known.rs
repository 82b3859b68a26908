//! Credentials that were recently found good, and their holders.
//!
//! A credential's holder is known only after its lookup, so the lookup itself counts as a stranger's, and all strangers have
//! one share between them (docs/decisions.md, R8). A credential that was found good once is looked up on behalf of its
//! holder from then on, so that no stranger is in its way.
//!
//! It has no other use: a credential is valid because a lookup says so, never because it is in here. Those in use are the
//! last to be forgotten, and those that were not found good are never in here.

use crate::domain::holder::Holder;
use crate::domain::secret::Digest;
use crate::recent::Recent;

/// Credentials in a generation. Both together take four megabytes or so at most.
const MAX_GENERATION: usize = 16_384;

/// The credentials that a process knows.
#[derive(Debug)]
pub(super) struct Known(Recent<[u8; 32], Holder>);

impl Default for Known {
    fn default() -> Known {
        Known(Recent::new(MAX_GENERATION))
    }
}

impl Known {
    /// The holder of the credential with this digest; [`Holder::Strangers`] if it is not known.
    pub(super) fn holder(&self, digest: &Digest) -> Holder {
        self.0.find(digest.as_bytes()).unwrap_or(Holder::Strangers)
    }

    /// Notes that a credential was found good.
    pub(super) fn note(&self, digest: &Digest, holder: Holder) {
        self.0.note(*digest.as_bytes(), holder);
    }

    /// Forgets a credential that was found to be no longer good.
    pub(super) fn forget(&self, digest: &Digest) {
        self.0.forget(digest.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_was_noted_is_known_until_it_is_forgotten() {
        let known = Known::default();
        let (digest, holder) = (Digest::of(b"a"), Holder::Team(Uuid::from_u128(1)));
        assert_eq!(known.holder(&digest), Holder::Strangers);
        known.note(&digest, holder);
        assert_eq!(known.holder(&digest), holder);
        known.forget(&digest);
        assert_eq!(known.holder(&digest), Holder::Strangers);
    }
}
