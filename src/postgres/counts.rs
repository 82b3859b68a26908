//! What the store counts of itself.

use crate::tally::{Count, Spread, TIMES};

/// What has happened since the database was opened.
#[derive(Debug)]
pub struct Counts {
    /// How long scripts waited for a connection: for their turn, and until it was open.
    pub waits: Spread,
    /// Scripts that were refused, because their turn would have come too late.
    pub refused: Count,
    /// How often a script was run again, as the server asked for it or a connection was lost.
    pub retries: Count,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts {
            waits: Spread::new(TIMES),
            refused: Count::default(),
            retries: Count::default(),
        }
    }
}

/// What the store counts, and how it is now.
#[derive(Debug)]
pub struct Numbers<'a> {
    /// What has happened.
    pub counts: &'a Counts,
    /// Scripts that wait for their turn.
    pub waiting: usize,
    /// Connections that are open.
    pub connections: usize,
    /// Turns that scripts have, each with a connection or about to have one.
    pub used: usize,
    /// As many connections as there may be.
    pub most: usize,
}
