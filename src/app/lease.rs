//! Leases: keys that were looked up a moment ago, and need no lookup now.
//!
//! Every request brings a key, usually one that has just been looked up. The lookup is an eighth of what a product costs on
//! SQLite, and half of its round trips on PostgreSQL. So a process may rely on what it has read of a key, for as long as a
//! lease lasts (Gray and Cheriton, 1989):
//!
//! 1. A lease starts before the lookup that it comes from, and ends [`LEASE`] later. Then the key is looked up again.
//! 2. Revoking a key waits for [`RUN_OUT`] after the commit. By then every lease from an earlier state has ended, in all
//!    processes and on all machines: when revoking a key returns, the key works nowhere. No process has to know which others
//!    use the store, and clocks need not agree except on how long a moment is.
//! 3. A key that expires needs no such wait: its expiry is part of what was read.
//! 4. The one exception: a machine that was suspended in between resumes with what was left of its leases.
//! 5. Keys that were not found are not remembered, so strangers cannot fill the memory, and a new key works at once.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::domain::api_key::ApiKey;
use crate::domain::secret::Digest;

/// How long a lease lasts.
const LEASE: Duration = Duration::from_millis(200);

/// How long until no lease is left. Longer than [`LEASE`], since clocks do not run at quite the same pace.
pub(super) const RUN_OUT: Duration = Duration::from_millis(250);

/// Keys remembered at most: some megabytes. Beyond that all are forgotten and looked up again.
const MAX_LEASES: usize = 16_384;

/// The leases of a process.
#[derive(Debug, Default)]
pub(super) struct Leases(RwLock<HashMap<[u8; 32], Lease>>);

#[derive(Debug)]
struct Lease {
    key: ApiKey,
    end: Instant,
}

impl Leases {
    /// The key with this digest, if its lease has not ended by `now`.
    pub(super) fn get(&self, digest: &Digest, now: Instant) -> Option<ApiKey> {
        // The map is consistent between any two statements, whatever panicked elsewhere.
        let leases = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let lease = leases.get(digest.as_bytes())?;
        (now < lease.end).then(|| lease.key.clone())
    }

    /// Remembers the key found by a lookup that started at `begun`.
    pub(super) fn begin(&self, digest: &Digest, key: ApiKey, begun: Instant) {
        let mut leases = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if leases.len() >= MAX_LEASES {
            leases.clear();
        }
        let end = begun + LEASE;
        leases.insert(*digest.as_bytes(), Lease { key, end });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::api_key::Scope;
    use crate::domain::catalog::Mode;
    use crate::domain::id::{ApiKeyId, TeamId};
    use crate::domain::time::Timestamp;
    use uuid::Uuid;

    fn key(id: u128) -> (Digest, ApiKey) {
        let key = ApiKey {
            id: ApiKeyId(Uuid::from_u128(id)),
            team_id: TeamId(Uuid::nil()),
            mode: Mode::Live,
            scope: Scope::ReadOnly,
            name: None,
            created_at: Timestamp::from_millis(0),
            created_by: None,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
            replaced_by: None,
        };
        (Digest::of(&id.to_be_bytes()), key)
    }

    #[test]
    fn a_lease_is_of_one_key_and_ends_in_time() {
        let (leases, begun) = (Leases::default(), Instant::now());
        let ((digest, key), (other, _)) = (key(1), key(2));
        assert_eq!(leases.get(&digest, begun), None);
        leases.begin(&digest, key.clone(), begun);
        let last = begun + LEASE - Duration::from_nanos(1);
        assert_eq!(leases.get(&digest, last), Some(key));
        assert_eq!(leases.get(&other, last), None);
        assert_eq!(leases.get(&digest, begun + LEASE), None);
    }

    #[test]
    fn a_lookup_that_took_longer_than_a_lease_gives_none() {
        let (leases, begun) = (Leases::default(), Instant::now());
        let (digest, key) = key(1);
        leases.begin(&digest, key, begun);
        assert_eq!(leases.get(&digest, begun + 2 * LEASE), None);
    }

    #[test]
    fn no_more_keys_are_remembered_than_memory_is_meant_for() {
        let (leases, begun) = (Leases::default(), Instant::now());
        for id in 0..=MAX_LEASES as u128 {
            let (digest, key) = key(id);
            leases.begin(&digest, key, begun);
        }
        assert_eq!(leases.0.read().unwrap().len(), 1);
    }

    #[test]
    fn many_keys_have_a_lease_at_once() {
        let (leases, begun) = (Leases::default(), Instant::now());
        let all: Vec<_> = (0..10).map(key).collect();
        for (digest, key) in &all {
            leases.begin(digest, key.clone(), begun);
        }
        assert!(
            all.iter()
                .all(|(digest, key)| leases.get(digest, begun).as_ref() == Some(key))
        );
    }
}
