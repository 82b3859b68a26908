//! What the limits count of themselves.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::tally::Count;

/// What has happened since this process began.
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
    /// There is a Redis among the settings.
    pub(super) fn has_redis(&self) {
        self.configured.store(true, Ordering::Relaxed);
    }

    /// Redis has begun to answer, or has stopped.
    pub(super) fn shares(&self, shared: bool) {
        self.shared.store(shared, Ordering::Relaxed);
        if !shared {
            self.losses.one();
        }
    }

    /// Whether limits are meant to hold across replicas.
    pub fn redis_is_configured(&self) -> bool {
        self.configured.load(Ordering::Relaxed)
    }

    /// Whether they do now.
    pub fn are_shared(&self) -> bool {
        self.shared.load(Ordering::Relaxed)
    }
}
