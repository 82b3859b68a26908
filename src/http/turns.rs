//! Decides whose list is made next, so that one team's lists do not hold up everyone else.
//!
//! A page of long products takes a hundred times the CPU time that one product takes, most of it to compress it. Limits
//! count requests, and a team has as many of these as all its keys: it can ask for more pages than there are cores. tokio
//! runs tasks in the order in which they became ready, so all others would wait behind as many pages as that team has asked
//! for at once. So:
//!
//! 1. A team makes [a few](Turns::on) lists at once, and its next ones wait for these. A task that waits is not ready, so
//!    none stands behind it. Some may wait ([`LINE`]); the rest are told to try again, since each has a permit meanwhile.
//! 2. A request that gets a turn first lets all others that are ready run. (A list made without a pause would be done before
//!    the next could wait for it.)
//! 3. A request that has waited checks again that its caller may have the list: the right may have ended meanwhile.
//! 4. A turn is kept until the answer is compressed ([`until_answered`]).

use std::cell::Cell;
use std::thread::available_parallelism;

use tokio::task::yield_now;

use super::rejection::Error;
use crate::admin::Shortage;
use crate::domain::holder::Holder;
use crate::lines::{Lines, Turn};
use crate::settings::Database;

/// How many list requests of one team may wait. They are made within a fifth of a second, and a key may ask for two hundred
/// at once.
const LINE: usize = 256;

tokio::task_local! {
    /// The turn of the request that is served by this task.
    static TURN: Cell<Option<Turn>>;
}

/// Runs all the work for a request, and keeps a turn that it takes until the end (step 4).
pub(super) fn until_answered<W: Future>(work: W) -> impl Future<Output = W::Output> {
    TURN.scope(Cell::new(None), work)
}

/// The turns of all holders, and how many each may have at once.
#[derive(Debug)]
pub(super) struct Turns(Lines<Holder>);

impl Turns {
    /// On SQLite, which is read by the core that makes the list, returns one turn for each core except one, which is left to
    /// all others. On PostgreSQL two for each, since these mostly wait.
    pub(super) fn on(database: &Database) -> Turns {
        let cores = available_parallelism().map_or(1, usize::from);
        let at_once = match database {
            Database::Sqlite(_) => (cores - 1).max(1),
            Database::Postgres(_) => 2 * cores,
        };
        Turns(Lines::new(at_once, LINE))
    }

    /// Waits for the next turn of `holder`, which lasts [until the request is answered](until_answered). Returns whether
    /// others were before it.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when too many requests wait for one.
    pub(super) async fn next(&self, holder: Holder) -> Result<bool, Error> {
        let turn = self.0.turn(holder).await;
        let turn = turn.ok_or(Error::Overloaded(Shortage::Turns))?;
        let has_waited = turn.has_waited;
        // Without a request there is nothing to keep it for.
        _ = TURN.try_with(|it| it.set(Some(turn)));
        yield_now().await; // step 2
        Ok(has_waited)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;
    use tokio::sync::Semaphore;
    use uuid::Uuid;

    use super::*;

    fn turns(at_once: usize) -> Arc<Turns> {
        Arc::new(Turns(Lines::new(at_once, LINE)))
    }

    fn team(number: u128) -> Holder {
        Holder::Team(Uuid::from_u128(number))
    }

    /// A request that has a turn until it is told that it is answered.
    fn request(
        turns: &Arc<Turns>,
        holder: Holder,
        answered: &Arc<Semaphore>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (turns, answered) = (Arc::clone(turns), Arc::clone(answered));
        until_answered(async move {
            turns.next(holder).await.unwrap();
            drop(answered.acquire().await);
        })
    }

    #[tokio::test]
    async fn a_team_has_so_many_turns_until_they_are_answered_and_others_have_theirs() {
        let turns = turns(2);
        let never = Arc::new(Semaphore::new(0));
        let begun = [(); 2].map(|()| tokio::spawn(request(&turns, team(1), &never)));
        // They take their turns before this goes on.
        yield_now().await;
        let next = || Box::pin(turns.next(team(1)));
        let mut late = next();
        assert!((&mut late).now_or_never().is_none());
        turns.next(team(2)).await.unwrap();
        begun[0].abort();
        late.await.unwrap();
        let mut line: Vec<_> = (0..LINE).map(|_| next()).collect();
        let one = tokio::spawn(request(&turns, team(1), &never));
        yield_now().await;
        for waiting in &mut line {
            assert!(waiting.now_or_never().is_none());
        }
        let told = next().await;
        assert!(matches!(told, Err(Error::Overloaded(Shortage::Turns))));
        drop((line, one));
    }

    #[tokio::test]
    async fn whoever_has_a_turn_lets_others_go_first() {
        let turns = turns(1);
        assert!(Box::pin(turns.next(team(1))).now_or_never().is_none());
    }
}
