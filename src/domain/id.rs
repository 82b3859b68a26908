//! Identifiers: one type per noun, so that a team's id cannot be passed where a product's is expected.
//!
//! Every id is a UUIDv7 (RFC 9562, 5.7): 48 bits of milliseconds, then 74 random bits. Lists are ordered by id, newest
//! first, so [`IdSource`] promises more than the RFC requires: the ids made by one process increase strictly, even
//! within a millisecond and when the clock steps back.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use super::secret::random;
use super::time::Timestamp;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// The sixteen bytes, most significant first: their order is the order of the ids.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                $name(id)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Uuid {
                id.0
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                text.parse().map($name).map_err(|_| NotAnId)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    )+};
}

ids! {
    /// Identifies a team.
    TeamId
    /// Identifies an API key; it is not the key, and not a secret.
    ApiKeyId
    /// Identifies a product.
    ProductId
    /// Identifies an import plan that is kept.
    ProductImportId
    /// Identifies a user, the person behind a mobile session.
    UserId
    /// Identifies a mobile session: what one code exchange started and every refresh continues.
    SessionId
    /// Identifies a browser in which a user is signed in; it is not the cookie, and not a secret.
    BrowserSessionId
    /// Identifies an audit event.
    AuditEventId
    /// Identifies an invitation; it is not its link, and not a secret.
    InvitationId
    /// Identifies, within this service, an identity at an OpenID provider; it is not its subject.
    IdentityId
    /// Identifies a passkey; it is not the authenticator's id for it.
    PasskeyId
    /// Identifies a folder.
    FolderId
    /// Identifies a file.
    FileId
    /// Identifies a share link.
    ShareLinkId
}

/// A text that is not an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write an id as a command prints it, such as 0190f3a2-7b64-7c1e-9d5a-3f0c8e2b1a47")]
pub struct NotAnId;

/// Bits of a UUIDv7 after the milliseconds, without version and variant.
const CHANCE_BITS: u32 = 74;

/// Makes the ids of this process.
///
/// The 122 bits that a UUIDv7 leaves free form one counter. In a new millisecond it starts at the time, followed by
/// random bits; within a millisecond, and while the clock is behind an id already handed out, it advances by a random
/// step (RFC 9562, 6.2, method 2). A carry out of the random bits advances the time part, which the RFC allows and
/// which keeps the order.
#[derive(Debug, Default)]
pub struct IdSource {
    last: Mutex<u128>,
}

impl IdSource {
    /// Returns the next id, greater than every id that this source has returned before.
    pub fn next<Id: From<Uuid>>(&self, now: Timestamp) -> Id {
        let chance = u128::from_be_bytes(random()) >> (128 - CHANCE_BITS);
        let millis = millis(now);

        // The state is one number, valid after every statement, so a poisoned lock still holds a valid one.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = if millis > *last >> CHANCE_BITS {
            millis << CHANCE_BITS | chance
        } else {
            // A step has 32 bits: ids cannot be guessed by counting, and 2^42 steps fit in a millisecond.
            *last + 1 + (chance & u128::from(u32::MAX))
        };
        Id::from(uuid_v7(*last))
    }
}

/// Returns a lower bound for the ids made at `time` or later: where a list by id that goes back to `time` ends.
pub fn first_at<Id: From<Uuid>>(time: Timestamp) -> Id {
    Id::from(uuid_v7(millis(time) << CHANCE_BITS))
}

/// A clock before 1970 counts as 1970; past the year 10889 the time wraps.
fn millis(time: Timestamp) -> u128 {
    u128::from(time.as_millis().max(0) as u64) & ((1 << 48) - 1)
}

/// Spreads 122 bits around the version (7) and the variant (binary 10).
fn uuid_v7(bits: u128) -> Uuid {
    let time = bits >> CHANCE_BITS;
    let high = (bits >> 62) & 0xfff;
    let low = bits & ((1 << 62) - 1);
    Uuid::from_u128(time << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn an_id_is_a_uuid_of_version_7_with_the_time_in_front() {
        let id: ProductId = IdSource::default().next(at(0x0123_4567_89ab));
        assert_eq!(id.0.get_version_num(), 7);
        assert_eq!(id.0.get_variant(), uuid::Variant::RFC4122);
        assert!(id.to_string().starts_with("01234567-89ab-7"), "{id}");
    }

    #[test]
    fn the_first_id_of_a_time_is_before_those_made_then_and_behind_those_before() {
        let source = IdSource::default();
        let before: ProductId = source.next(at(999));
        let then: ProductId = source.next(at(1_000));
        let first = first_at::<ProductId>(at(1_000));
        assert!(before < first && first < then, "{before} {first} {then}");
    }

    #[test]
    fn ids_increase_within_a_millisecond_and_when_the_clock_steps_back() {
        let source = IdSource::default();
        let mut last: ProductId = source.next(at(1_000));
        for millis in [1_000, 1_000, 999, 0, -5, 1_000, 1_001, 1_001, 500] {
            for _ in 0..1_000 {
                let next = source.next(at(millis));
                assert!(next > last, "{next} after {last}");
                last = next;
            }
        }
    }

    #[test]
    fn a_full_millisecond_carries_into_the_next() {
        let source = IdSource::default();
        *source.last.lock().unwrap() = 1_000 << CHANCE_BITS | ((1 << CHANCE_BITS) - 1);
        let next: ProductId = source.next(at(1_000));
        assert_eq!(next.0.get_timestamp().unwrap().to_unix().1, 1_000_000);
        assert_eq!(next.0.get_version_num(), 7);
    }

    #[test]
    fn threads_never_share_an_id() {
        let source = IdSource::default();
        let mut all: Vec<ProductId> = std::thread::scope(|scope| {
            let one = || (0..2_000).map(|_| source.next(at(7))).collect::<Vec<_>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect()
        });
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 8_000);
    }

    #[test]
    fn the_bits_of_an_id_stand_around_version_and_variant() {
        for (bits, id) in [
            (0, "00000000-0000-7000-8000-000000000000"),
            ((1 << 122) - 1, "ffffffff-ffff-7fff-bfff-ffffffffffff"),
            ((1 << 62) - 1, "00000000-0000-7000-bfff-ffffffffffff"),
            (1 << 62, "00000000-0000-7001-8000-000000000000"),
            (1 << CHANCE_BITS, "00000000-0001-7000-8000-000000000000"),
        ] {
            assert_eq!(uuid_v7(bits).to_string(), id);
        }
    }

    #[test]
    fn an_id_of_a_later_millisecond_begins_with_that() {
        let source = IdSource::default();
        for millis in [1_000, 1_001, 5_000] {
            let id: ProductId = source.next(at(millis));
            assert_eq!(id.0.as_u128() >> 80, millis as u128);
        }
    }
}
