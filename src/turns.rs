//! Decides who is next: who gets the next connection to PostgreSQL, the next place in what shares one, or makes the next part
//! of a long answer.
//!
//! A script takes a turn before it runs. There are as many turns as the pool may have connections, or as there are places.
//!
//! 1. Each [`Holder`] has a queue of its own. A free turn goes to the queue whose holder has the fewest turns; among equals,
//!    to the one [served least](Served), and then to the one served the longest ago. So waiting a thousand times does not
//!    help, nor does having a thousand accounts. While holders that [stand for many](Holder::is_many) wait, one of them gets
//!    each [fourth](IN_A_ROW) turn at least, however many accounts there are.
//! 2. No holder has more than its [share](Holder::share): all scripts that wait for one row, or for one lock, are of one
//!    holder, and there is a connection for the others.
//! 3. Otherwise no turn stays free while a script waits.
//!
//! 4. A script that would [wait for too long](crate::pace) in its queue is refused at once.
//!
//! How many may wait is also bounded before they come here: by the concurrency limit of the server, of which each holder has
//! its share.

mod served;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::pace::Pace;
use crate::tally::Count;
use served::Served;

/// How many turns in a row are of holders that stand for one, while others wait.
const IN_A_ROW: usize = 3;

/// The turns of a pool, or of what else is shared.
pub(crate) struct Turns(Arc<Queue>);

struct Queue {
    state: Mutex<State>,
    /// Counts those of step 4.
    refused: Arc<Count>,
}

#[derive(Default)]
struct State {
    size: usize,
    /// More than `size` for as long as the turns last that were in hand when there became fewer.
    in_hand: usize,
    /// All holders that have a turn or wait for one.
    lines: HashMap<Holder, Line>,
    /// The holders that wait and may have another turn, in the order of step 1: those that stand for one, and for many.
    next: [BTreeSet<(Rank, Holder)>; 2],
    /// How many turns in a row were of holders that stand for one.
    in_a_row: usize,
    served: Served,
    /// Counts all events, to tell their order.
    events: u64,
}

/// Which of two holders is served first: the lesser.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    in_hand: usize,
    /// How much it was [served](Served).
    mark: u64,
    /// When it was last served, or its line was made.
    since: u64,
}

/// The turns of one holder, and its queue for more.
struct Line {
    rank: Rank,
    /// In order of arrival.
    waiting: BTreeMap<u64, oneshot::Sender<Turn>>,
    pace: Pace,
}

/// The right to use what is taken in turns, until dropped.
pub(crate) struct Turn {
    queue: Arc<Queue>,
    holder: Holder,
}

/// A script's place in the queue, until dropped.
struct Place {
    queue: Arc<Queue>,
    holder: Holder,
    number: u64,
}

impl Turns {
    /// Makes `size` turns.
    pub(crate) fn new(size: usize, refused: &Arc<Count>) -> Turns {
        let state = State {
            size,
            ..State::default()
        };
        Turns(Arc::new(Queue {
            state: Mutex::new(state),
            refused: Arc::clone(refused),
        }))
    }

    /// Makes it `size` turns. Turns that are in hand stay valid.
    pub(crate) fn resize(&self, size: usize) {
        let served: Vec<_> = {
            let mut state = self.0.state();
            state.size = size;
            // Step 2: the shares are others now.
            let State { lines, next, .. } = &mut *state;
            *next = Default::default();
            for (holder, line) in lines
                .iter()
                .filter(|(it, line)| line.is_next(it.share(size)))
            {
                next[usize::from(holder.is_many())].insert((line.rank, *holder));
            }
            std::iter::from_fn(|| state.serve(&self.0)).collect()
        };
        for (waiting, turn) in served {
            // As when a turn is dropped.
            let _ = waiting.send(turn);
        }
    }

