//! Subjects: what a change depends on. Changes with a subject in common are made one after the other.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::LazyLock;

use super::catalog::Catalog;
use super::id::{ProductId, SessionId};
use super::secret::Digest;

/// Nobody outside can find two texts with one hash.
static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Something that a change reads and that decides what the change does: no other change may alter it until this one is
/// committed or rolled back. Changes that have no subject in common may be made at once.
///
/// It is a hash: changes whose subjects collide are made one after the other, as if they had the same subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subject(u64);

impl Subject {
    /// A product of a team, in a mode. The same id in another catalog is another subject, which nobody has to wait for.
    pub fn product(catalog: Catalog, id: ProductId) -> Subject {
        Subject::of(("product", catalog, id))
    }

    /// A sku that a product of a team is to get.
    pub fn sku(catalog: Catalog, sku: &str) -> Subject {
        Subject::of(("sku", catalog, sku))
    }

    /// An idempotency key of a team, in a mode.
    pub fn idempotency_key(catalog: Catalog, key: &str) -> Subject {
        Subject::of(("idempotency key", catalog, key))
    }

    /// A session of an app.
    pub fn session(id: SessionId) -> Subject {
        Subject::of(("session", id))
    }

    /// A code that is presented, or a token that belongs to no session.
    pub fn presented(digest: &Digest) -> Subject {
        Subject::of(("presented", digest.as_bytes()))
    }

    fn of(what: impl Hash) -> Subject {
        Subject(KEYS.hash_one(what))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::super::catalog::Mode;
    use super::super::id::TeamId;
    use super::*;

    #[test]
    fn a_product_is_a_subject_of_its_catalog_alone() {
        let id = ProductId::from(Uuid::new_v4());
        let of = |team: u128, mode| {
            let team_id = TeamId(Uuid::from_u128(team));
            Subject::product(Catalog { team_id, mode }, id)
        };
        assert_eq!(of(1, Mode::Live), of(1, Mode::Live));
        assert_ne!(of(1, Mode::Live), of(2, Mode::Live));
        assert_ne!(of(1, Mode::Live), of(1, Mode::Test));
    }
}
