//! Estimates how long a caller would wait in a queue for the database, so that it can be refused at once instead.
//!
//! When more work arrives than the database can do, a caller is better off refused now than in five seconds: it can try
//! again later. Waiting would also cost the others: work that queues until its deadline has hardly started when it is cut
//! off.
//!
//! 1. A queue's pace is the time from one turn to the next while callers wait in it: a moving mean. A queue in which no
//!    caller was waiting starts afresh.
//! 2. A new caller would wait for what is left of the turn under way, for each turn before its own, and for its own.
//! 3. A caller that would wait longer than [`LONGEST_WAIT`] is refused. So is every caller while the queue has not moved for
//!    that long: there is no telling when it will.
//! 4. A caller with none before it is always admitted: however slow the database was, it is tried again.
//!
//! In PostgreSQL's queues (`turns.rs`) a turn is a connection for one script; in SQLite's queue of changes
//! (`sqlite/writer/queue.rs`) it is a group, in which all who wait have a part. Each holder has a queue of its own, so none is
//! refused because another has queued a lot (docs/decisions.md, R11).

use std::time::{Duration, Instant};

/// The longest expected wait with which a caller is admitted to a queue.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Roughly how many turns the mean covers.
const TURNS: u32 = 8;

/// How fast a queue moves.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The mean time from one turn to the next, over the last few.
    mean: Duration,
    /// When the queue last moved, or the first caller started to wait.
    moved: Instant,
}

impl Pace {
    /// Starts when a caller begins to wait in an empty queue.
    pub(crate) fn begin(now: Instant) -> Pace {
        Pace {
            mean: Duration::ZERO,
            moved: now,
        }
    }

    /// Records that a turn has ended, or that a waiting caller gets one.
    pub(crate) fn moves(&mut self, now: Instant) {
        self.mean = (self.mean * (TURNS - 1) + (now - self.moved)) / TURNS;
        self.moved = now;
    }

    /// Returns whether one more caller may wait, behind `before` turns.
    pub(crate) fn admits(&self, before: usize, now: Instant) -> bool {
        // No more callers wait than there are requests, whose number is a `u32`.
        let turns = u32::try_from(before + 1).unwrap_or(u32::MAX);
        let passed = now - self.moved;
        let wait = self.mean.saturating_mul(turns) - passed.min(self.mean);
        before == 0 || wait.max(passed) <= LONGEST_WAIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a queue that moved `turns` times, `millis` apart, and when it last did.
    fn after(turns: u32, millis: u64) -> (Pace, Instant) {
        let mut now = Instant::now();
        let mut pace = Pace::begin(now);
        for _ in 0..turns {
            now += Duration::from_millis(millis);
            pace.moves(now);
        }
        (pace, now)
    }

    /// Returns how many may wait if all come at once.
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
