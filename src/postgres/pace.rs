//! How long somebody would wait in a [line](super::turns), as far as that can be foreseen.
//!
//! When more comes than the database does, a caller is better off with a refusal now than with one in five seconds. It would
//! also cost the others: what stands in line until its deadline has hardly begun a statement when it is cut off, and a
//! connection that is left in the middle of one is closed.
//!
//! 1. While somebody waits in a line, the time from one turn that it gets to the next is its pace: a moving mean. A line in
//!    which nobody has waited begins anew.
//! 2. Who comes would wait for that long for itself, and for each who stands before it.
//! 3. Who would wait for longer than [`LONGEST_WAIT`] is refused. So is everybody while the line has not moved for as long:
//!    nobody knows when it will.
//! 4. Who finds nobody before it is always taken. However slow things were, they are tried again.
//!
//! Each line has a pace of its own: nobody is refused for what others have lined up (docs/decisions.md, R11).

use std::time::Duration;

use tokio::time::Instant;

/// As in SQLite's queue of changes.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How many turns the mean is over, about.
const TURNS: u32 = 8;

/// How fast a line moves.
pub(super) struct Pace {
    /// From one turn to the next, of late.
    mean: Duration,
    /// When it last moved, or began to be waited in.
    moved: Instant,
}

impl Pace {
    /// Somebody begins to wait where nobody did.
    pub(super) fn begin(now: Instant) -> Pace {
        Pace {
            mean: Duration::ZERO,
            moved: now,
        }
    }

    /// Somebody who has waited gets a turn.
    pub(super) fn moves(&mut self, now: Instant) {
        self.mean = (self.mean * (TURNS - 1) + (now - self.moved)) / TURNS;
        self.moved = now;
    }

    /// Whether one more may wait where so many do.
    pub(super) fn admits(&self, waiting: usize, now: Instant) -> bool {
        // No more wait than there are requests, whose number is a `u32`.
        let turns = u32::try_from(waiting + 1).unwrap_or(u32::MAX);
        let wait = self.mean.saturating_mul(turns).max(now - self.moved);
        waiting == 0 || wait <= LONGEST_WAIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line that has moved so many times after so many milliseconds each; and when it did last.
    fn after(turns: u32, millis: u64) -> (Pace, Instant) {
        let mut now = Instant::now();
        let mut pace = Pace::begin(now);
        for _ in 0..turns {
            now += Duration::from_millis(millis);
            pace.moves(now);
        }
        (pace, now)
    }

    /// How many wait, if all come at once.
    fn admitted(pace: &Pace, now: Instant) -> usize {
        (0..100_000)
            .take_while(|&waiting| pace.admits(waiting, now))
            .count()
    }

    #[test]
    fn as_many_wait_as_get_their_turn_within_the_limit() {
        let (pace, now) = after(100, 10);
        assert!((95..=105).contains(&admitted(&pace, now)));
    }

    #[test]
    fn one_waits_in_a_line_that_does_not_move() {
        let (pace, now) = after(100, 1);
        assert!(admitted(&pace, now + LONGEST_WAIT) > 900);
        assert_eq!(admitted(&pace, now + 2 * LONGEST_WAIT), 1);
    }

    #[test]
    fn a_line_that_was_slow_is_long_again_when_it_moves() {
        let (mut pace, mut now) = after(1, 2_000);
        assert!(admitted(&pace, now) < 5);
        for _ in 0..100 {
            now += Duration::from_millis(1);
            pace.moves(now);
        }
        assert!(admitted(&pace, now) > 500);
    }
}