    /// How many turns are held, and how many scripts wait for one.
    pub(crate) fn state(&self) -> (usize, usize) {
        let state = self.0.state();
        let waiting = state.lines.values().map(|line| line.waiting.len()).sum();
        (state.in_hand, waiting)
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        self.0.state().size
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when that would take too long.
    pub(crate) async fn take(&self, holder: Holder) -> Result<Turn, Error> {
        let queue = &self.0;
        let (place, turn) = {
            let mut state = queue.state();
            let line = state.lines.get(&holder);
            let in_hand = line.map_or(0, |line| line.rank.in_hand);
            // Step 3: no waiting script may have it.
            if state.in_hand < state.size && in_hand < holder.share(state.size) {
                return Ok(state.hand(queue, holder, true));
            }
            let now = Instant::now().into_std();
            // Step 4.
            if line.is_some_and(|line| !line.pace.admits(line.waiting.len(), now)) {
                queue.refused.one();
                return Err(Error::unavailable("too many wait for their turn"));
            }
            let (sender, turn) = oneshot::channel();
            let number = state.event();
            let mark = state.served.mark(holder);
            state.change(holder, |line| {
                if line.waiting.is_empty() {
                    line.pace = Pace::begin(now);
                    line.rank.mark = mark;
                }
                line.waiting.insert(number, sender)
            });
            let queue = Arc::clone(queue);
            let place = Place {
                queue,
                holder,
                number,
            };
            (place, turn)
        };
        let turn = turn.await;
        drop(place);
        // Cannot fail: only a script that has stopped waiting leaves the queue without a turn.
        turn.map_err(Error::internal)
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a turn back, and hands out the one that is then free.
    fn take_back(self: &Arc<Self>, holder: Holder) -> Option<(oneshot::Sender<Turn>, Turn)> {
        let mut state = self.state();
        state.in_hand -= 1;
        state.change(holder, |line| line.rank.in_hand -= 1);
        state.serve(self)
    }
}

impl State {
    fn event(&mut self) -> u64 {
        self.events += 1;
        self.events
    }

    /// Hands a free turn to the script that is next: step 1.
    fn serve(&mut self, queue: &Arc<Queue>) -> Option<(oneshot::Sender<Turn>, Turn)> {
        if self.in_hand >= self.size {
            return None;
        }
        let (next, is_counted) = self.next()?;
        self.in_a_row = if next.is_many() { 0 } else { self.in_a_row + 1 };
        let (_, waiting) = self.change(next, |line| {
            line.pace.moves(Instant::now().into_std());
            line.waiting.pop_first()
        })?;
        Some((waiting, self.hand(queue, next, is_counted)))
    }

    /// The holder that is next, and whether that counts as its turn. It does not where others would have come first: what
    /// such a holder had would soon be so much that all others were equal, those who ask now and then, too.
    fn next(&self) -> Option<(Holder, bool)> {
        let [one, many] = self.next.each_ref().map(BTreeSet::first);
        Some(match (one, many) {
            (Some(one), Some(many)) if one < many => match self.in_a_row < IN_A_ROW {
                true => (one.1, true),
                false => (self.next_of_many()?, false),
            },
            (one, many) => (many.or(one)?.1, true),
        })
    }

    /// Of those that stand for many, whoever has the fewest turns and was served the longest ago. Marks say nothing here:
    /// what is not counted advances none, so the lowest would have all of these turns.
    fn next_of_many(&self) -> Option<Holder> {
        let [_, many] = &self.next;
        let next = many
            .iter()
            .min_by_key(|(rank, _)| (rank.in_hand, rank.since));
        next.map(|(_, holder)| *holder)
    }

    fn hand(&mut self, queue: &Arc<Queue>, holder: Holder, is_counted: bool) -> Turn {
        self.in_hand += 1;
        let since = self.event();
        let mark = self.lines.get(&holder).map(|line| line.rank.mark);
        let mark = mark.unwrap_or_else(|| self.served.mark(holder));
        let mark = match is_counted {
            true => self.served.count(holder, mark),
            false => mark,
        };
        self.change(holder, |line| {
            let in_hand = line.rank.in_hand + 1;
            line.rank = Rank {
                in_hand,
                mark,
                since,
            };
        });
        Turn {
            queue: Arc::clone(queue),
            holder,
        }
    }

    /// Changes a line, and updates `next`.
    fn change<T>(&mut self, holder: Holder, change: impl FnOnce(&mut Line) -> T) -> T {
        let line = self.lines.entry(holder).or_insert_with(|| Line {
            rank: Rank {
                in_hand: 0,
                mark: self.served.mark(holder),
                since: self.events,
            },
            waiting: BTreeMap::new(),
            pace: Pace::begin(Instant::now().into_std()),
        });
        let next = &mut self.next[usize::from(holder.is_many())];
        next.remove(&(line.rank, holder));
        let changed = change(line);
        if line.is_next(holder.share(self.size)) {
            next.insert((line.rank, holder));
        }
        if line.waiting.is_empty() && line.rank.in_hand == 0 {
            self.lines.remove(&holder);
        }
        changed
    }
}

impl Line {
    /// Whether a script waits in it that may have a turn, given its holder's share.
    fn is_next(&self, share: usize) -> bool {
        !self.waiting.is_empty() && self.rank.in_hand < share
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some((waiting, turn)) = self.queue.take_back(self.holder) {
            // If the receiver has just gone, the turn comes back here, where nothing is locked.
            let _ = waiting.send(turn);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        // A script that was served is no longer in its line, which may be gone.
        if state.lines.contains_key(&self.holder) {
            state.change(self.holder, |line| line.waiting.remove(&self.number));
        }
    }
}

#[cfg(test)]
mod tests;
