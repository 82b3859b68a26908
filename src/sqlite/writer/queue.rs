//! The queue of changes, in which each holder has a line of its own.
//!
//! 1. A group takes one change of each line in turn, until it is full or nothing waits. So a holder's first change is in the
//!    next group, however many others have sent, unless more holders wait than a group has changes, or it ends early.
//!    [Attempts](Holder::Attempts) to sign in wait only for the group under way: they are a group of their own, at most every
//!    other one. Each holds a place for hashing meanwhile, of which there are few, and with an import in each group all who
//!    sign in waited for seconds.
//! 2. A change whose [wait](crate::pace) would be too long is refused at once. A turn is a group, since a commit costs about the
//!    same for one change as for a hundred. What is before a change in its own line counts, and as much of each other line, as
//!    of now: whoever comes later may make it wait for longer.
//! 3. So is a change whose holder has its [share](Holder::share) of the queue; when the queue is full, one whose holder has any.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use foldhash::HashMap;

use crate::domain::holder::Holder;
use crate::pace::Pace;

/// Changes in one transaction: enough to make the commit's cost vanish, few enough that the first of a
/// group does not wait noticeably for the last.
pub(super) const GROUP: usize = 256;

/// Changes that may wait, and one of each holder besides. At a commit every few milliseconds, a queue this long is a second
/// or two of work.
pub(super) const QUEUE: usize = 4096;

/// Where changes wait for the thread that makes them.
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    /// Wakes the thread.
    changed: Condvar,
}

struct State<J> {
    /// The changes of each holder that has some.
    lines: HashMap<Holder, VecDeque<J>>,
    /// These holders, in the order in which they are served.
    ring: VecDeque<Holder>,
    /// Those that are a group of their own.
    attempts: VecDeque<J>,
    /// Whether the last group was one of these.
    were_attempts: bool,
    queued: usize,
    /// Whether a group is not answered yet.
    under_way: bool,
    /// How many changes a group has as long as none waits behind it: fewer than [`GROUP`] if the last one ended early.
    per_group: usize,
    pace: Pace,
    is_closed: bool,
}

/// Why a change is not let in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Step 2.
    TooLong,
    /// Step 3.
    Full,
    Closed,
}

