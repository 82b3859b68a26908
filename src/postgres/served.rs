//! How much somebody was served, beside others.
//!
//! Turns that go to whoever was served the longest ago are fair to each holder, but somebody may be several: three hundred
//! accounts that ask all the time stand in front of everybody who asks now and then. So whoever was served less goes first, as
//! in start-time fair queueing:
//!
//! 1. Each holder has a mark, which a turn moves on: by [`STEP`], or by one for whoever stands for [several](Holder::is_several),
//!    since each of these has a part of it. The least is served next.
//! 2. Whoever begins to wait, or is served, has the mark that it had, but is at most [`CREDIT`] behind the one that was served
//!    last. So those who ask now and then go first, and those who come anew are before others for a few turns each, and then
//!    as all are.

use std::collections::HashMap;

use crate::domain::holder::Holder;

/// By so much a turn moves a mark on: whoever stands for several has four for each of somebody else. Where there are two
/// connections only, sixteen kept everybody else waiting for seconds.
const STEP: u64 = 4;

/// So far somebody may be behind the others: the turns of two pages.
const CREDIT: u64 = 16 * STEP;

/// As many marks are kept before those are forgotten that say nothing any more.
const KEPT: usize = 1_000;

/// The mark of each.
#[derive(Debug)]
pub(super) struct Served {
    marks: HashMap<Holder, u64>,
    /// That of the one that was served last, or of one that was further on.
    last: u64,
    /// When there are as many marks, some are forgotten.
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
    /// The mark that it begins to wait with.
    pub(super) fn mark(&self, holder: Holder) -> u64 {
        let least = self.last - CREDIT;
        let own = self.marks.get(&holder).copied();
        own.map_or(least, |own| own.max(least))
    }

    /// Counts that one who has waited with this mark is served; says which it has then.
    pub(super) fn count(&mut self, holder: Holder, mark: u64) -> u64 {
        // It may have waited for long without being served, such as for a turn of its own to end.
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
