//! Marks how much each holder has been served, so that turns are given out fairly.
//!
//! Serving whoever was served the longest ago is fair to each holder, but one person may be several holders: three hundred
//! accounts that ask all the time stand in front of everyone who asks now and then. So the holder that was served less goes
//! first, as in start-time fair queueing:
//!
//! 1. Each holder has a mark, which a turn advances: by [`STEP`], or by one for a holder that stands for
//!    [several](Holder::is_several), since each of these has a part of it. The lowest mark is served next.
//! 2. A holder that starts to wait, or is served, keeps the mark that it had, but at most [`CREDIT`] behind the holder
//!    served last. So holders that ask now and then go first, and new ones go ahead of others for a few turns each, and then
//!    take turns like the rest.

use std::collections::HashMap;

use crate::domain::holder::Holder;

/// How far a turn advances a mark. A holder that stands for several gets four turns for each turn of another. With only two
/// connections, sixteen kept all others waiting for seconds.
const STEP: u64 = 4;

/// How far a holder may be behind the others: the turns of two pages.
const CREDIT: u64 = 16 * STEP;

/// How many marks are kept before those that no longer matter are dropped.
const KEPT: usize = 1_000;

/// The mark of each holder.
#[derive(Debug)]
pub(super) struct Served {
    marks: HashMap<Holder, u64>,
    /// The highest mark with which a holder was served.
    last: u64,
    /// Once there are this many marks, some are dropped.
    most: usize,
}

impl Default for Served {
    fn default() -> Served {
        Served {
            marks: HashMap::new(),
            last: CREDIT,
            most: KEPT,
        }
    }
}

impl Served {
    /// The mark with which a holder starts to wait.
    pub(super) fn mark(&self, holder: Holder) -> u64 {
        let least = self.last - CREDIT;
        let own = self.marks.get(&holder).copied();
        own.map_or(least, |own| own.max(least))
    }

    /// Counts that a holder that waited with this mark is served, and returns its new mark.
    pub(super) fn count(&mut self, holder: Holder, mark: u64) -> u64 {
        // It may have waited long without being served, for a turn of its own to end, say.
        let mark = mark.max(self.last - CREDIT);
        let next = mark + if holder.is_several() { 1 } else { STEP };
        self.last = self.last.max(mark);
        self.marks.insert(holder, next);
        if self.marks.len() >= self.most {
            let least = self.last - CREDIT;
            self.marks.retain(|_, mark| *mark > least);
            self.most = KEPT.max(2 * self.marks.len());
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn team(number: u128) -> Holder {
        Holder::Team(Uuid::from_u128(number))
    }

    fn serve(served: &mut Served, holder: Holder, times: usize) {
        for _ in 0..times {
            served.count(holder, served.mark(holder));
        }
    }

    #[test]
    fn who_comes_anew_is_a_few_turns_before_others_however_much_these_had() {
        let mut served = Served::default();
        serve(&mut served, team(1), 1_000);
        assert_eq!(served.mark(team(1)) - served.mark(team(2)), CREDIT + STEP);
        serve(&mut served, team(2), (CREDIT / STEP) as usize + 1);
        assert_eq!(served.mark(team(1)), served.mark(team(2)));
    }

    #[test]
    fn who_stands_for_several_has_a_turn_for_each_and_is_before_nobody_for_ever() {
        let mut served = Served::default();
        let mut turns = [0; 2];
        for _ in 0..1_700 {
            let both = [Holder::Groups, team(1)];
            let next = usize::from(served.mark(both[1]) < served.mark(both[0]));
            turns[next] += 1;
            served.count(both[next], served.mark(both[next]));
        }
        assert_eq!(turns, [1_360, 340]);
    }

    #[test]
    fn marks_that_say_nothing_are_forgotten() {
        let mut served = Served::default();
        for number in 0..10 * KEPT as u128 {
            serve(&mut served, team(number), 1);
            serve(&mut served, team(0), 2);
        }
        assert!(served.marks.len() <= KEPT);
        assert!(served.mark(team(0)) > served.mark(team(1)));
    }
}
