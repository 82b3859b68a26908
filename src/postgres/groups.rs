//! Groups changes that arrive together into one transaction.
//!
//! Most of the cost of a small change is not the change itself, but BEGIN, COMMIT, the disk, and the round trips of each. So
//! changes that arrive while others are under way are made together, in one transaction on one connection, as in SQLite:
//!
//! 1. A change names its holder and the [`Subject`]s that it decides upon. It takes a seat, of which a holder has no more
//!    than its share, and waits.
//! 2. There are a few lanes. A free lane takes a connection, lets changes arrive that are [about to come](gather), and then
//!    takes all that wait, in order of arrival: at most [`LARGEST`], and none that shares a subject with a change under way
//!    or with one before it in the queue. So a change that is alone waits for no other, and a change reads its subjects as
//!    they were committed.
//! 3. Each change runs its own script, on its own task. What the scripts send next goes out once all of them have sent
//!    something, [as few statements](super::together): a round trip of one is a round trip of all. BEGIN travels with the
//!    first.
//! 4. Each reports how its script went. If all succeeded, or were refused by a rule before they wrote anything, the lane
//!    commits, and all get their answers.
//! 5. If a statement failed, or a script was refused after it had written something, the transaction is rolled back, and
//!    each change that may have been the reason tries again in a transaction of its own: no answer depends on what another
//!    caller asked for. The others try again in another group, a few times. The holder that spoilt the group gets no seat for
//!    [a while](super::apart): its changes go alone. (A change that was alone in its group has its answer.)
//!    So does a holder [for whose statements](super::slow) a group has waited long.
//! 6. The whole group waits for a lock that another transaction holds, so that wait is kept short (`transaction.rs`). The
//!    change that met it waits for longer alone, and tries again (`retry.rs`).
//!
//! Promises 1 to 5 of the [store](super) hold for a group as for a single change. Nothing has happened until COMMIT is sent,
//! so each may try again; if COMMIT is not answered, the outcome is unknown, and no change is repeated.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::apart::{Apart, WentAlone};
use super::checkout::{Checkout, DEADLINE};
use super::connections::Connections;
use super::gather::gather;
use super::group::Group;
use super::handle::Access;
use super::seat::Seat;
use super::slots::Purpose;
use super::slow::Slow;
use super::statements::LONGEST_PREPARED;
use crate::domain::holder::Holder;
use crate::domain::subject::Subject;
use crate::sql::ScriptError;
use crate::turns::{Turn, Turns};

/// The most changes in a group. What they send is in memory at once, and undone at once.
const LARGEST: usize = 64;
// Otherwise the statements that they share would be planned each time, however small.
const _: () = assert!(LARGEST <= LONGEST_PREPARED);

/// Groups at a time: while one waits for the disk, the other is made.
const LANES: usize = 2;

/// A change with less time left goes alone: if it were late, it would undo what the others have done.
const LEAST_TIME: Duration = Duration::from_millis(500);

/// The groups of a store.
pub(super) struct Groups(Arc<Queue>);

struct Queue {
    connections: Arc<Connections>,
    seats: Turns,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// The subjects of the changes under way.
    busy: HashSet<Subject>,
    /// Lanes at work.
    lanes: usize,
    /// Whose changes go alone, since they have had groups undone.
    apart: Apart,
    /// The same, since they take long.
    slow: Arc<Slow>,
}

/// A change that waits for its group.
struct Waiting {
    subjects: Vec<Subject>,
    turn: Turn,
    holder: Holder,
    came: Instant,
    deadline: Instant,
    seat: oneshot::Sender<Seat>,
}

/// A lane at work, until dropped.
struct Lane {
    queue: Arc<Queue>,
    is_at_work: bool,
}

/// The subjects of a group under way. Dropping this frees them.
struct Busy<'a> {
    queue: &'a Queue,
    subjects: Vec<Subject>,
}

impl Groups {
    pub(super) fn new(connections: &Arc<Connections>) -> Groups {
        Groups(Arc::new(Queue {
            connections: Arc::clone(connections),
            // One group waits while others are under way.
            seats: Turns::new(LARGEST * (LANES + 1), &connections.counts.refused),
            state: Mutex::new(State {
                slow: Arc::clone(&connections.slow),
                ..State::default()
            }),
        }))
    }

    /// Changes that wait for their group.
    pub(super) fn waiting(&self) -> usize {
        let (_, waiting) = self.0.seats.state();
        waiting + self.0.state().waiting.len()
    }

    /// Whether changes for `holder` may join groups now.
    pub(super) fn takes(&self, holder: Holder) -> bool {
        self.0.state().takes(holder, Instant::now())
    }

