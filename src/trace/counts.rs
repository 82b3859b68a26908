//! How many spans there are, and how many arrive.

use crate::tally::Count;

/// What became of spans.
#[derive(Debug, Default)]
pub struct Counts {
    /// Those that were to be told.
    pub ended: Count,
    /// Those that a collector has taken.
    pub delivered: Count,
}