impl<J> Queue<J> {
    /// An empty queue.
    pub(super) fn new(now: Instant) -> Queue<J> {
        let state = State {
            lines: HashMap::default(),
            ring: VecDeque::new(),
            attempts: VecDeque::new(),
            were_attempts: false,
            queued: 0,
            under_way: false,
            per_group: GROUP,
            pace: Pace::begin(now),
            is_closed: false,
        };
        Queue {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Puts a change, which comes at `now`, behind those of its holder.
    pub(super) fn put(&self, holder: Holder, change: J, now: Instant) -> Result<(), Refused> {
        let mut state = self.state();
        state.admit(holder, now)?;
        state.add(holder, change);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for a change, and returns the group that starts with it: step 1. `None` when the queue is closed and empty.
    ///
    /// The group before had `before` changes. Unless clients come one at a time, this yields to other threads as long as
    /// that brings more. With fewer cores than threads, the first change would otherwise be alone, and those that the async
    /// threads are about to send would have to wait for the next commit. A client that is alone is spared that: if another
    /// program wants the core too, to yield is to wait for its turn to end, and a create took 1.5 ms instead of 0.3.
    pub(super) fn next(&self, before: usize) -> Option<Vec<J>> {
        let mut group = Vec::with_capacity(GROUP);
        let mut state = self.state();
        while state.queued == 0 {
            if state.is_closed {
                return None;
            }
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.under_way = true;
        if state.take_attempts(&mut group) {
            return Some(group);
        }
        state.take(&mut group);
        drop(state);
        let mut more = before > 1 || group.len() > 1;
        while more && group.len() < GROUP {
            let found = group.len();
            std::thread::yield_now();
            self.state().take(&mut group);
            more = group.len() > found;
        }
        Some(group)
    }

    /// Puts back what is left of a group, in its order, to where it was. So many of it ran.
    pub(super) fn put_back(&self, left: Vec<J>, ran: usize, holder: impl Fn(&J) -> Holder) {
        let mut state = self.state();
        state.per_group = match left.is_empty() {
            true => GROUP,
            false => ran.max(1),
        };
        for change in left.into_iter().rev() {
            let holder = holder(&change);
            state.put_back(holder, change);
        }
    }

    /// The group under way has ended.
    pub(super) fn end(&self, now: Instant) {
        let mut state = self.state();
        state.under_way = false;
        state.pace.moves(now);
    }

    /// How many changes wait.
    pub(super) fn queued(&self) -> usize {
        self.state().queued
    }

    /// Lets no more in. What waits is still made.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_one();
    }

    /// Drops what waits.
    pub(super) fn clear(&self) {
        let mut state = self.state();
        state.ring.clear();
        state.queued = 0;
        let dropped = (
            std::mem::take(&mut state.lines),
            std::mem::take(&mut state.attempts),
        );
        drop(state);
        drop(dropped);
    }

    fn state(&self) -> MutexGuard<'_, State<J>> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J> State<J> {
    /// Steps 2 and 3.
    fn admit(&mut self, holder: Holder, now: Instant) -> Result<(), Refused> {
        if self.is_closed {
            return Err(Refused::Closed);
        }
        if self.queued == 0 && !self.under_way {
            self.pace = Pace::begin(now);
            self.per_group = GROUP;
        }
        let own = match holder {
            Holder::Attempts => self.attempts.len(),
            _ => self.lines.get(&holder).map_or(0, VecDeque::len),
        };
        if own >= holder.share(QUEUE) || own > 0 && self.queued >= QUEUE {
            return Err(Refused::Full);
        }
        let others = self.ring.len().saturating_sub(usize::from(own > 0));
        let before = match holder {
            Holder::Attempts => own,
            _ => self.queued.min(own + (own + 1) * others),
        };
        let groups = before / self.per_group + usize::from(self.under_way);
        match self.pace.admits(groups, now) {
            true => Ok(()),
            false => Err(Refused::TooLong),
        }
    }

    fn add(&mut self, holder: Holder, change: J) {
        self.queued += 1;
        if holder == Holder::Attempts {
            return self.attempts.push_back(change);
        }
        match self.lines.entry(holder) {
            Entry::Occupied(mut line) => line.get_mut().push_back(change),
            Entry::Vacant(line) => {
                line.insert(VecDeque::from([change]));
                self.ring.push_back(holder);
            }
        }
    }

    fn put_back(&mut self, holder: Holder, change: J) {
        self.queued += 1;
        if holder == Holder::Attempts {
            return self.attempts.push_front(change);
        }
        match self.lines.entry(holder) {
            Entry::Occupied(mut line) => {
                line.get_mut().push_front(change);
                self.ring.retain(|other| *other != holder);
            }
            Entry::Vacant(line) => drop(line.insert(VecDeque::from([change]))),
        }
        self.ring.push_front(holder);
    }

    /// Step 1: a group of attempts, if it is their turn. Returns whether it was.
    fn take_attempts(&mut self, group: &mut Vec<J>) -> bool {
        let is_their_turn = !self.were_attempts || self.ring.is_empty();
        self.were_attempts = is_their_turn && !self.attempts.is_empty();
        if self.were_attempts {
            let many = self.attempts.len().min(GROUP);
            group.extend(self.attempts.drain(..many));
            self.queued -= many;
        }
        self.were_attempts
    }

    /// Step 1 for all others, with what waits now.
    fn take(&mut self, group: &mut Vec<J>) {
        while group.len() < GROUP {
            let Some(holder) = self.ring.pop_front() else {
                return;
            };
            let Entry::Occupied(mut line) = self.lines.entry(holder) else {
                continue;
            };
            if let Some(change) = line.get_mut().pop_front() {
                group.push(change);
                self.queued -= 1;
            }
            match line.get().is_empty() {
                true => drop(line.remove()),
                false => self.ring.push_back(holder),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;

    fn team(number: u128) -> Holder {
        Holder::Team(Uuid::from_u128(number))
    }

    /// A queue whose groups, of one change each and one right behind the other, took that many milliseconds; the last is
    /// under way, and nothing waits behind it.
    fn after_groups(millis: &[u64]) -> (Queue<u128>, Instant) {
        let mut now = Instant::now();
        let queue = Queue::new(now);
        queue.put(team(0), 0, now).unwrap();
        for &took in millis {
            assert_eq!(queue.next(1).unwrap(), [0]);
            now += Duration::from_millis(took);
            queue.put(team(0), 0, now).unwrap();
            queue.end(now);
        }
        assert_eq!(queue.next(1).unwrap(), [0]);
        (queue, now)
    }

    /// How many changes of a holder are admitted at once, and why the next is not.
    fn admitted(queue: &Queue<u128>, holder: Holder, now: Instant) -> (usize, Refused) {
        let mut admitted = 0;
        loop {
            match queue.put(holder, 0, now) {
                Ok(()) => admitted += 1,
                Err(refused) => return (admitted, refused),
            }
        }
    }

    #[test]
    fn what_is_put_back_is_the_next_group_in_its_order() {
        let now = Instant::now();
        let queue = Queue::new(now);
        for change in [11, 12, 21, 31] {
            queue.put(team(change / 10), change, now).unwrap();
        }
        let mut group = queue.next(1).unwrap();
        assert_eq!(group, [11, 21, 31, 12]);
        for change in [13, 41] {
            queue.put(team(change / 10), change, now).unwrap();
        }
        queue.put_back(group.split_off(1), 1, |change| team(change / 10));
        assert_eq!(queue.queued(), 5);
        assert_eq!(queue.next(1).unwrap(), [21, 31, 12, 41, 13]);
    }

    #[test]
    fn where_groups_end_early_a_change_waits_for_as_many_groups_as_there_will_be() {
        // 100 ms a group: ten can be waited for.
        let (queue, now) = after_groups(&[100; 50]);
        let mut group: Vec<u128> = (0..100).collect();
        queue.put_back(group.split_off(5), 5, |_| team(1));
        queue.end(now + Duration::from_millis(100));
        let (admitted, refused) = admitted(&queue, team(1), now + Duration::from_millis(100));
        assert_eq!((admitted, refused), (0, Refused::TooLong));
        queue.put(team(2), 0, now).unwrap();
    }

    #[test]
    fn a_group_has_one_change_of_each_holder_in_turn_and_each_has_its_own_in_order() {
        let now = Instant::now();
        let queue = Queue::new(now);
        for change in 0..300 {
            queue.put(team(1), 1_000 + change, now).unwrap();
        }
        queue.put(team(3), 1, now).unwrap();
        for change in 0..3 {
            queue.put(team(2), 2_000 + change, now).unwrap();
        }
        let group = queue.next(1).unwrap();
        assert_eq!(group[..7], [1_000, 1, 2_000, 1_001, 2_001, 1_002, 2_002]);
        assert_eq!((group.len(), queue.queued()), (GROUP, 304 - GROUP));
        queue.put(team(2), 2_003, now).unwrap();
        assert_eq!(queue.next(1).unwrap()[..3], [1_252, 2_003, 1_253]);
        assert_eq!(queue.queued(), 0);
    }

    #[test]
    fn attempts_are_a_group_of_their_own_at_most_every_other() {
        let now = Instant::now();
        let queue = Queue::new(now);
        for (holder, change) in [(team(1), 1), (Holder::Attempts, 2), (Holder::Attempts, 3)] {
            queue.put(holder, change, now).unwrap();
        }
        assert_eq!(queue.next(9).unwrap(), [2, 3]);
        queue.put(Holder::Attempts, 4, now).unwrap();
        assert_eq!(queue.next(9).unwrap(), [1]);
        assert_eq!(queue.next(9).unwrap(), [4]);
        queue.put(Holder::Attempts, 5, now).unwrap();
        assert_eq!(queue.next(9).unwrap(), [5]);
        assert_eq!(queue.queued(), 0);
    }

    #[test]
    fn as_many_are_admitted_as_groups_fit_into_the_limit_whatever_others_have() {
        let (queue, now) = after_groups(&[95; 100]);
        // The one under way takes the first of ten.
        let most = (9 * GROUP, Refused::TooLong);
        assert_eq!(admitted(&queue, team(1), now), most);
        // It shares each of the nine with the other.
        let half = (9 * GROUP / 2, Refused::TooLong);
        assert_eq!(admitted(&queue, team(2), now), half);
        queue.put(Holder::Attempts, 0, now).unwrap();
    }

    #[test]
    fn nobody_is_let_in_behind_a_group_that_takes_longer_than_the_limit() {
        let (queue, now) = after_groups(&[1]);
        queue.put(team(1), 0, now + Duration::from_secs(1)).unwrap();
        let later = now + Duration::from_secs(2);
        for holder in [team(1), team(2)] {
            assert_eq!(queue.put(holder, 0, later), Err(Refused::TooLong));
        }
        queue.end(later);
        queue.put(team(2), 0, later).unwrap();
    }

    #[test]
    fn a_queue_that_was_empty_begins_anew_however_slow_it_was() {
        let (queue, now) = after_groups(&[900; 20]);
        assert_eq!(queue.put(team(1), 0, now), Err(Refused::TooLong));
        queue.end(now);
        assert!(admitted(&queue, team(1), now).0 > 10 * GROUP);
    }

    #[test]
    fn a_holder_has_its_share_of_the_queue_and_in_a_full_one_its_first_change() {
        let now = Instant::now();
        let queue = Queue::new(now);
        let (share, rest) = (QUEUE / 4 * 3, QUEUE / 4);
        assert_eq!(admitted(&queue, team(1), now), (share, Refused::Full));
        assert_eq!(admitted(&queue, team(2), now), (rest, Refused::Full));
        assert_eq!(admitted(&queue, team(3), now), (1, Refused::Full));
    }

    #[test]
    fn what_waits_when_the_queue_is_closed_is_made_unless_the_thread_has_ended() {
        let now = Instant::now();
        let queue = Queue::new(now);
        queue.put(team(1), 1, now).unwrap();
        queue.close();
        assert_eq!(queue.put(team(1), 2, now), Err(Refused::Closed));
        assert_eq!(queue.next(1), Some(vec![1]));
        assert_eq!(queue.next(1), None);
        let queue = Queue::new(now);
        queue.put(team(1), 1, now).unwrap();
        queue.close();
        queue.clear();
        assert_eq!((queue.queued(), queue.next(1)), (0, None));
    }
}
