//! Rows that are looked up together.
//!
//! Most of what it costs to look up a row is not the row, but its statement and its round trip. So what is looked up while
//! other lookups are under way is asked for at once, through one connection:
//!
//! 1. Who looks up a row takes a seat, of which a holder has no more than its share, and waits.
//! 2. There are a few lanes. One that is free takes a connection, and then all who wait by then, at most [`LARGEST`], in
//!    the order in which they came. So who is alone waits for nobody.
//! 3. Those who look in the same place, which is the same statement with the same values but the key, are one statement,
//!    which has the list of their keys. All statements go out at once.
//! 4. Each gets its row. Whose statement has failed looks it up alone, and is told why.

use std::collections::{HashMap, VecDeque};
use std::iter::zip;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_postgres::Row;

use super::checkout::DEADLINE;
use super::connections::Connections;
use super::handle::{Handle, Rows, Sent};
use super::turns::{Turn, Turns};
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::sql::ScriptError;
use crate::sql::encoded::{Encoded, RawColumn};
use crate::sql::value::Value;

/// The most lookups of a lane at a time.
const LARGEST: usize = 64;

/// Lanes: while the database answers one, the other gathers.
const LANES: usize = 2;

/// A query for at most one row.
#[derive(Clone, Copy)]
pub(crate) struct Query<'a> {
    /// The statement for one key, which is its last value.
    pub(crate) one: &'static str,
    /// The statement for a list of keys. Its rows have a column more, the last: the key.
    pub(crate) many: &'static str,
    /// Its values.
    pub(crate) values: &'a [Value<'a>],
}

/// The lookups of a store.
pub(super) struct Lookups(Arc<Queue>);

struct Queue {
    connections: Arc<Connections>,
    seats: Turns,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Lanes that are at work.
    lanes: usize,
}

/// A lookup that waits.
struct Waiting {
    place: Place,
    seeker: Seeker,
}

/// Who gets the row of a key.
struct Seeker {
    key: Encoded,
    answer: oneshot::Sender<Option<Arc<Row>>>,
    _turn: Turn,
}

/// Where a row is looked for.
#[derive(PartialEq, Eq)]
struct Place {
    many: &'static str,
    one: &'static str,
    values: Vec<Encoded>,
}

/// A lane that is at work. Dropped, it is not.
struct Lane {
    queue: Arc<Queue>,
    is_at_work: bool,
}

impl Lookups {
    pub(super) fn new(connections: &Arc<Connections>) -> Lookups {
        Lookups(Arc::new(Queue {
            connections: Arc::clone(connections),
            // As many wait as are under way.
            seats: Turns::new(2 * LARGEST * LANES, &connections.counts),
            state: Mutex::default(),
        }))
    }

    /// Lookups that wait for a lane.
    pub(super) fn waiting(&self) -> usize {
        let (_, waiting) = self.0.seats.state();
        waiting + self.0.state().waiting.len()
    }

