//! Looks up rows for many callers together.
//!
//! Most of the cost of looking up a row is not the row, but its statement and its round trip. So lookups that arrive while
//! others are under way are made together, on one connection:
//!
//! 1. A lookup takes a seat, of which a holder has no more than its share, and waits.
//! 2. There are a few lanes. A free lane takes a connection, lets lookups arrive that are [about to come](gather), and then
//!    takes those that wait, as long as they are at most [`LARGEST`] and find no more than [`MOST_ROWS`]: the first of each
//!    holder before the second of any. So a lookup that is alone waits for no other.
//! 3. They are sent together ([`together`]).
//! 4. Each gets its rows. A caller whose statement failed looks them up alone, and learns why.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::checkout::{Checkout, DEADLINE};
use super::connections::Connections;
use super::gather::gather;
use super::slots::Purpose;
use super::statements::{LONGEST_PREPARED, Rows, Sent};
use super::together::{self, Kept};
use crate::domain::holder::Holder;
use crate::sql::ScriptError;
use crate::turns::{Turn, Turns};

/// The most lookups that a lane makes at a time.
const LARGEST: usize = 64;
// Otherwise the statements that they share would be planned each time, however small.
const _: () = assert!(LARGEST <= LONGEST_PREPARED);

/// The most rows that they find, unless one lookup alone finds more: all of them are in memory at once.
const MOST_ROWS: usize = 256;

/// Lanes: while the database answers one, the other gathers.
const LANES: usize = 2;

/// How many lookups are under way or wait for a lane; the others wait for these.
const SEATS: usize = 2 * LARGEST * LANES;

/// The lookups of a store.
pub(crate) struct Lookups(Arc<Queue>);

struct Queue {
    connections: Arc<Connections>,
    /// The holder of the lanes' connections.
    holder: Holder,
    seats: Turns,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Lanes at work.
    lanes: usize,
}

/// A lookup that waits for its rows.
struct Waiting {
    said: Vec<Kept>,
    /// How many rows it finds at most.
    most: usize,
    holder: Holder,
    rows: oneshot::Sender<Vec<Rows>>,
    turn: Turn,
}

/// A lane at work, until dropped.
struct Lane {
    queue: Arc<Queue>,
    is_at_work: bool,
}

impl Lookups {
    /// Lookups whose lanes take connections as `holder`.
    pub(super) fn new(connections: &Arc<Connections>, holder: Holder) -> Lookups {
        // As many may wait as are under way. Strangers may have a quarter, and all of theirs are strangers'.
        let seats = match holder {
            Holder::Strangers => 4 * SEATS,
            _ => SEATS,
        };
        Lookups(Arc::new(Queue {
            connections: Arc::clone(connections),
            holder,
            seats: Turns::new(seats, &connections.counts.refused),
            state: Mutex::default(),
        }))
    }

    /// Lookups that wait for a lane.
    pub(super) fn waiting(&self) -> usize {
        let (_, waiting) = self.0.seats.state();
        waiting + self.0.state().waiting.len()
    }

