//! Whose changes go alone for a while, since they have had groups undone: step 5 of the [groups](super::groups).
//!
//! Among the changes that shared a failed statement, it is not known which one made it fail. So each is judged by how it
//! went alone afterwards. It has spoilt the group if it was refused alone, too, or was [slow](SLOW). If its holder
//! [often](OFTEN) shares failed statements, it is enough that a [lock may have kept](KEPT) the change: otherwise one whose
//! changes are not quite slow could have groups undone all the time.
//!
//! A server may be far away. So three times as long as the [quickest](Quickest) change took that went alone of late is allowed
//! for: its round trips, and those of changes that have more of them.
//!
//! Where commits wait for a standby, it takes seconds until all of a group have had their turn again. So whoever spoilt it goes
//! alone for longer than that took, or they would be undone again at once.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::quickest::Quickest;
use crate::domain::holder::Holder;

/// How long the changes of a holder that spoilt a group go alone at least.
const APART: Duration = Duration::from_secs(1);

/// They go alone for longer, by this factor of how long it took until the others of the group had their turn again, where
/// commits wait for a standby or connections are few.
const OF_COST: u32 = 10;

/// They never go alone for longer than this.
const LONGEST_APART: Duration = Duration::from_secs(30);

/// A change that shared the failed statement, and whose script takes longer than this alone, has waited for a lock there,
/// too. This is longer than a group waits for a lock, and than all changes of a group take when they go alone at the same
/// time.
const SLOW: Duration = Duration::from_millis(200);

/// A change whose script takes this long alone may have waited for a lock: as long as a group does (`transaction.rs`).
const KEPT: Duration = Duration::from_millis(50);

/// In how many groups undone within [`APART`] a holder may share the failed statement.
const OFTEN: u32 = 3;

/// Changes that learn within this time that their group was undone were in one group.
const TOGETHER: Duration = Duration::from_millis(20);

/// How a change went alone after its group was undone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WentAlone {
    /// When the group was undone.
    pub(crate) undone: Instant,
    /// Whether it shared the failed statement.
    pub(crate) is_suspect: bool,
    /// Whether it was carried out or refused alone, and not given up for want of a connection or an answer.
    pub(crate) was_answered: bool,
    /// Whether it was refused.
    pub(crate) was_refused: bool,
    /// How long its script took, without the commit.
    pub(crate) took: Duration,
}

/// The holders whose changes go alone.
#[derive(Default)]
pub(super) struct Apart {
    /// Until when. Those whose time is over are kept for a while: it may still turn out that they cost more.
    until: HashMap<Holder, Instant>,
    /// Who has shared failed statements of late.
    shared: HashMap<Holder, Shared>,
    quickest: Quickest,
}

/// How often a holder has shared a failed statement.
struct Shared {
    groups: u32,
    first: Instant,
    last: Instant,
}

impl Apart {
    /// Whether the changes of `holder` go alone at `now`.
    pub(super) fn has(&mut self, holder: Holder, now: Instant) -> bool {
        self.until.retain(|_, until| *until + LONGEST_APART > now);
        self.until.get(&holder).is_some_and(|until| *until > now)
    }

    /// Notes that `holder` has spoilt a group.
    pub(super) fn insert(&mut self, holder: Holder, now: Instant) {
        self.until.insert(holder, now + APART);
    }

    /// Notes how a change of `holder` went alone, and has ended at `now`.
    pub(super) fn went_alone(&mut self, holder: Holder, how: WentAlone, now: Instant) {
        let allowed = self.quickest.allowed(how.took, how.was_answered, now);
        let waited = how.took.saturating_sub(allowed);
        let is_often = how.is_suspect && waited >= KEPT && self.shares(holder, how.undone);
        if how.is_suspect && (how.was_refused || waited >= SLOW) || is_often {
            self.insert(holder, now);
        }
    }

    /// Notes that a change whose group was undone at `undone` has had its turn again by `now`, alone or in another group.
    pub(super) fn went_again(&mut self, undone: Instant, now: Instant) {
        let cost = (now - undone) * OF_COST;
        let end = undone + cost.min(LONGEST_APART);
        // Whoever has spoilt this group.
        let spoilers = self.until.values_mut().filter(|it| **it > undone);
        spoilers.for_each(|until| *until = end.max(*until));
    }

