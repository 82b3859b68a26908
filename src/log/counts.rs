//! Limits repeated lines: each cause gets some in full, and the rest are counted.
//!
//! 1. In each minute, each cause has [`IN_FULL`] lines. The rest are counted.
//! 2. At the end of the minute there is one line for each cause that exceeded its limit, and all counts start again.
//! 3. At most [`APART`] causes are distinguished in a minute. Later ones share the lines of one.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lines that each cause gets in a minute.
pub(super) const IN_FULL: u64 = 20;

/// How many causes are distinguished in a minute, which takes some hundred kilobytes.
const APART: usize = 1_000;

/// The counts of this minute, by cause; under `None`, those that came when there was no room left.
#[derive(Debug)]
pub(super) struct Counts<K>(Mutex<HashMap<Option<K>, u64>>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Counts(Mutex::default())
    }
}

impl<K: Eq + Hash> Counts<K> {
    /// Whether one more line of this cause is written (steps 1 and 3).
    pub(super) fn admit(&self, whose: K) -> bool {
        let known = self.admit_apart(whose);
        known.unwrap_or_else(|| count(&mut self.counts(), None))
    }

    /// The same (step 1); `None` if the cause would have to share its lines.
    pub(super) fn admit_apart(&self, whose: K) -> Option<bool> {
        let mut counts = self.counts();
        let whose = Some(whose);
        let is_known = counts.len() < APART || counts.contains_key(&whose);
        is_known.then(|| count(&mut counts, whose))
    }

    /// Step 2: the causes with lines that were not written, and how many.
    pub(super) fn take(&self) -> impl Iterator<Item = (Option<K>, u64)> {
        let counts = std::mem::take(&mut *self.counts()).into_iter();
        let unwritten = counts.map(|(whose, count)| (whose, count.saturating_sub(IN_FULL)));
        unwritten.filter(|(_, count)| *count > 0)
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Option<K>, u64>> {
        // The map is consistent between two statements, whatever panicked elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count<K: Eq + Hash>(counts: &mut HashMap<Option<K>, u64>, whose: Option<K>) -> bool {
    let count = counts.entry(whose).or_default();
    *count += 1;
    *count <= IN_FULL
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `lines` lines are written.
    fn written(counts: &Counts<usize>, whose: usize, lines: u64) -> u64 {
        (0..lines).filter(|_| counts.admit(whose)).count() as u64
    }

    #[test]
    fn each_has_its_lines_whatever_others_do_and_again_after_a_minute() {
        let counts = Counts::default();
        for _ in 0..2 {
            assert_eq!(written(&counts, 1, 1_000), IN_FULL);
            assert_eq!(written(&counts, 2, 5), 5);
            let unwritten: Vec<_> = counts.take().collect();
            assert_eq!(unwritten, [(Some(1), 1_000 - IN_FULL)]);
        }
    }

    #[test]
    fn those_beyond_who_are_told_apart_share_the_lines_of_one() {
        let counts = Counts::default();
        let lines = (0..10 * APART).filter(|it| counts.admit(*it));
        assert_eq!(lines.count() as u64, APART as u64 + IN_FULL);
        assert_eq!(counts.counts().len(), APART + 1);
        // A cause that was known before is unaffected.
        assert_eq!(written(&counts, 0, 100), IN_FULL - 1);
    }
}
