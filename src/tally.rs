//! Counters, updated where things happen and read on demand.
//!
//! Counting neither waits nor locks: it adds to a number or two. What reads the counters ([`crate::admin::metrics`]) knows
//! how they are shown; what counts does not, so no layer needs to know how the service is monitored.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often something has happened.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Returns a count of zero.
    pub(crate) const fn none() -> Count {
        Count(AtomicU64::new(0))
    }

    /// Adds one.
    pub(crate) fn one(&self) {
        self.add(1);
    }

    /// Adds `times`.
    pub(crate) fn add(&self, times: u64) {
        self.0.fetch_add(times, Ordering::Relaxed);
    }

    /// Returns the count so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper ends of the ranges of times, in nanoseconds: from a tenth of a millisecond to ten seconds.
pub(crate) const TIMES: &[u64] = &[
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    1_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Upper ends of the ranges of group sizes, up to the largest group of changes.
pub(crate) const SIZES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256];

/// A histogram: how many measurements fell into each range, and their sum.
#[derive(Debug)]
pub struct Spread {
    ends: &'static [u64],
    /// One for each range, and one for measurements above the last.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Spread {
    /// Returns an empty histogram. `ends` are the inclusive upper ends of the ranges, in ascending order.
    pub(crate) fn new(ends: &'static [u64]) -> Spread {
        Spread {
            ends,
            counts: (0..=ends.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    /// Records a measurement.
    pub(crate) fn note(&self, size: u64) {
        let range = self.ends.partition_point(|&end| end < size);
        if let Some(count) = self.counts.get(range) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(size, Ordering::Relaxed);
    }

    /// Records a duration, in nanoseconds.
    pub(crate) fn took(&self, time: Duration) {
        self.note(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Returns a timer that records, when dropped, how long it lived.
    pub(crate) fn timed(&self) -> Timed<'_> {
        Timed {
            spread: self,
            begun: Instant::now(),
        }
    }

    /// Returns the upper end of each range with its count; the last range has no end.
    pub fn ranges(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let ends = self.ends.iter().copied().map(Some).chain([None]);
        let counts = self.counts.iter();
        ends.zip(counts.map(|count| count.load(Ordering::Relaxed)))
    }

    /// Returns the sum of all measurements.
    pub fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }
}

/// Records how long it lived when it is dropped.
pub(crate) struct Timed<'a> {
    spread: &'a Spread,
    begun: Instant,
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        self.spread.took(self.begun.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_large_as_the_end_of_a_range_belongs_to_it() {
        let spread = Spread::new(&[1, 10]);
        for size in [0, 1, 2, 10, 11, 1_000] {
            spread.note(size);
        }
        let ranges: Vec<_> = spread.ranges().collect();
        assert_eq!(ranges, [(Some(1), 2), (Some(10), 2), (None, 2)]);
        assert_eq!(spread.sum(), 1_024);
    }

    #[test]
    fn what_is_timed_is_noted_once_it_is_over() {
        let spread = Spread::new(TIMES);
        let count = || spread.ranges().map(|(_, count)| count).sum::<u64>();
        let timed = spread.timed();
        assert_eq!(count(), 0);
        drop(timed);
        assert_eq!(count(), 1);
    }

    #[test]
    fn a_time_is_kept_in_nanoseconds() {
        let spread = Spread::new(TIMES);
        spread.took(Duration::from_millis(3));
        let found: Vec<_> = spread.ranges().filter(|(_, count)| *count > 0).collect();
        assert_eq!(
            (found, spread.sum()),
            (vec![(Some(5_000_000), 1)], 3_000_000)
        );
    }
}
