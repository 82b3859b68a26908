//! Whose changes go alone for a while, since they have had groups undone: step 5 of the [groups](super::groups).
//!
//! Among the changes that shared a failed statement, it is not known which one made it fail. So each is judged by how it
//! went alone afterwards. It has spoilt the group if it was refused alone, too, or was [slow](SLOW). If its holder
//! [often](OFTEN) shares failed statements, it is enough that a [lock may have kept](KEPT) the change: otherwise one whose
//! changes are not quite slow could have groups undone all the time.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::holder::Holder;

/// How long the changes of a holder that spoilt a group go alone.
const APART: Duration = Duration::from_secs(1);

/// A change that shared the failed statement and takes longer than this alone has waited for a lock there, too. This is
/// longer than a group waits for a lock, and than all changes of a group take when they go alone at the same time.
const SLOW: Duration = Duration::from_millis(200);

/// A change that takes this long alone may have waited for a lock: as long as a group does (`transaction.rs`).
const KEPT: Duration = Duration::from_millis(50);

/// In how many groups undone within [`APART`] a holder may share the failed statement.
const OFTEN: u32 = 3;

/// Changes that begin to go alone within this time were in one group.
const TOGETHER: Duration = Duration::from_millis(20);

/// The holders whose changes go alone.
#[derive(Default)]
pub(super) struct Apart {
    /// Until when.
    until: HashMap<Holder, Instant>,
    /// Who has shared failed statements of late.
    shared: HashMap<Holder, Shared>,
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
        self.until.retain(|_, until| *until > now);
        self.until.contains_key(&holder)
    }

    /// Notes that `holder` has spoilt a group.
    pub(super) fn insert(&mut self, holder: Holder, now: Instant) {
        self.until.insert(holder, now + APART);
    }

    /// Notes how a change went alone that may have spoilt its group, and ended at `now`.
    pub(super) fn went_alone(
        &mut self,
        holder: Holder,
        was_refused: bool,
        took: Duration,
        now: Instant,
    ) {
        let is_often = took >= KEPT && self.shares(holder, now - took);
        if was_refused || took >= SLOW || is_often {
            self.insert(holder, now);
        }
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

    #[test]
    fn who_shares_the_failed_statement_of_many_groups_within_a_second_goes_apart() {
        let (mut apart, begun) = (Apart::default(), Instant::now());
        let mut goes_apart = |millis| {
            let ended = begun + Duration::from_millis(millis) + KEPT;
            apart.went_alone(Holder::Service, false, KEPT, ended);
            apart.has(Holder::Service, ended)
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
        let now = Instant::now() + SLOW;
        let goes_apart = |was_refused, took| {
            let mut apart = Apart::default();
            apart.went_alone(Holder::Service, was_refused, took, now);
            apart.has(Holder::Service, now)
        };
        assert!(goes_apart(true, Duration::ZERO));
        assert!(goes_apart(false, SLOW));
        assert!(!goes_apart(false, SLOW - Duration::from_millis(1)));
    }
}
