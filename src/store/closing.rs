//! Waits, at the end of a process, until its store is closed.
//!
//! Whoever holds a store last closes it, which may be a task that the runtime drops in its own time. On SQLite, closing it
//! copies the rest of the write-ahead log into the file, and removes the log. A process that ends before leaves both, and
//! nothing is lost; but the file alone is then incomplete, and may not even be a database.

use std::fs::File;
use std::sync::Weak;
use std::time::Duration;

use tokio::time::sleep;

/// Knows whether a store is closed. There is nothing to wait for with PostgreSQL.
#[derive(Default)]
pub struct Closing(pub(super) Weak<File>);

impl Closing {
    /// Waits until the store is closed.
    pub async fn closed(&self) {
        while self.0.strong_count() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }
}