    /// Counts that a change of `holder`, whose group was undone at `undone`, shared the failed statement. Returns whether
    /// that happens often.
    fn shares(&mut self, holder: Holder, undone: Instant) -> bool {
        self.shared.retain(|_, it| undone < it.first + APART);
        let shared = self.shared.entry(holder).or_insert(Shared {
            groups: 1,
            first: undone,
            last: undone,
        });
        if undone > shared.last + TOGETHER {
            shared.groups += 1;
            shared.last = undone;
        }
        shared.groups > OFTEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long the quickest change took.
    const QUICK: Duration = Duration::from_millis(1);

    /// After that change.
    fn apart(undone: Instant) -> Apart {
        let mut apart = Apart::default();
        apart.quickest.allowed(QUICK, true, undone);
        apart
    }

    /// A suspect whose script took this long beyond its round trips, and who waited for nothing else.
    fn alone(undone: Instant, took: Duration) -> WentAlone {
        WentAlone {
            undone,
            is_suspect: true,
            was_answered: true,
            was_refused: false,
            took: took + 3 * QUICK,
        }
    }

    #[test]
    fn who_shares_the_failed_statement_of_many_groups_within_a_second_goes_apart() {
        let begun = Instant::now();
        let mut apart = apart(begun);
        let mut goes_apart = |millis| {
            let undone = begun + Duration::from_millis(millis);
            apart.went_alone(Holder::Service, alone(undone, KEPT), undone + KEPT);
            apart.has(Holder::Service, undone + KEPT)
        };
        // Several changes of a group count once.
        assert_eq!([0, 5, 50, 60, 100].map(&mut goes_apart), [false; 5]);
        assert!(goes_apart(150));
        // Both the count and the time apart have ended.
        assert_eq!([1_250, 1_300, 1_350].map(&mut goes_apart), [false; 3]);
        assert!(goes_apart(1_400));
    }

    #[test]
    fn who_is_refused_alone_or_slow_has_spoilt_the_group() {
        let undone = Instant::now();
        let goes_apart = |how: WentAlone| {
            let mut apart = apart(undone);
            apart.went_alone(Holder::Service, how, undone + SLOW);
            apart.has(Holder::Service, undone + SLOW)
        };
        let quick = alone(undone, SLOW - Duration::from_millis(1));
        let refused = WentAlone {
            was_refused: true,
            ..quick
        };
        assert!(goes_apart(refused));
        assert!(goes_apart(alone(undone, SLOW)));
        // What takes long is the commit, or to get a connection.
        assert!(!goes_apart(quick));
        let of_another_statement = WentAlone {
            is_suspect: false,
            ..refused
        };
        assert!(!goes_apart(of_another_statement));
    }

    #[test]
    fn who_has_spoilt_a_group_goes_alone_for_ten_times_as_long_as_that_cost_another() {
        let undone = Instant::now();
        let goes_apart = |millis| {
            let mut apart = apart(undone);
            apart.insert(Holder::Service, undone);
            let ended = undone + Duration::from_millis(millis);
            // Others ask meanwhile.
            assert!(!apart.has(Holder::Strangers, ended));
            apart.went_again(undone, ended);
            assert!(!apart.has(Holder::Strangers, ended));
            (apart.until[&Holder::Service] - undone).as_secs()
        };
        assert_eq!(
            [0, 90, 300, 2_500, 9_000].map(goes_apart),
            [1, 1, 3, 25, 30]
        );
    }

    #[test]
    fn a_group_costs_nothing_to_those_who_spoilt_an_earlier_one() {
        let begun = Instant::now();
        let mut apart = apart(begun);
        apart.insert(Holder::Service, begun);
        let undone = begun + APART;
        apart.went_again(undone, undone + 9 * APART);
        assert_eq!(apart.until[&Holder::Service], begun + APART);
    }

    /// Two round trips of innocent changes take longer than [`SLOW`].
    #[test]
    fn far_from_the_server_nobody_is_slow_for_its_round_trips() {
        let begun = Instant::now();
        let mut apart = Apart::default();
        let mut goes_apart = |millis, after| {
            let undone = begun + Duration::from_secs(after);
            let took = Duration::from_millis(millis);
            let how = WentAlone {
                took,
                ..alone(undone, took)
            };
            apart.went_alone(Holder::Service, how, undone + took);
            apart.has(Holder::Service, undone + took)
        };
        assert_eq!(
            [(220, 0), (300, 1), (850, 2)].map(|(took, after)| goes_apart(took, after)),
            [false; 3]
        );
        assert!(goes_apart(870, 3));
        // One that is quick shows that it is near, for ten seconds and those after them.
        assert_eq!(
            [(2, 40), (220, 45), (220, 52), (220, 80)].map(|(took, after)| goes_apart(took, after)),
            [false, true, true, false]
        );
        // Nothing takes that long for its round trips.
        assert!(goes_apart(1_200, 120));
    }
}
