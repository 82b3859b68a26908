//! Counters of the store.

use std::sync::Arc;

use crate::tally::{Count, SIZES, Spread, TIMES};

/// What has happened since the database was opened.
#[derive(Debug)]
pub struct Counts {
    /// How long scripts waited for a connection: for their turn, and for it to open.
    pub waits: Spread,
    /// Scripts refused because their turn would have come too late.
    pub refused: Arc<Count>,
    /// How often a script was run again because the server asked for it or a connection was lost.
    pub retries: Count,
    /// How long changes waited for their group.
    pub group_waits: Spread,
    /// How many changes each committed group had.
    pub groups: Spread,
    /// Groups of several that were not committed.
    pub undone_groups: Count,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts {
            waits: Spread::new(TIMES),
            refused: Arc::default(),
            retries: Count::default(),
            group_waits: Spread::new(TIMES),
            groups: Spread::new(SIZES),
            undone_groups: Count::default(),
        }
    }
}

/// The counters of the store, and its current state.
#[derive(Debug)]
pub struct Numbers<'a> {
    /// What has happened.
    pub counts: &'a Counts,
    /// Scripts that wait for their turn.
    pub waiting: usize,
    /// Connections that are open.
    pub connections: usize,
    /// Turns that scripts hold, each with a connection or about to have one.
    pub used: usize,
    /// The most connections there may be.
    pub most: usize,
}
