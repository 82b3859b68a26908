//! Waits, at the end of a process, until its store is closed.
//!
//! Whoever holds a store last closes it, which may be a task that the runtime drops in its own time. On SQLite, closing it
//! copies the rest of the write-ahead log into the file, and removes the log. A process that ends before leaves both, and
//! nothing is lost; but the file alone is then incomplete, and may not even be a database.

use std::fs::File;
use std::sync::Weak;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Knows whether a store is closed.
pub struct Closing(pub(super) Option<Weak<File>>);

impl Closing {
    /// Waits until the store is closed, but no longer than `most`.
    pub fn wait(&self, most: Duration) {
        let begun = Instant::now();
        let is_open = || self.0.as_ref().is_some_and(|it| it.strong_count() > 0);
        while is_open() && begun.elapsed() < most {
            sleep(Duration::from_millis(1));
        }
    }
}