    /// The row that a query is for.
    ///
    /// # Errors
    /// [`ScriptError::Retry`] when the lookup failed; [`ScriptError::Final`] when it would have to be waited for too long.
    pub(super) async fn look_up(
        &self,
        holder: Holder,
        query: Query<'_>,
    ) -> Result<Option<Arc<Row>>, ScriptError> {
        let values = query.values.iter().map(Encoded::of);
        let mut values = values.collect::<Result<Vec<_>, _>>()?;
        let none = || Error::internal("a lookup has no key");
        let key = values.pop().ok_or_else(none)?;
        let _turn = self.0.seats.take(holder).await?;
        let (answer, row) = oneshot::channel();
        let Query { one, many, .. } = query;
        let waiting = Waiting {
            place: Place { many, one, values },
            seeker: Seeker { key, answer, _turn },
        };
        Queue::push(&self.0, waiting);
        let failed = |_| ScriptError::Retry("what it was looked up with has failed".into());
        row.await.map_err(failed)
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has somebody wait, and a lane start if there is one.
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
    /// Steps 2 to 4, while somebody waits.
    async fn work(mut self) {
        let queue = Arc::clone(&self.queue);
        while self.goes_on() {
            // Who has no connection looks it up alone.
            let checkout = queue.connections.checkout(Holder::Service).await.ok();
            let waiting = next(&mut queue.state().waiting);
            if let Some(checkout) = checkout
                && !waiting.is_empty()
            {
                // Later, none of them has time left.
                let _ = timeout(DEADLINE, answer(Handle::new(checkout, None), waiting)).await;
            }
        }
    }

    /// Whether somebody waits. Where nobody does, the lane is not at work from that moment on.
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

/// Takes out those who are looked up together.
fn next(waiting: &mut VecDeque<Waiting>) -> Vec<Waiting> {
    let count = waiting.len().min(LARGEST);
    let next = waiting.drain(..count);
    next.filter(|it| !it.seeker.answer.is_closed()).collect()
}

/// Those who look in one place.
struct Party {
    place: Place,
    seekers: Vec<Seeker>,
}

/// Steps 3 and 4.
async fn answer(handle: Handle, waiting: Vec<Waiting>) {
    let parties = parties(waiting);
    let keys: Vec<Vec<_>> = parties.iter().map(Party::keys).collect();
    let values: Vec<Vec<_>> = zip(&parties, &keys)
        .map(|(party, keys)| party.values(keys))
        .collect();
    let sent: Vec<Sent<'_>> = zip(&parties, &values)
        .map(|(party, values)| (party.statement(), &values[..]))
        .collect();
    let answers = handle.run(&sent).await;
    let told = answers.and_then(|answers| {
        let tell = |(party, rows): (Party, Result<Rows, _>)| party.tell(rows?.0);
        let told: Vec<_> = zip(parties, answers).map(tell).collect();
        told.into_iter().collect()
    });
    // Who was not told looks alone, and is told why.
    let _: Result<(), ScriptError> = handle.end(told).await;
}

/// Step 3.
fn parties(waiting: Vec<Waiting>) -> Vec<Party> {
    let mut parties: Vec<Party> = Vec::new();
    for Waiting { place, seeker } in waiting {
        match parties.iter_mut().find(|party| party.place == place) {
            Some(party) => party.seekers.push(seeker),
            None => parties.push(Party {
                place,
                seekers: vec![seeker],
            }),
        }
    }
    parties
}

impl Party {
    fn keys(&self) -> Vec<Value<'_>> {
        let keys = self.seekers.iter().map(|it| Value::Encoded(&it.key));
        keys.collect()
    }

    fn statement(&self) -> &'static str {
        match self.seekers.len() {
            1 => self.place.one,
            _ => self.place.many,
        }
    }

    fn values<'a>(&'a self, keys: &'a [Value<'a>]) -> Vec<Value<'a>> {
        let key = match keys {
            [key] => *key,
            _ => Value::List(keys),
        };
        let place = self.place.values.iter().map(Value::Encoded);
        place.chain([key]).collect()
    }

    /// Step 4.
    fn tell(self, rows: Vec<Row>) -> Result<(), ScriptError> {
        let rows: Vec<_> = rows.into_iter().map(Arc::new).collect();
        let is_alone = self.seekers.len() == 1;
        let by_key = match is_alone {
            true => HashMap::new(),
            false => by_key(&rows)?,
        };
        for Seeker { key, answer, .. } in self.seekers {
            let row = match is_alone {
                true => rows.first(),
                false => by_key.get(&key.bytes()).copied(),
            };
            // Who has stopped waiting needs no row.
            let _ = answer.send(row.cloned());
        }
        Ok(())
    }
}

/// The rows of a list of keys.
fn by_key(rows: &[Arc<Row>]) -> Result<HashMap<Option<&[u8]>, &Arc<Row>>, tokio_postgres::Error> {
    let keyed = rows.iter().map(|row| {
        let RawColumn(key) = row.try_get(row.len() - 1)?;
        Ok((key, row))
    });
    keyed.collect()
}