    /// Runs queries, which find at most `most` rows, and returns the answers.
    ///
    /// # Errors
    /// [`ScriptError::Retry`] when they failed; [`ScriptError::Final`] when the wait would be too long.
    pub(crate) async fn look_up(
        &self,
        holder: Holder,
        sent: &[Sent<'_>],
        most: usize,
    ) -> Result<Vec<Rows>, ScriptError> {
        let said = Kept::all(sent)?;
        let turn = self.0.seats.take(holder).await?;
        let (rows, answer) = oneshot::channel();
        let waiting = Waiting {
            said,
            most,
            holder,
            rows,
            turn,
        };
        Queue::push(&self.0, waiting);
        let failed = |_| ScriptError::Retry("what it was looked up with has failed".into());
        answer.await.map_err(failed)
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a lookup, and starts a lane if one is free.
    fn push(queue: &Arc<Queue>, waiting: Waiting) {
        let mut state = queue.state();
        state.waiting.push_back(waiting);
        if state.lanes < LANES {
            state.lanes += 1;
            let lane = Lane {
                queue: Arc::clone(queue),
                is_at_work: true,
            };
            tokio::spawn(lane.work());
        }
    }
}

impl Lane {
    /// Steps 2 to 4, while lookups wait.
    async fn work(mut self) {
        let queue = Arc::clone(&self.queue);
        while self.goes_on() {
            // After that, no waiting lookup has time left. Without a connection, each caller looks up its rows alone.
            let checkout = timeout(
                DEADLINE,
                queue.connections.checkout(queue.holder, Purpose::Read),
            )
            .await;
            gather(LARGEST, || queue.state().waiting.len()).await;
            let waiting = next(&mut queue.state().waiting);
            if let Ok(Ok(checkout)) = checkout
                && !waiting.is_empty()
            {
                // After that, none of them has time left.
                let _ = timeout(DEADLINE, answer(checkout, waiting)).await;
            }
        }
    }

    /// Whether lookups wait. If none does, the lane stops being at work at that moment.
    fn goes_on(&mut self) -> bool {
        let mut state = self.queue.state();
        self.is_at_work = !state.waiting.is_empty();
        state.lanes -= usize::from(!self.is_at_work);
        self.is_at_work
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if self.is_at_work {
            self.queue.state().lanes -= 1;
        }
    }
}

/// Takes out the lookups that are made together.
fn next(waiting: &mut VecDeque<Waiting>) -> Vec<Waiting> {
    // Drops lookups whose callers have stopped waiting.
    waiting.retain(|it| !it.rows.is_closed());
    in_turns(waiting);
    let mut rows = 0;
    let has_room = |it: &&Waiting| {
        let is_first = rows == 0;
        rows += it.most;
        is_first || rows <= MOST_ROWS
    };
    let count = waiting.iter().take(LARGEST).take_while(has_room).count();
    waiting.drain(..count).collect()
}

/// Puts the first of each holder before the second of any, and so on: a holder that asks for much at once waits behind one
/// that does not.
fn in_turns(waiting: &mut VecDeque<Waiting>) {
    let mut asked = HashMap::<Holder, usize>::new();
    let turn = |it: Waiting| {
        let before = asked.entry(it.holder).or_default();
        *before += 1;
        (*before, it)
    };
    let mut turns: Vec<_> = waiting.drain(..).map(turn).collect();
    if asked.len() > 1 {
        turns.sort_by_key(|(turn, _)| *turn);
    }
    waiting.extend(turns.into_iter().map(|(_, it)| it));
}

/// Steps 3 and 4.
async fn answer(checkout: Checkout, waiting: Vec<Waiting>) {
    checkout.mark_used();
    let (said, waiting): (Vec<_>, Vec<_>) = waiting
        .into_iter()
        .map(|it| (it.said, (it.rows, it.turn)))
        .unzip();
    let Ok(answers) = together::run(&checkout, &said).await else {
        return checkout.mark_spent();
    };
    let mut failures = answers
        .iter()
        .flatten()
        .filter_map(|answer| answer.as_ref().err());
    match failures.any(|failure| failure.may_be_the_connection) {
        true => checkout.mark_spent(),
        false => checkout.mark_done(),
    }
    drop(checkout);
    for (answers, (asked, _turn)) in answers.into_iter().zip(waiting) {
        if let Ok(rows) = answers.into_iter().collect::<Result<Vec<_>, _>>() {
            // A caller that has stopped waiting needs none.
            let _ = asked.send(rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use uuid::Uuid;

    use super::*;

    /// The rounds in which lookups are made together, each given by the number of its team and how many rows it finds.
    fn rounds<const N: usize>(waiting: [(u128, usize); N]) -> Vec<Vec<(u128, usize)>> {
        let turns = Turns::new(4 * N, &Arc::default());
        let mut answers = Vec::new();
        let wait = |(team, most)| {
            let holder = Holder::Team(Uuid::from_u128(team));
            let (rows, answer) = oneshot::channel();
            answers.push(answer);
            Waiting {
                said: Vec::new(),
                most,
                holder,
                rows,
                turn: turns.take(holder).now_or_never().unwrap().unwrap(),
            }
        };
        let mut waiting: VecDeque<_> = waiting.into_iter().map(wait).collect();
        let mut rounds = Vec::new();
        while !waiting.is_empty() {
            let round = next(&mut waiting).into_iter().map(|it| match it.holder {
                Holder::Team(team) => (team.as_u128(), it.most),
                _ => (0, it.most),
            });
            rounds.push(round.collect());
        }
        rounds
    }

    #[test]
    fn who_asks_for_many_pages_waits_behind_who_asks_for_one_product() {
        let waiting = [(1, 101), (1, 101), (1, 101), (2, 1)];
        assert_eq!(
            rounds(waiting),
            [vec![(1, 101), (2, 1), (1, 101)], vec![(1, 101)]]
        );
    }

    #[test]
    fn what_finds_more_rows_than_go_together_goes_alone() {
        let waiting = [(1, MOST_ROWS + 1), (1, 1)];
        assert_eq!(rounds(waiting), [vec![(1, MOST_ROWS + 1)], vec![(1, 1)]]);
    }
}
