//! Which transactions were under way recently, as far as this process has seen: see [`crate::domain::session::underway`].

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::session::underway::Underway;
use crate::domain::time::Timestamp;

/// How many are kept: at one in five seconds, twice as many as a grace has.
const KEPT: usize = 12;

/// What was under way recently, oldest first.
#[derive(Debug, Default)]
pub(super) struct Sightings(Mutex<VecDeque<Underway>>);

impl Sightings {
    /// Adds the newest.
    pub(super) fn note(&self, underway: Underway) {
        let mut all = self.all();
        if all.len() == KEPT {
            all.pop_front();
        }
        all.push_back(underway);
    }

    /// What was under way at this time, as far as known: the last that was seen by then, or else the first that was seen.
    pub(super) fn at(&self, time: Timestamp) -> Option<Underway> {
        let all = self.all();
        let by_then = all.iter().rev().find(|seen| seen.seen_at <= time);
        by_then.or(all.front()).cloned()
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<Underway>> {
        // Nothing panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn seen(seconds: i64) -> Underway {
        Underway {
            seen_at: time(seconds),
            transactions: vec![seconds],
        }
    }

    #[test]
    fn what_was_under_way_is_what_was_seen_last_by_then_or_else_first() {
        let sightings = Sightings::default();
        assert_eq!(sightings.at(time(100)), None);
        sightings.note(seen(95));
        sightings.note(seen(100));
        for (at, found) in [(0, 95), (99, 95), (100, 100), (500, 100)] {
            assert_eq!(sightings.at(time(at)), Some(seen(found)), "{at}");
        }
        for seconds in 101..200 {
            sightings.note(seen(seconds));
        }
        assert_eq!(sightings.at(time(0)), Some(seen(188)));
    }
}
