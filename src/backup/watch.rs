//! Reports the progress of a backup, and lets a caller stop it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::BackupError;

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What is being done, in words for people.
    pub doing: &'static str,
    /// How much of it is done: bytes, rows or tables.
    pub done: u64,
    /// How much there is to do, in the same unit.
    pub total: u64,
}

/// Receives progress, and can stop the work, from any thread.
#[derive(Clone)]
pub struct Watch {
    show: Arc<dyn Fn(Progress) + Send + Sync>,
    stopped: Arc<AtomicBool>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch(stopped: {})", self.is_stopped())
    }
}

impl Watch {
    /// Passes progress to `show`.
    pub fn new(show: impl Fn(Progress) + Send + Sync + 'static) -> Watch {
        Watch {
            show: Arc::new(show),
            stopped: Arc::default(),
        }
    }

    /// Makes everything watched by this end soon, with [`BackupError::Interrupted`], and leave nothing.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it was stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Reports progress.
    pub(super) fn show(&self, doing: &'static str, done: u64, total: u64) {
        (self.show)(Progress { doing, done, total });
    }

    /// The result, unless this was stopped: whatever failed then failed for that reason.
    pub(super) fn outcome<T>(&self, result: Result<T, BackupError>) -> Result<T, BackupError> {
        match (self.is_stopped(), result) {
            (true, _) => Err(BackupError::Interrupted),
            (false, result) => result,
        }
    }
}
