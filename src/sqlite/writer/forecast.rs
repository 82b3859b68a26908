//! Decides which changes are let into the queue: those whose [wait](crate::pace) would not be too long. A turn is a group,
//! since a commit costs about the same for one change as for a hundred.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::pace::Pace;

/// Jobs in one transaction: enough to make the commit's cost vanish, few enough that the first of a
/// group does not wait noticeably for the last.
pub(super) const GROUP: usize = 256;

/// When a change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// After those that came before.
    InTurn,
    /// With the next group. For the few changes whose callers hold what all others wait for.
    First,
}

/// Foresees the wait in one queue.
#[derive(Debug)]
pub(super) struct Forecast(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Changes in the queue.
    queued: usize,
    /// Whether a group is not answered yet.
    under_way: bool,
    pace: Pace,
}

impl Forecast {
    /// The forecast of an empty queue.
    pub(super) fn new(now: Instant) -> Self {
        Self(Mutex::new(State {
            queued: 0,
            under_way: false,
            pace: Pace::begin(now),
        }))
    }

    /// Counts a change that comes at `now`, unless it has to be refused; returns whether it was counted. One that goes first
    /// does not wait for the others.
    #[must_use]
    pub(super) fn enter(&self, order: Order, now: Instant) -> bool {
        let mut state = self.state();
        if state.queued == 0 && !state.under_way {
            state.pace = Pace::begin(now);
        }
        let groups = match order {
            Order::InTurn => state.queued / GROUP + usize::from(state.under_way),
            Order::First => usize::from(state.under_way),
        };
        let admitted = state.pace.admits(groups, now);
        state.queued += usize::from(admitted);
        admitted
    }

    /// Changes in the queue.
    pub(super) fn queued(&self) -> usize {
        self.state().queued
    }

    /// Takes back a change that was counted but could not be queued.
    pub(super) fn leave(&self) {
        self.state().queued -= 1;
    }

    /// A group of `changes` changes has started.
    pub(super) fn begin(&self, changes: usize) {
        let mut state = self.state();
        state.queued -= changes;
        state.under_way = true;
    }

    /// The group under way has ended.
    pub(super) fn end(&self, now: Instant) {
        let mut state = self.state();
        state.under_way = false;
        state.pace.moves(now);
    }

    /// The state is whole after every statement, so a poisoned lock holds a good one.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A queue whose groups, of one change each and one right behind the other, took that many milliseconds; the last is
    /// under way, and nothing waits behind it.
    fn after_groups(millis: &[u64]) -> (Forecast, Instant) {
        let mut now = Instant::now();
        let forecast = Forecast::new(now);
        assert!(forecast.enter(Order::InTurn, now), "nothing was before it");
        for &took in millis {
            forecast.begin(1);
            now += Duration::from_millis(took);
            assert!(forecast.enter(Order::InTurn, now), "of {millis:?}");
            forecast.end(now);
        }
        forecast.begin(1);
        (forecast, now)
    }

    /// How many changes are admitted at once, up to a limit that no queue reaches.
    fn admitted(forecast: &Forecast, now: Instant) -> usize {
        (0..100_000)
            .take_while(|_| forecast.enter(Order::InTurn, now))
            .count()
    }

    #[test]
    fn as_many_are_admitted_as_groups_fit_into_the_limit() {
        let (forecast, now) = after_groups(&[95; 100]);
        // The one under way takes the first of ten.
        assert_eq!(admitted(&forecast, now), 9 * GROUP);
        forecast.end(now + Duration::from_millis(95));
        forecast.begin(GROUP);
        assert_eq!(admitted(&forecast, now + Duration::from_millis(95)), GROUP);
    }

    #[test]
    fn nobody_is_let_in_behind_a_group_that_takes_longer_than_the_limit() {
        let (forecast, now) = after_groups(&[1]);
        assert!(forecast.enter(Order::InTurn, now + Duration::from_secs(1)));
        assert!(!forecast.enter(Order::InTurn, now + Duration::from_secs(2)));
        forecast.end(now + Duration::from_secs(2));
        assert!(
            forecast.enter(Order::InTurn, now + Duration::from_secs(2)),
            "the next may try"
        );
    }

    #[test]
    fn a_queue_that_was_empty_begins_anew_however_slow_it_was() {
        let (forecast, now) = after_groups(&[900; 20]);
        assert!(!forecast.enter(Order::InTurn, now));
        forecast.end(now);
        assert!(admitted(&forecast, now) > 10 * GROUP);
    }
}
