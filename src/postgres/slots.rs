//! How many connections are used at once: as many as the pool may have, or as the server has slots for.
//!
//! 1. A script takes a turn before it takes a connection, so that these are shared fairly ([`Turns`]).
//! 2. When the server refuses another connection (SQLSTATE 53300), there are as many turns as the pool has connections from then
//!    on, but at least one, and the script takes a turn again. With more turns than connections, those who ask most often would
//!    get most, and each refusal costs the server a process.
//! 3. Once a second there is one turn more, to find out whether the server has a slot again. Each new connection shows that
//!    it had one, and makes another turn at once.
//! 4. Changes have at most seven eighths of the connections. A commit keeps its own until the server answers, however long
//!    that takes (`checkout.rs`): while a synchronous standby is away, none is answered, and reads go on.
//! 5. Nor does a change take the last connection that there is: reads could have no other if the server had no slot for it. If
//!    changes have them all, another is made for reads, or else the change waits for its turn again. (With a single
//!    connection, reads do wait for commits.)
//! 6. Once a commit was not answered, changes begin one at a time until one is, and are no more than there could be before. If
//!    connections are cut meanwhile, the server still has a process for each commit, and would soon have more of them; and
//!    slots that become free are left to reads. A commit that wrote nothing may be answered without the standby, and does not count.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::tally::Count;
use crate::turns::{Turn, Turns};

/// How often another connection is tried while the server has no slot for it.
const TRIED_EVERY: Duration = Duration::from_secs(1);

/// Which connections.
#[derive(Clone, Copy, Debug)]
enum Among {
    All,
    /// Each change takes one of these: step 4.
    AnyChange,
    /// A change of a team or a user in a transaction of its own, which may wait for a lock, also takes a turn among these. One
    /// person may be several holders, who wait for each other's locks.
    Changes,
    /// Once it has met a lock, a turn among these instead.
    WaitingChanges,
    /// An import takes a turn among these instead: once it has its locks, it keeps its connection for seconds.
    Imports,
    /// What ends a right in a team takes a turn among these instead.
    Endings,
    /// Once it has met a lock, a turn among these. It keeps its connection while it waits for that.
    WaitingEndings,
    /// Reads for holders that are slow, each of which may keep its connection for long.
    SlowReads,
}

/// The turns at the connections.
pub(super) struct Slots {
    /// By [`Among`].
    turns: [Turns; 8],
    /// The turn of the one change that begins: step 6.
    beginning: Turns,
    /// Changes that have a connection, also if their commits keep it: step 5.
    changing: Arc<AtomicUsize>,
    /// The most that the pool may have.
    most: usize,
    found: Mutex<Found>,
}

/// What was found out about the server.
struct Found {
    usable: usize,
    tried: Instant,
    /// Connections that are not the pool's any more, and are kept by commits: step 4.
    kept: usize,
    /// How many changes there could be when the first of them was kept: step 6.
    most_changes: usize,
    /// Whether the last commit was not answered: step 6.
    is_unanswered: bool,
}

/// What a connection is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A change in a transaction of its own.
    Change {
        /// Whether it was tried before and has met a lock.
        met_lock: bool,
    },
    /// A group of changes.
    Group,
    /// Reads.
    Read,
    /// Reads for a holder that is [slow](super::slow).
    SlowRead,
}

/// The right to use a connection, until dropped.
pub(super) struct Slot {
    _all: Turn,
    among_changes: Option<Turn>,
    _among_some: Option<Turn>,
    changing: Option<Changing>,
    beginning: Option<Turn>,
}

/// A change that has a connection, until dropped.
struct Changing(Arc<AtomicUsize>);

