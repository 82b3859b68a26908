//! How long somebody would wait in a line for the database, as far as that can be foreseen.
//!
//! When more comes than the database does, a caller is better off with a refusal now than with one in five seconds: it can
//! try later. It would also cost the others: what stands in line until its deadline has hardly begun when it is cut off.
//!
//! 1. The time from one turn of a line to the next, while it is waited in, is its pace: a moving mean. A line in which
//!    nobody has waited begins anew.
//! 2. Who comes would wait for what is left of the turn under way, for each turn before its own, and for its own.
//! 3. Who would wait for longer than [`LONGEST_WAIT`] is refused. So is everybody while the line has not moved for as long:
//!    nobody knows when it will.
//! 4. Who finds nobody before it is always taken. However slow things were, they are tried again.
//!
//! In PostgreSQL's lines (`postgres/turns.rs`) a turn is a connection for one script; in SQLite's queue of changes
//! (`sqlite/writer.rs`) it is a group. Each line has a pace of its own: nobody is refused for what others have lined up
//! (docs/decisions.md, R11).

use std::time::{Duration, Instant};

/// The longest wait that somebody is let into a line with.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How many turns the mean is over, about.
const TURNS: u32 = 8;

/// How fast a line moves.
#[derive(Debug)]
pub(crate) struct Pace {
    /// From one turn to the next, of late.
    mean: Duration,
    /// When it last moved, or began to be waited in.
    moved: Instant,
}

impl Pace {
    /// Somebody begins to wait where nobody did.
    pub(crate) fn begin(now: Instant) -> Pace {
        Pace {
            mean: Duration::ZERO,
            moved: now,
        }
    }

    /// A turn has ended, or somebody who has waited gets one.
    pub(crate) fn moves(&mut self, now: Instant) {
        self.mean = (self.mean * (TURNS - 1) + (now - self.moved)) / TURNS;
        self.moved = now;
    }

    /// Whether one more may wait, behind so many turns.
    pub(crate) fn admits(&self, before: usize, now: Instant) -> bool {
        // No more wait than there are requests, whose number is a `u32`.
        let turns = u32::try_from(before + 1).unwrap_or(u32::MAX);
        let passed = now - self.moved;
        let wait = self.mean.saturating_mul(turns) - passed.min(self.mean);
        before == 0 || wait.max(passed) <= LONGEST_WAIT
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
            .take_while(|&before| pace.admits(before, now))
            .count()
    }

    #[test]
    fn as_many_wait_as_get_their_turn_within_the_limit() {
        let (pace, now) = after(100, 10);
        assert!((95..=105).contains(&admitted(&pace, now)));
    }

    #[test]
    fn what_has_passed_of_the_turn_under_way_is_not_waited_for() {
        let (pace, now) = after(100, 600);
        let passed = |millis| now + Duration::from_millis(millis);
        assert_eq!(admitted(&pace, passed(100)), 1);
        assert_eq!(admitted(&pace, passed(300)), 2);
        assert_eq!(admitted(&pace, passed(900)), 2);
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