    /// Notes how a change went alone after its group was undone: step 5.
    pub(super) fn went_alone(&self, holder: Holder, how: WentAlone) {
        let mut state = self.0.state();
        state.apart.went_alone(holder, how, Instant::now());
    }

    /// Notes that a change whose group was undone at `undone` has had its turn again: step 5.
    pub(super) fn went_again(&self, undone: Instant) {
        self.0.state().apart.went_again(undone, Instant::now());
    }

    /// Steps 1 and 2, for one change.
    ///
    /// # Errors
    /// [`ScriptError::Retry`] when there is no connection for the group; [`ScriptError::Final`] when the wait would be too
    /// long.
    pub(super) async fn seat(
        &self,
        holder: Holder,
        subjects: Vec<Subject>,
        deadline: Instant,
    ) -> Result<Seat, ScriptError> {
        let turn = self.0.seats.take(holder).await?;
        let (sender, seat) = oneshot::channel();
        let starts = {
            let mut state = self.0.state();
            state.waiting.push_back(Waiting {
                subjects,
                turn,
                holder,
                came: Instant::now(),
                deadline,
                seat: sender,
            });
            let starts = state.lanes < LANES;
            state.lanes += usize::from(starts);
            starts
        };
        if starts {
            let lane = Lane {
                queue: Arc::clone(&self.0),
                is_at_work: true,
            };
            tokio::spawn(lane.work());
        }
        // Alone, it finds a connection or learns why there is none.
        let none = |_| ScriptError::Retry("there was no place in a group".into());
        seat.await.map_err(none)
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether changes for `holder` may join groups.
    fn takes(&mut self, holder: Holder, now: Instant) -> bool {
        !self.apart.has(holder, now) && !self.slow.goes_alone(Access::Changing, holder)
    }

    /// Which of the waiting changes may start: step 2.
    fn ready(&self) -> Vec<bool> {
        let (mut room, mut behind) = (LARGEST, HashSet::<Subject>::new());
        let mut is_ready = |change: &Waiting| {
            let is_free = |it| !self.busy.contains(it) && !behind.contains(it);
            let is_ready = room > 0 && change.subjects.iter().all(is_free);
            room -= usize::from(is_ready);
            behind.extend(&change.subjects);
            is_ready
        };
        self.waiting.iter().map(&mut is_ready).collect()
    }

    /// Takes out the changes that may start.
    fn next(&mut self) -> Vec<Waiting> {
        let now = Instant::now();
        let (mut all, time_for_it) = (std::mem::take(&mut self.waiting), now + LEAST_TIME);
        // Drops those whose callers have gone, and those that go alone from now on.
        all.retain(|change| {
            let stays = !change.seat.is_closed() && change.deadline > time_for_it;
            stays && self.takes(change.holder, now)
        });
        self.waiting = all;
        let ready = self.ready().into_iter();
        let (group, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .zip(ready)
            .partition::<Vec<_>, _>(|(_, is_ready)| *is_ready);
        self.waiting = waiting.into_iter().map(|(change, _)| change).collect();
        let group: Vec<_> = group.into_iter().map(|(change, _)| change).collect();
        let subjects = group.iter().flat_map(|change| &change.subjects);
        self.busy.extend(subjects);
        group
    }
}

impl Lane {
    /// Makes groups while changes wait.
    async fn work(mut self) {
        let queue = Arc::clone(&self.queue);
        while self.goes_on() {
            // After that, no waiting change has time left.
            let connection = timeout(
                DEADLINE,
                queue.connections.checkout(Holder::Groups, Purpose::Group),
            )
            .await;
            gather(LARGEST, || queue.state().waiting.len()).await;
            let changes = queue.state().next();
            let _busy = Busy::of(&queue, &changes);
            // Without a connection, each goes alone. All callers may also have gone.
            if let Ok(Ok(connection)) = connection
                && !changes.is_empty()
            {
                make(&queue, connection, changes).await;
            }
        }
    }

    /// Whether a waiting change may start. If none may, the lane stops being at work at that moment: the next change to
    /// arrive starts it again, and a change that waits for a subject is taken by the lane that has it.
    fn goes_on(&mut self) -> bool {
        let mut state = self.queue.state();
        self.is_at_work = state.ready().contains(&true);
        state.lanes -= usize::from(!self.is_at_work);
        self.is_at_work
    }
}

/// Steps 3 to 5.
async fn make(queue: &Queue, connection: Checkout, changes: Vec<Waiting>) {
    let counts = &queue.connections.counts;
    let holders: Vec<_> = changes.iter().map(|it| it.holder).collect();
    let slow = Arc::clone(&queue.connections.slow);
    let mut group = Group::new(connection, slow, holders.clone());
    for change in changes {
        counts.group_waits.took(change.came.elapsed());
        let seat = group.seat(change.turn);
        // A caller that has gone gives its seat back, and that is all.
        let _ = change.seat.send(seat);
    }
    let spoilt = group.end(counts).await;
    let spoilt = holders.into_iter().zip(spoilt).filter(|it| it.1);
    let (mut state, now) = (queue.state(), Instant::now());
    spoilt.for_each(|(holder, _)| state.apart.insert(holder, now));
}

impl Drop for Lane {
    fn drop(&mut self) {
        if self.is_at_work {
            self.queue.state().lanes -= 1;
        }
    }
}

impl Busy<'_> {
    fn of<'a>(queue: &'a Queue, group: &[Waiting]) -> Busy<'a> {
        let subjects = group.iter().flat_map(|change| change.subjects.iter());
        Busy {
            queue,
            subjects: subjects.copied().collect(),
        }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        for subject in &self.subjects {
            state.busy.remove(subject);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use uuid::Uuid;

    use crate::domain::catalog::{Catalog, Mode};
    use crate::domain::id::{ProductId, TeamId};

    use super::*;

    /// A waiting change that decides upon `subjects`, and the receiver of its seat.
    fn waiting(turns: &Turns, subjects: &[Subject]) -> (Waiting, oneshot::Receiver<Seat>) {
        let (seat, place) = oneshot::channel();
        let turn = turns.take(Holder::Service).now_or_never();
        let waiting = Waiting {
            subjects: subjects.to_vec(),
            turn: turn.unwrap().unwrap(),
            holder: Holder::Service,
            came: Instant::now(),
            deadline: Instant::now() + DEADLINE,
            seat,
        };
        (waiting, place)
    }

    /// The groups in which waiting changes start, one after the other. Changes are given by what they decide upon.
    fn groups<const N: usize>(waiters: [&[Subject]; N]) -> Vec<Vec<Vec<Subject>>> {
        let turns = Turns::new(2 * N, &Arc::default());
        let (all, _places): (VecDeque<_>, Vec<_>) = waiters
            .into_iter()
            .map(|subjects| waiting(&turns, subjects))
            .unzip();
        let mut state = State {
            waiting: all,
            ..State::default()
        };
        let mut groups = Vec::new();
        while !state.waiting.is_empty() {
            let group = state.next();
            state.busy.clear();
            groups.push(group.into_iter().map(|change| change.subjects).collect());
        }
        groups
    }

    fn product() -> Subject {
        let (team_id, mode) = (TeamId(Uuid::new_v4()), Mode::Live);
        Subject::product(Catalog { team_id, mode }, ProductId::from(Uuid::new_v4()))
    }

    #[test]
    fn changes_of_one_subject_begin_in_the_order_in_which_they_came() {
        let [a, b, c] = [(); 3].map(|()| product());
        let waiters = [&[a][..], &[b], &[a, c], &[c], &[]];
        // The fourth could start at once, but would overtake the third.
        assert_eq!(
            groups(waiters),
            [
                vec![vec![a], vec![b], vec![]],
                vec![vec![a, c]],
                vec![vec![c]]
            ]
        );
    }

    #[test]
    fn a_group_has_at_most_its_number() {
        let sizes = groups([&[]; LARGEST + 1]);
        let sizes: Vec<_> = sizes.iter().map(Vec::len).collect();
        assert_eq!(sizes, [LARGEST, 1]);
    }

    #[test]
    fn what_is_under_way_is_waited_for() {
        let turns = Turns::new(4, &Arc::default());
        let [a, b] = [(); 2].map(|()| product());
        let ((first, _first), (second, _second)) = (waiting(&turns, &[a]), waiting(&turns, &[b]));
        let mut state = State {
            waiting: [first, second].into(),
            busy: [a].into(),
            ..State::default()
        };
        assert_eq!(state.next().len(), 1);
        assert!(state.next().is_empty());
        state.busy.remove(&a);
        assert_eq!(state.next().len(), 1);
    }

    #[test]
    fn who_has_gone_is_not_waited_for() {
        let turns = Turns::new(4, &Arc::default());
        let a = product();
        let ((gone, place), (next, _place)) = (waiting(&turns, &[a]), waiting(&turns, &[a]));
        drop(place);
        let mut state = State {
            waiting: [gone, next].into(),
            ..State::default()
        };
        assert_eq!(state.next().len(), 1);
        assert!(state.waiting.is_empty());
    }
}
