//! How long a change would wait for its turn, as far as that can be foreseen.
//!
//! When more changes come than the disk takes, a caller is better off with a refusal now than with one in
//! five seconds: it can try later, and no work is wasted on it.
//!
//! 1. A change is counted when it comes ([`Forecast::enter`]) and when its group is answered ([`Forecast::end`]).
//! 2. Changes wait for whole groups: the one under way, and as many full ones as are before them. How long one takes is a
//!    moving mean over groups, since a commit costs about the same for one change as for a hundred.
//! 3. A change that would wait for longer than the limit is refused. So is every change while the group under
//!    way has taken that long already: a lock or the disk does not come free, and nobody knows when it will.
//! 4. A change that finds nothing before it is always taken. However slow things were, they are tried again.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Jobs in one transaction: enough to make the commit's cost vanish, few enough that the first of a
/// group does not wait noticeably for the last.
pub(super) const GROUP: usize = 256;

/// Foresees the wait in one queue.
#[derive(Debug)]
pub(super) struct Forecast {
    longest_wait: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Changes that are not answered.
    waiting: usize,
    /// When the group under way was begun.
    begun: Option<Instant>,
    /// What a group takes, of late.
    group: Duration,
}

impl Forecast {
    /// The forecast of an empty queue in which nothing should wait for longer than `longest_wait`.
    pub(super) fn new(longest_wait: Duration) -> Self {
        Self {
            longest_wait,
            state: Mutex::default(),
        }
    }

    /// Counts a change that comes at `now`, unless it is to be refused.
    #[must_use]
    pub(super) fn enter(&self, now: Instant) -> bool {
        let mut state = self.state();
        let admitted = state.waiting == 0 || state.wait(now) <= self.longest_wait;
        state.waiting += usize::from(admitted);
        admitted
    }

    /// Takes back a change that was counted and could not be queued.
    pub(super) fn leave(&self) {
        self.state().waiting -= 1;
    }

    /// A group is begun.
    pub(super) fn begin(&self, now: Instant) {
        self.state().begun = Some(now);
    }

    /// The group under way, of so many changes, is answered.
    pub(super) fn end(&self, now: Instant, changes: usize) {
        let mut state = self.state();
        state.waiting -= changes;
        let took = state
            .begun
            .take()
            .map_or(Duration::ZERO, |begun| now - begun);
        state.group = (state.group * 3 + took) / 4;
    }

    /// The state is whole after every statement, so a poisoned lock holds a good one.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Steps 2 and 3.
    fn wait(&self, now: Instant) -> Duration {
        let under_way = self.begun.map_or(Duration::ZERO, |begun| now - begun);
        // No more fit into the queue than into a `u32`.
        let groups = u32::try_from(self.waiting / GROUP + 1).unwrap_or(u32::MAX);
        under_way.max(self.group.saturating_mul(groups))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A queue whose groups, of one change each, took so many milliseconds; and when the last one ended.
    fn after_groups(millis: &[u64]) -> (Forecast, Instant) {
        let (forecast, mut now) = (Forecast::new(SECOND), Instant::now());
        for &took in millis {
            assert!(forecast.enter(now), "nothing was before it");
            forecast.begin(now);
            now += Duration::from_millis(took);
            forecast.end(now, 1);
        }
        (forecast, now)
    }

    /// How many changes are admitted at once, up to a limit that no queue reaches.
    fn admitted(forecast: &Forecast, now: Instant) -> usize {
        (0..100_000).take_while(|_| forecast.enter(now)).count()
    }

    #[test]
    fn as_many_are_admitted_as_groups_fit_into_the_limit() {
        let (forecast, now) = after_groups(&[100; 40]);
        assert_eq!(admitted(&forecast, now), 10 * GROUP);
        forecast.begin(now);
        forecast.end(now + Duration::from_millis(100), GROUP);
        assert_eq!(admitted(&forecast, now), GROUP);
    }

    #[test]
    fn a_group_that_takes_longer_than_the_limit_lets_nobody_in_behind_it() {
        let (forecast, now) = after_groups(&[1]);
        assert!(forecast.enter(now));
        forecast.begin(now);
        assert!(forecast.enter(now + SECOND));
        assert!(!forecast.enter(now + SECOND * 2));
        forecast.end(now + SECOND * 2, 1);
        assert!(forecast.enter(now + SECOND * 2), "the next may try");
    }

    #[test]
    fn whoever_finds_nothing_before_it_is_admitted_however_slow_it_was() {
        let (forecast, now) = after_groups(&[60_000, 60_000]);
        assert!(forecast.enter(now));
        assert!(!forecast.enter(now));
        forecast.leave();
        assert!(forecast.enter(now));
    }

    #[test]
    fn a_pace_that_was_slow_is_forgotten_in_a_few_groups() {
        let mut groups = vec![5_000];
        groups.extend([1; 16]);
        let (forecast, now) = after_groups(&groups);
        assert!(admitted(&forecast, now) > 10 * GROUP);
    }
}
