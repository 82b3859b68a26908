//! Shares time fairly between callers who wait for one thing: start-time fair queueing (Goyal, Vin and Cheng, 1996).
//!
//! What one request takes may be a hundred times what another does, so whoever counts requests favours callers who ask for
//! much at once. Here those who wait have the same time each, however many requests that is:
//!
//! 1. A request starts, in virtual time, [shortly before](CREDIT) the one that was served last or, if that is later, at the
//!    end of its caller's request before ([`FairTime::start`]). The one with the earliest start is next ([`FairTime::serve`]).
//! 2. It ends as much later than it starts as it is about to take. That is corrected once it is known ([`FairTime::took`]),
//!    by no more than [`MOST`]: a process that stood still for seconds says nothing about the caller.
//!
//! So whoever asks for less than its share is next. Whoever comes anew has no more than those who have been waiting. Who has
//! just had much waits until all others who wait have had as much.
//!
//! Memory is bounded: an end that is not later than the present is as good as none, and is forgotten when there are
//! [`CALLERS`]. If that makes no room, neither are those remembered that are the least ahead.

use std::hash::Hash;
use std::time::Duration;

use foldhash::HashMap;

/// The most that one request counts.
const MOST: Duration = Duration::from_millis(200);

/// How much earlier than others those may start who have asked for less than their share: about as long as a long request
/// takes. Otherwise one of each caller who always waits would be before the second of such a one.
const CREDIT: Duration = Duration::from_millis(10);

/// How many callers' ends are kept at most: about 170 KB.
const CALLERS: usize = 3_500;

/// The virtual time of one thing that callers wait for.
#[derive(Debug)]
pub(crate) struct FairTime<K> {
    /// The start of the request that was served last.
    now: Duration,
    /// The end of the last request of each caller.
    ends: HashMap<K, Duration>,
}

impl<K> Default for FairTime<K> {
    fn default() -> FairTime<K> {
        FairTime {
            now: CREDIT,
            ends: HashMap::default(),
        }
    }
}

impl<K: Copy + Eq + Hash> FairTime<K> {
    /// When the next request of `caller` starts.
    pub(crate) fn start(&self, caller: K) -> Duration {
        let end = self.ends.get(&caller).copied().unwrap_or_default();
        end.max(self.now.saturating_sub(CREDIT))
    }

    /// Notes that the next request of `caller` is served, which is about to take that long.
    pub(crate) fn serve(&mut self, caller: K, about: Duration) {
        let start = self.start(caller);
        self.now = self.now.max(start);
        if !self.ends.contains_key(&caller) {
            self.make_room();
        }
        self.ends.insert(caller, start + about);
    }

    /// Notes how long a request of `caller` took that was served as one of `about` that long.
    pub(crate) fn took(&mut self, caller: K, about: Duration, time: Duration) {
        if let Some(end) = self.ends.get_mut(&caller) {
            *end = (*end + time.min(MOST)).saturating_sub(about);
        }
    }

    fn make_room(&mut self) {
        if self.ends.len() < CALLERS {
            return;
        }
        let mut ends: Vec<_> = self.ends.values().copied().collect();
        let (_, median, _) = ends.select_nth_unstable(CALLERS / 2);
        let past = self.now.max(*median);
        self.ends.retain(|_, end| *end > past);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// Serves the callers, all of whom always wait, for so long. Each takes as many milliseconds as its number says. Returns how
    /// long each was served.
    fn serve_all(fair: &mut FairTime<u32>, callers: &[u32], time: Duration) -> Vec<Duration> {
        let mut served = vec![Duration::ZERO; callers.len()];
        while served.iter().sum::<Duration>() < time {
            let next = (0..callers.len()).min_by_key(|it| fair.start(callers[*it]));
            let next = next.unwrap();
            serve(fair, callers[next], callers[next] * MILLISECOND);
            served[next] += callers[next] * MILLISECOND;
        }
        served
    }

    fn serve(fair: &mut FairTime<u32>, caller: u32, time: Duration) {
        fair.serve(caller, MILLISECOND);
        fair.took(caller, MILLISECOND, time);
    }

    #[test]
    fn those_who_wait_have_the_same_time_however_many_requests_that_is() {
        let mut fair = FairTime::default();
        let served = serve_all(&mut fair, &[1, 2, 5, 10, 50], 1_000 * MILLISECOND);
        for time in &served {
            assert!((150..=250).contains(&time.as_millis()), "{served:?}");
        }
    }

    #[test]
    fn whoever_asks_for_less_than_its_share_is_next_also_after_hours() {
        let mut fair = FairTime::default();
        for _ in 0..1_000 {
            let many: Vec<_> = (10..40).collect();
            serve_all(&mut fair, &many, 1_000 * MILLISECOND);
            assert!((10..40).all(|it| fair.start(1) < fair.start(it)));
            serve(&mut fair, 1, MILLISECOND);
        }
    }

    #[test]
    fn whoever_comes_anew_is_next_and_then_has_no_more_than_others() {
        let mut fair = FairTime::default();
        serve_all(&mut fair, &[5, 10], 10_000 * MILLISECOND);
        let served = serve_all(&mut fair, &[5, 10, 7], 900 * MILLISECOND);
        for time in &served {
            assert!((270..=330).contains(&time.as_millis()), "{served:?}");
        }
    }

    #[test]
    fn whoever_was_served_while_everything_stood_still_waits_for_little() {
        let mut fair = FairTime::default();
        serve(&mut fair, 1, 60_000 * MILLISECOND);
        assert_eq!(fair.start(1), MOST);
    }

    #[test]
    fn those_who_are_the_least_ahead_make_room_for_others() {
        let mut fair = FairTime::default();
        for caller in 0..10_000 {
            fair.serve(caller, (caller + 1) * MILLISECOND);
            assert!(fair.ends.len() <= CALLERS);
        }
        for caller in [9_000, 9_999] {
            assert!(fair.start(caller) >= caller * MILLISECOND);
        }
    }
}
