//! Shares time fairly between callers who wait for one thing: start-time fair queueing (Goyal, Vin and Cheng, 1996).
//!
//! What one request takes may be a hundred times what another does, so whoever counts requests favours callers who ask for
//! much at once. Here those who wait have the same time each, however many turns that is:
//!
//! 1. Each request has a start in virtual time: that of the request that was served last or, if that is later, the end of
//!    its caller's request before ([`FairTime::start`]). The one with the earliest start is next.
//! 2. A request ends as much later than it starts as it takes ([`FairTime::took`]). Until that is known, it counts as
//!    [`FOR_EACH`].
//!
//! So whoever asks for less than its share is next, beside any number of others, and whoever comes anew has no more than
//! those who have been waiting.
//!
//! Memory is bounded: an end that is not later than the present is as good as none, and is forgotten when there are
//! [`CALLERS`]. If that makes no room, new ones are not kept.

use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::HashMap;
use tokio::time::Instant;

/// What a request counts until it is known how long it takes.
const FOR_EACH: Duration = Duration::from_millis(1);

/// How many callers' ends are kept at most: about 230 KB.
const CALLERS: usize = 3_500;

/// The virtual time of one thing that callers wait for.
#[derive(Debug)]
pub(crate) struct FairTime<K>(Mutex<State<K>>);

#[derive(Debug)]
struct State<K> {
    /// The start of the request that was served last. It has nothing to do with the time of day.
    now: Instant,
    /// The end of the last request of each caller.
    ends: HashMap<K, Instant>,
}

impl<K> Default for FairTime<K> {
    fn default() -> FairTime<K> {
        FairTime(Mutex::new(State {
            now: Instant::now(),
            ends: HashMap::default(),
        }))
    }
}

impl<K: Eq + Hash> FairTime<K> {
    /// Returns when a request of `caller` starts.
    pub(crate) fn start(&self, caller: K) -> Instant {
        let mut state = self.state();
        let now = state.now;
        if let Some(end) = state.ends.get_mut(&caller) {
            let start = now.max(*end);
            *end = start + FOR_EACH;
            return start;
        }
        if state.ends.len() >= CALLERS {
            state.ends.retain(|_, end| *end > now);
        }
        if state.ends.len() < CALLERS {
            state.ends.insert(caller, now + FOR_EACH);
        }
        now
    }

    /// Notes that the request that starts then is served.
    pub(crate) fn serve(&self, start: Instant) {
        let mut state = self.state();
        state.now = state.now.max(start);
    }

    /// Notes how long a request of `caller` took.
    pub(crate) fn took(&self, caller: &K, time: Duration) {
        if let Some(end) = self.state().ends.get_mut(caller) {
            // The start of a request added what is taken off here.
            *end = *end + time - FOR_EACH;
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        // Nothing panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// Serves the callers, all of whom always wait, for so long. Each takes as many milliseconds as its number says. Returns how
    /// long each was served.
    fn serve_all(fair: &FairTime<u32>, callers: &[u32], time: Duration) -> Vec<Duration> {
        let mut starts: Vec<_> = callers.iter().map(|it| fair.start(*it)).collect();
        let mut served = vec![Duration::ZERO; callers.len()];
        while served.iter().sum::<Duration>() < time {
            let next = (0..callers.len()).min_by_key(|it| starts[*it]).unwrap();
            fair.serve(starts[next]);
            fair.took(&callers[next], callers[next] * MILLISECOND);
            served[next] += callers[next] * MILLISECOND;
            starts[next] = fair.start(callers[next]);
        }
        served
    }

    #[test]
    fn those_who_wait_have_the_same_time_however_many_requests_that_is() {
        let fair = FairTime::default();
        let served = serve_all(&fair, &[1, 2, 5, 10, 50], 1_000 * MILLISECOND);
        for time in &served {
            assert!((150..=250).contains(&time.as_millis()), "{served:?}");
        }
    }

    #[test]
    fn whoever_asks_for_less_than_its_share_is_next_also_after_hours() {
        let fair = FairTime::default();
        for _ in 0..1_000 {
            let many: Vec<_> = (10..40).collect();
            serve_all(&fair, &many, 1_000 * MILLISECOND);
            let now = fair.state().now;
            assert_eq!(fair.start(1), now);
            fair.took(&1, MILLISECOND);
        }
    }

    #[test]
    fn whoever_comes_anew_is_next_and_then_has_no_more_than_others() {
        let fair = FairTime::default();
        serve_all(&fair, &[5, 10], 10_000 * MILLISECOND);
        let served = serve_all(&fair, &[5, 10, 7], 900 * MILLISECOND);
        for time in &served {
            assert!((270..=330).contains(&time.as_millis()), "{served:?}");
        }
    }

    #[test]
    fn those_whose_end_has_passed_make_room_for_others() {
        let fair = FairTime::default();
        for caller in 0..10_000 {
            let start = fair.start(caller);
            fair.serve(start + Duration::from_secs(1));
        }
        assert!(fair.state().ends.len() <= CALLERS);
        for caller in 0..10_000 {
            fair.start(caller);
            fair.took(&caller, Duration::from_secs(1));
        }
        assert_eq!(fair.state().ends.len(), CALLERS);
    }
}
