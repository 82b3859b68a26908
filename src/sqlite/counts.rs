//! Counters of the store.

use std::sync::Arc;

use crate::tally::{Count, SIZES, Spread, TIMES};

/// What has happened since the file was opened.
#[derive(Debug)]
pub struct Counts {
    /// Changes, and reads that wait for the disk, refused because their turn would have come too late.
    pub refused: Arc<Count>,
    /// How long changes were in the queue before their group started.
    pub waits: Spread,
    /// How many changes each group had.
    pub groups: Spread,
    /// How long the transaction of each group took, including the wait for the lock and the commit.
    pub transactions: Spread,
    /// Groups that were not committed, because of the disk or another process that held the lock.
    pub failed_groups: Count,
    /// How long the checkpoints of the background thread took.
    pub background_checkpoints: Spread,
    /// How long the writer's own checkpoints took, which hold up all waiting changes.
    pub writer_checkpoints: Spread,
    /// Checkpoints that failed, or that another process was making.
    pub failed_checkpoints: Count,
    /// How long scripts that only read waited for a connection.
    pub reader_waits: Spread,
    /// Those that were found to wait for the disk.
    pub slow_reads: Count,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts {
            refused: Arc::default(),
            waits: Spread::new(TIMES),
            groups: Spread::new(SIZES),
            transactions: Spread::new(TIMES),
            failed_groups: Count::default(),
            background_checkpoints: Spread::new(TIMES),
            writer_checkpoints: Spread::new(TIMES),
            failed_checkpoints: Count::default(),
            reader_waits: Spread::new(TIMES),
            slow_reads: Count::default(),
        }
    }
}

/// The counters of the store, and its current state.
#[derive(Debug)]
pub struct Numbers<'a> {
    /// What has happened.
    pub counts: &'a Counts,
    /// Changes in the queue.
    pub queued: usize,
    /// Pages in use in the write-ahead log, once this process has changed something.
    pub log_pages: u32,
    /// Bytes of the log file; 0 if there is none.
    pub log_bytes: u64,
    /// Bytes of the database file.
    pub file_bytes: u64,
    /// Connections that only read.
    pub readers: usize,
    /// Those of them that scripts hold now.
    pub readers_used: usize,
    /// The most there may be.
    pub readers_most: usize,
}
