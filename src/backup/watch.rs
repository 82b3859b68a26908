//! How far a backup is, and whether somebody wants it to end.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::BackupError;

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What is being done, as a word for people.
    pub doing: &'static str,
    /// How much of it is done: bytes, rows or tables.
    pub done: u64,
    /// How much there is to do, in the same unit.
    pub total: u64,
}

/// Who is told how far it is, and may end it, from any thread.
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
    /// Has `show` told.
    pub fn new(show: impl Fn(Progress) + Send + Sync + 'static) -> Watch {
        Watch {
            show: Arc::new(show),
            stopped: Arc::default(),
        }
    }

    /// Has everything that is watched by this end soon, by [`BackupError::Interrupted`], and leave nothing.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Tells how far it is.
    pub(super) fn show(&self, doing: &'static str, done: u64, total: u64) {
        (self.show)(Progress { doing, done, total });
    }

    /// What came out, unless it was to end: whatever failed then failed for that.
    pub(super) fn outcome<T>(&self, result: Result<T, BackupError>) -> Result<T, BackupError> {
        match (self.is_stopped(), result) {
            (true, _) => Err(BackupError::Interrupted),
            (false, result) => result,
        }
    }
}
