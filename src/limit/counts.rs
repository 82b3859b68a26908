//! The counters of the rate limits.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::tally::Count;

/// What has happened since this process started.
#[derive(Debug, Default)]
pub struct Counts {
    /// Requests of API keys beyond their limit.
    pub api_keys: Count,
    /// Requests of sessions, of apps and browsers, beyond their limit.
    pub sessions: Count,
    /// Requests of client addresses without a credential beyond their limit.
    pub addresses: Count,
    /// Credentials of client addresses that had presented too many wrong ones.
    pub guesses: Count,
    /// How often Redis stopped answering.
    pub losses: Count,
    configured: AtomicBool,
    shared: AtomicBool,
}

impl Counts {
    /// Records that Redis is configured.
    pub(super) fn has_redis(&self) {
        self.configured.store(true, Ordering::Relaxed);
    }

    /// Records that Redis has started to answer, or has stopped.
    pub(super) fn shares(&self, shared: bool) {
        self.shared.store(shared, Ordering::Relaxed);
        if !shared {
            self.losses.one();
        }
    }

    /// Whether limits are configured to hold across replicas.
    pub fn redis_is_configured(&self) -> bool {
        self.configured.load(Ordering::Relaxed)
    }

    /// Whether they currently do.
    pub fn are_shared(&self) -> bool {
        self.shared.load(Ordering::Relaxed)
    }
}
