//! Counts how much of a thread's time each caller has used of late.
//!
//! What one request takes may be a hundred times what another does, so whoever counts requests favours callers who ask for
//! much at once. Time that was used counts half as much after [`HALF_LIFE`], a quarter after twice that, and so on: whoever
//! uses more than another all the time has more all the time, too, and whoever has stopped is soon like anybody else.
//!
//! Memory is bounded: when there are [`CALLERS`], those who have used hardly anything of late are forgotten. If that does not
//! make room, new ones are not counted.

use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::HashMap;
use tokio::time::Instant;

/// After how long time that was used counts half.
const HALF_LIFE: Duration = Duration::from_secs(10);

/// How many callers are counted at most: about 230 KB.
const CALLERS: usize = 3_500;

/// Who has used less counts as one who has used nothing.
const LEAST: Duration = Duration::from_millis(1);

/// How long after room was made it is not made again, as it takes a tenth of a millisecond.
const PAUSE: Duration = Duration::from_secs(1);

/// The time that callers have used.
#[derive(Debug)]
pub(crate) struct UsedTime<K>(Mutex<State<K>>);

#[derive(Debug)]
struct State<K> {
    /// What each had used at a moment, as it counted then.
    by: HashMap<K, (Duration, Instant)>,
    /// When room was last made.
    made_room: Option<Instant>,
}

impl<K> Default for UsedTime<K> {
    fn default() -> UsedTime<K> {
        UsedTime(Mutex::new(State {
            by: HashMap::default(),
            made_room: None,
        }))
    }
}

impl<K: Eq + Hash> UsedTime<K> {
    /// Adds what `caller` has just used. Returns what it had used before, as that counts now.
    pub(crate) fn add(&self, caller: K, time: Duration) -> Duration {
        let now = Instant::now();
        let mut state = self.state();
        if let Some(used) = state.by.get_mut(&caller) {
            let before = counts(*used, now);
            *used = (before + time, now);
            return before;
        }
        if state.by.len() >= CALLERS {
            state.make_room(now);
        }
        if state.by.len() < CALLERS {
            state.by.insert(caller, (time, now));
        }
        Duration::ZERO
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        // Nothing panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> State<K> {
    fn make_room(&mut self, now: Instant) {
        if self.made_room.is_none_or(|at| now - at >= PAUSE) {
            self.made_room = Some(now);
            self.by.retain(|_, used| counts(*used, now) >= LEAST);
        }
    }
}

/// How much of what was used at a moment counts now.
fn counts((time, at): (Duration, Instant), now: Instant) -> Duration {
    let half_lives = (now - at).as_secs_f64() / HALF_LIFE.as_secs_f64();
    // Between 0 and 1, so the product is no longer than `time`.
    time.mul_f64((-half_lives).exp2())
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn used_time_counts_half_after_each_half_life() {
        let used = UsedTime::default();
        let of_late = |caller| used.add(caller, Duration::ZERO);
        used.add("a", SECOND);
        for half in [2, 4, 8] {
            advance(HALF_LIFE).await;
            assert_eq!(of_late("a"), SECOND / half);
        }
        used.add("a", SECOND);
        assert_eq!(of_late("a"), SECOND + SECOND / 8);
        assert_eq!(of_late("b"), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_uses_more_all_the_time_has_more_after_hours() {
        let used = UsedTime::default();
        for _ in 0..10_000 {
            used.add("little", SECOND / 100);
            used.add("much", SECOND / 10);
            advance(SECOND).await;
        }
        let [little, much] = ["little", "much"].map(|it| used.add(it, Duration::ZERO));
        assert!(
            much > 9 * little && much < 2 * SECOND,
            "{little:?} {much:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_have_used_hardly_anything_make_room_for_others() {
        let used = UsedTime::default();
        used.add(0, SECOND);
        for caller in 1..2 * CALLERS {
            used.add(caller, LEAST / 2);
        }
        assert!(used.state().by.len() <= CALLERS);
        assert_eq!(used.add(0, SECOND), SECOND);
        for caller in 1..2 * CALLERS {
            used.add(caller, SECOND);
        }
        assert_eq!(used.state().by.len(), CALLERS);
        assert_eq!(used.add(0, SECOND), 2 * SECOND);
    }
}
