//! What a change decides upon.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::catalog::Catalog;
use super::id::ProductId;
use super::secret::Digest;

/// Something that a change reads, and on which it depends what the change does: it must not be changed by another until
/// this one is committed or undone. Changes that have no subject in common may be made at once.
///
/// It is a hash: two that share one by chance are made one after the other, as if they had the same subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subject(u64);

impl Subject {
    /// A product.
    pub fn product(id: ProductId) -> Subject {
        Subject::of(("product", id))
    }

    /// An idempotency key of a team, in a mode.
    pub fn idempotency_key(catalog: Catalog, key: &str) -> Subject {
        Subject::of(("idempotency key", catalog, key))
    }

    /// A refresh token.
    pub fn refresh_token(digest: &Digest) -> Subject {
        Subject::of(("refresh token", digest.as_bytes()))
    }

    fn of(what: impl Hash) -> Subject {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        Subject(hasher.finish())
    }
}