impl Drop for Changing {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A slot for a connection that is not the pool's any more.
pub(super) struct KeptSlot {
    slots: Arc<Slots>,
    _slot: Slot,
}

impl Drop for KeptSlot {
    fn drop(&mut self) {
        let mut found = self.slots.found();
        found.kept -= 1;
        if found.kept == 0 {
            self.slots.resize(&found);
        }
    }
}

impl Slots {
    /// Makes the turns of a pool of at most `most` connections.
    pub(super) fn new(most: usize, refused: &Arc<Count>) -> Slots {
        let tried = Instant::now();
        Slots {
            turns: sizes(most).map(|size| Turns::new(size, refused)),
            beginning: Turns::new(1, refused),
            changing: Arc::default(),
            most,
            found: Mutex::new(Found {
                usable: most,
                tried,
                kept: 0,
                most_changes: most,
                is_unanswered: false,
            }),
        }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when that would take too long.
    pub(super) async fn take(&self, holder: Holder, purpose: Purpose) -> Result<Slot, Error> {
        self.try_another();
        let some = match (purpose, holder) {
            (
                Purpose::Change { met_lock },
                Holder::Team(_) | Holder::User(_) | Holder::Browser(_),
            ) => Some(match met_lock {
                true => Among::WaitingChanges,
                false => Among::Changes,
            }),
            (Purpose::Change { .. }, Holder::Import(_)) => Some(Among::Imports),
            (Purpose::Change { met_lock }, Holder::Ending(_)) => Some(match met_lock {
                true => Among::WaitingEndings,
                false => Among::Endings,
            }),
            (Purpose::SlowRead, _) => Some(Among::SlowReads),
            _ => None,
        };
        let _among_some = match some {
            Some(some) => Some(self.among(some).take(holder).await?),
            None => None,
        };
        let among_changes = match purpose {
            Purpose::Change { .. } | Purpose::Group => {
                Some(self.among(Among::AnyChange).take(holder).await?)
            }
            Purpose::Read | Purpose::SlowRead => None,
        };
        let beginning = match among_changes.is_some() && self.found().is_unanswered {
            true => Some(self.beginning.take(holder).await?),
            false => None,
        };
        let _all = self.among(Among::All).take(holder).await?;
        Ok(Slot {
            _all,
            among_changes,
            _among_some,
            changing: None,
            beginning,
        })
    }

    /// Notes that `slot` has got one of the pool's `connections`. Returns whether that leaves one for reads (step 5): always if
    /// it is no change, or there is only one.
    pub(super) fn leaves_one(&self, slot: &mut Slot, connections: usize) -> bool {
        if slot.among_changes.is_none() {
            return true;
        }
        let changing = self.changing.fetch_add(1, Ordering::Relaxed) + 1;
        slot.changing = Some(Changing(Arc::clone(&self.changing)));
        let found = self.found();
        changing < connections + found.kept || found.usable == 1
    }

    /// Whether only one connection can be had.
    pub(super) fn is_only_one(&self) -> bool {
        self.found().usable == 1
    }

    /// How many turns are held, and how many scripts wait for one.
    pub(super) fn state(&self) -> (usize, usize) {
        let (used, _) = self.among(Among::All).state();
        let before = self.turns.iter().chain([&self.beginning]);
        (used, before.map(|turns| turns.state().1).sum())
    }

    /// Step 2: the server has no slot besides those of the pool's `connections`, and of the ones kept by commits. Returns
    /// whether there are any.
    pub(super) fn none_left(&self, connections: usize) -> bool {
        let mut found = self.found();
        let connections = connections + found.kept;
        found.tried = Instant::now();
        found.usable = connections.clamp(1, self.most);
        self.resize(&found);
        connections > 0
    }

    /// Keeps the slot of a commit that was not answered, until the returned value is dropped: steps 4 and 6.
    pub(super) fn keep(self: &Arc<Self>, mut slot: Slot) -> KeptSlot {
        slot.beginning = None;
        let mut found = self.found();
        if found.kept == 0 {
            found.most_changes = sizes(found.usable)[Among::AnyChange as usize];
        }
        found.kept += 1;
        found.is_unanswered = true;
        drop(found);
        KeptSlot {
            slots: Arc::clone(self),
            _slot: slot,
        }
    }

    /// Step 6: a commit that wrote something was answered.
    pub(super) fn answered(&self) {
        self.found().is_unanswered = false;
    }

    /// Step 3: the server had a slot.
    pub(super) fn one_more(&self) {
        self.grow(&mut self.found());
    }

    /// Step 3, once a second.
    fn try_another(&self) {
        let mut found = self.found();
        if found.usable < self.most && found.tried.elapsed() >= TRIED_EVERY {
            found.tried = Instant::now();
            self.grow(&mut found);
        }
    }

    fn grow(&self, found: &mut Found) {
        if found.usable < self.most {
            found.usable += 1;
            self.resize(found);
        }
    }

    fn resize(&self, found: &Found) {
        let mut sizes = sizes(found.usable);
        if found.kept > 0 {
            let any_change = &mut sizes[Among::AnyChange as usize];
            *any_change = found.most_changes.min(*any_change);
        }
        for (turns, size) in self.turns.iter().zip(sizes) {
            turns.resize(size);
        }
    }

    fn among(&self, among: Among) -> &Turns {
        &self.turns[among as usize]
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        // Nothing panics while it is locked.
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many turns there are, by [`Among`]. What may keep its connection for long (the changes that have met a lock, imports, and
/// endings that have) leaves a fifth of all to other changes; with fewer than five, it may take all.
fn sizes(usable: usize) -> [usize; 8] {
    let part = |of: usize| (usable / of).max(1);
    let any_change = (usable - part(8)).max(1);
    [
        usable,
        any_change,
        part(2),
        part(4),
        part(4),
        part(8),
        part(8),
        part(4),
    ]
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use uuid::Uuid;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn there_are_as_many_turns_as_the_server_has_slots() {
        let slots = Slots::new(16, &Arc::default());
        let usable = || {
            let usable = slots.found().usable;
            assert_eq!(slots.among(Among::All).size(), usable);
            usable
        };
        slots.none_left(5);
        drop(slots.take(Holder::Service, Purpose::Read).await);
        assert_eq!(usable(), 5);
        assert_eq!(slots.among(Among::Changes).size(), 2);
        tokio::time::advance(TRIED_EVERY).await;
        for _ in 0..2 {
            drop(slots.take(Holder::Service, Purpose::Read).await);
            assert_eq!(usable(), 6);
        }
        for _ in 0..20 {
            slots.one_more();
        }
        assert_eq!(usable(), 16);
        slots.none_left(0);
        assert_eq!(usable(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn endings_that_wait_for_a_lock_leave_turns_to_those_that_do_not() {
        let slots = Slots::new(16, &Arc::default());
        let ending = async |number, met_lock| {
            let user = Holder::Ending(Uuid::from_u128(number));
            slots.take(user, Purpose::Change { met_lock }).await
        };
        let waiting = [ending(1, true).await, ending(2, true).await];
        assert!(Box::pin(ending(3, true)).now_or_never().is_none());
        assert!(Box::pin(ending(3, false)).now_or_never().is_some());
        drop(waiting);
    }

    #[test]
    fn what_keeps_its_connection_for_long_leaves_turns_to_other_changes() {
        for usable in 5..=100 {
            let [_, any_change, _, waiting, imports, _, waiting_endings, _] = sizes(usable);
            let left = any_change - waiting - imports - waiting_endings;
            assert!(left >= usable / 5, "{left} of {usable}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn connections_that_commits_keep_count_when_the_server_has_no_slot() {
        let slots = Arc::new(Slots::new(16, &Arc::default()));
        let of_commit = slots.take(Holder::Service, Purpose::Group).await.unwrap();
        let kept = slots.keep(of_commit);
        assert!(slots.none_left(2));
        assert_eq!(slots.among(Among::All).size(), 3);
        assert!(slots.none_left(0));
        drop(kept);
        assert!(!slots.none_left(0));
        assert_eq!(slots.state(), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn no_change_takes_the_last_connection_that_there_is() {
        let slots = Arc::new(Slots::new(16, &Arc::default()));
        let slot = async |purpose| slots.take(Holder::Service, purpose).await.unwrap();
        let mut first = slot(Purpose::Group).await;
        assert!(slots.leaves_one(&mut first, 2));
        let mut second = slot(Purpose::Group).await;
        assert!(!slots.leaves_one(&mut second, 2));
        assert!(slots.leaves_one(&mut slot(Purpose::Read).await, 2));
        drop(second);
        let kept = slots.keep(first);
        // The connection that is kept is not the pool's any more.
        assert!(!slots.leaves_one(&mut slot(Purpose::Group).await, 1));
        assert!(slots.leaves_one(&mut slot(Purpose::Group).await, 2));
        drop(kept);
        slots.none_left(1);
        assert!(slots.leaves_one(&mut slot(Purpose::Group).await, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn while_commits_are_not_answered_changes_begin_one_at_a_time() {
        let slots = Arc::new(Slots::new(16, &Arc::default()));
        let begin = || slots.take(Holder::Groups, Purpose::Group).now_or_never();
        let kept = slots.keep(begin().unwrap().unwrap());
        let next = begin().unwrap().unwrap();
        assert!(begin().is_none());
        let read = slots.take(Holder::Groups, Purpose::Read).now_or_never();
        drop(read.unwrap());
        // It is not answered, either, and then the connections are cut.
        let next = slots.keep(next);
        drop((kept, next));
        let last = begin().unwrap().unwrap();
        assert!(begin().is_none());
        slots.answered();
        assert!(begin().is_some());
        drop(last);
        assert_eq!(slots.state(), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn while_commits_keep_connections_there_are_no_more_changes_than_before() {
        let slots = Arc::new(Slots::new(16, &Arc::default()));
        slots.none_left(4);
        let slot = slots.take(Holder::Groups, Purpose::Group).await;
        let kept = slots.keep(slot.unwrap());
        let sizes = || {
            (
                slots.among(Among::All).size(),
                slots.among(Among::AnyChange).size(),
            )
        };
        slots.one_more();
        assert_eq!(sizes(), (5, 3));
        slots.none_left(0);
        assert_eq!(sizes(), (1, 1));
        for _ in 0..5 {
            slots.one_more();
        }
        assert_eq!(sizes(), (6, 3));
        drop(kept);
        assert_eq!(sizes(), (6, 5));
    }

    #[tokio::test(start_paused = true)]
    async fn reads_have_connections_that_no_change_gets() {
        for (most, of_changes) in [(2, 1), (7, 6), (16, 14)] {
            let slots = Slots::new(most, &Arc::default());
            let change = Purpose::Change { met_lock: false };
            let mut held = Vec::new();
            // The service itself may have three quarters, and so may the groups.
            for (holder, purpose) in [(Holder::Service, change), (Holder::Groups, Purpose::Group)] {
                while let Some(Ok(slot)) = slots.take(holder, purpose).now_or_never() {
                    held.push(slot);
                }
            }
            assert_eq!(held.len(), of_changes, "{most}");
            let read = slots.take(Holder::Lookups, Purpose::Read).now_or_never();
            assert!(matches!(read, Some(Ok(_))), "{most}");
        }
    }
}
