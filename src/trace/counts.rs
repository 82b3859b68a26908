//! How many spans there are, and how many arrive.

use crate::tally::Count;

/// What became of spans.
#[derive(Debug, Default)]
pub struct Counts {
    /// Spans that were to be sent.
    pub ended: Count,
    /// Spans that a collector has taken.
    pub delivered: Count,
}
