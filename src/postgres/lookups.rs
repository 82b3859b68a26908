//! Looks up rows for many callers together.
//!
//! Most of the cost of looking up a row is not the row, but its statement and its round trip. So lookups that arrive while
//! others are under way are made together, on one connection:
//!
//! 1. A lookup takes a seat, of which a holder has no more than its share, and waits.
//! 2. There are a few lanes. A free lane takes a connection, lets lookups arrive that are [about to come](gather), and then
//!    takes those that wait, as long as they are at most [`LARGEST`] and find no more than [`MOST_ROWS`]. Holders share the
//!    lanes by what their lookups [cost](cost) ([`FairTime`]): a long list takes the room of a hundred short ones, and may
//!    find their bytes, or pass any number of rows that are archived. So whoever asks for little is among the next, whatever
//!    others ask for. Still, all wait for the longest of those that are made with them. So lists have lanes of their own, and
//!    so have credentials ([`Postgres`](super::Postgres)).
//! 3. They are sent together ([`together`]). Whose rows take long to find goes [alone](super::slow) from then on.
//! 4. Each gets its rows. A caller whose statement failed looks them up alone, and learns why.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::HashMap;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::checkout::{Checkout, DEADLINE};
use super::connections::Connections;
use super::gather::gather;
use super::handle::Access;
use super::slots::Purpose;
use super::slow::Slow;
use super::statements::{LONGEST_PREPARED, Rows, Sent};
use super::together::{self, Kept};
use crate::domain::holder::Holder;
use crate::fair_time::FairTime;
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
    waiting: Vec<Waiting>,
    /// Lanes at work.
    lanes: usize,
    time: FairTime<Holder>,
    slow: Arc<Slow>,
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
            state: Mutex::new(State {
                slow: Arc::clone(&connections.slow),
                ..State::default()
            }),
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
    /// [`ScriptError::Retry`] when they failed, or go alone from now on; [`ScriptError::Final`] when the wait would be too long.
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
        state.waiting.push(waiting);
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
            let waiting = queue.state().next();
            if let Ok(Ok(checkout)) = checkout
                && !waiting.is_empty()
            {
                // After that, none of them has time left.
                let _ = timeout(DEADLINE, answer(checkout, waiting, &queue)).await;
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

impl State {
    /// Takes out the lookups that are made together.
    fn next(&mut self) -> Vec<Waiting> {
        // Drops lookups whose callers have stopped waiting, and those that go alone from now on.
        let goes_alone = |holder| self.slow.goes_alone(Access::Reading, holder);
        self.waiting
            .retain(|it| !it.rows.is_closed() && !goes_alone(it.holder));
        self.order();
        let mut rows = 0;
        let has_room = |it: &&Waiting| {
            let is_first = rows == 0;
            rows += it.most;
            is_first || rows <= MOST_ROWS
        };
        let waiting = self.waiting.iter().take(LARGEST);
        let count = waiting.take_while(has_room).count();
        let next: Vec<_> = self.waiting.drain(..count).collect();
        for lookup in &next {
            self.time.serve(lookup.holder, about(lookup.most));
        }
        next
    }

    /// Puts them in the order in which they start, each holder's as it asked.
    fn order(&mut self) {
        let mut holders = self.waiting.iter().map(|it| it.holder);
        let first = holders.next();
        if holders.all(|it| Some(it) == first) {
            return;
        }
        let mut starts = HashMap::<Holder, Duration>::default();
        let start = |it: Waiting| {
            let next = starts.entry(it.holder);
            let next = next.or_insert_with(|| self.time.start(it.holder));
            let start = *next;
            *next += about(it.most);
            (start, it)
        };
        let mut started: Vec<_> = self.waiting.drain(..).map(start).collect();
        started.sort_by_key(|(start, _)| *start);
        self.waiting.extend(started.into_iter().map(|(_, it)| it));
    }
}

/// What a lookup costs at least that finds so many rows at most: it takes that part of a round, however few it finds.
fn about(most: usize) -> Duration {
    Duration::from_micros(50) + Duration::from_micros(10) * u32::try_from(most).unwrap_or(u32::MAX)
}

/// What a lookup costs in a round that took so long: its part of that.
fn cost(most: usize, round: Duration) -> Duration {
    let part = about(most).as_secs_f64() / about(MOST_ROWS).as_secs_f64();
    round.mul_f64(part.min(1.0)).max(about(most))
}

/// Steps 3 and 4.
async fn answer(checkout: Checkout, waiting: Vec<Waiting>, queue: &Queue) {
    let begun = Instant::now();
    checkout.mark_used();
    let (said, waiting): (Vec<_>, Vec<_>) = waiting
        .into_iter()
        .map(|it| (it.said, (it.holder, it.most, it.rows, it.turn)))
        .unzip();
    let holders = waiting.iter().map(|it| it.0).collect();
    let shared = queue.connections.slow.round(Access::Reading, holders);
    let Ok(answers) = together::run(&checkout, &said).await else {
        return checkout.mark_spent();
    };
    drop(shared);
    let mut failures = answers
        .iter()
        .flatten()
        .filter_map(|answer| answer.as_ref().err());
    match failures.any(|failure| failure.may_be_the_connection) {
        true => checkout.mark_spent(),
        false => checkout.mark_done(),
    }
    drop(checkout);
    let round = begun.elapsed();
    for (answers, (holder, most, asked, _turn)) in answers.into_iter().zip(waiting) {
        queue
            .state()
            .time
            .took(holder, about(most), cost(most, round));
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

    /// A lookup of the team of that number, which finds at most so many rows.
    fn lookup((team, most): (u128, usize)) -> (Waiting, Answer) {
        let holder = Holder::Team(Uuid::from_u128(team));
        let (rows, answer) = oneshot::channel();
        let turns = Turns::new(1, &Arc::default());
        let waiting = Waiting {
            said: Vec::new(),
            most,
            holder,
            rows,
            turn: turns.take(holder).now_or_never().unwrap().unwrap(),
        };
        (waiting, answer)
    }

    type Answer = oneshot::Receiver<Vec<Rows>>;

    /// Which lookups are in the next round.
    fn round(state: &mut State) -> Vec<(u128, usize)> {
        let said = |it: Waiting| match it.holder {
            Holder::Team(team) => (team.as_u128(), it.most),
            _ => (0, it.most),
        };
        state.next().into_iter().map(said).collect()
    }

    #[test]
    fn who_asks_for_many_long_lists_waits_behind_who_asks_for_a_short_one() {
        let asked = [(1, 101), (1, 101), (1, 101), (2, 1)].map(lookup);
        let (waiting, _answers): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
        let mut state = State {
            waiting,
            ..State::default()
        };
        let first = round(&mut state);
        assert_eq!(first, [(1, 101), (2, 1), (1, 101)]);
        assert_eq!(round(&mut state), [(1, 101)]);
    }

    #[test]
    fn who_asks_for_short_lists_is_in_each_round_however_many_teams_ask_for_long_ones() {
        let (mut state, mut answers) = (State::default(), Vec::new());
        let mut ask = |it, state: &mut State| {
            let (asked, answer) = lookup(it);
            state.waiting.push(asked);
            answers.push(answer);
        };
        for team in (1..=10).cycle().take(40) {
            ask((team, 101), &mut state);
        }
        for number in 0..100 {
            // At first, all are equals.
            let asked = if number < 10 { 0 } else { 3 };
            for _ in 0..asked {
                ask((99, 1), &mut state);
            }
            let served = round(&mut state);
            let short = served.iter().filter(|(team, _)| *team == 99);
            assert_eq!(short.count(), asked, "{served:?}");
            for (team, most) in served {
                let holder = Holder::Team(Uuid::from_u128(team));
                state
                    .time
                    .took(holder, about(most), cost(most, Duration::from_millis(20)));
                if team != 99 {
                    ask((team, most), &mut state);
                }
            }
        }
    }

    #[test]
    fn what_finds_more_rows_than_go_together_goes_alone() {
        let asked = [(1, MOST_ROWS + 1), (1, 1)].map(lookup);
        let (waiting, _answers): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
        let mut state = State {
            waiting,
            ..State::default()
        };
        assert_eq!(round(&mut state), [(1, MOST_ROWS + 1)]);
        assert_eq!(round(&mut state), [(1, 1)]);
    }
}
