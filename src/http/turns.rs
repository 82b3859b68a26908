//! Decides whose list is made next, so that nobody's lists hold up everyone else.
//!
//! A page of long products takes a hundred times the CPU time that one product takes, most of it to compress it. Limits
//! count requests, and a team has as many of these as all its keys: it can ask for more pages than there are cores. tokio
//! runs tasks in the order in which they became ready, so all others would wait behind as many pages as that team has asked
//! for at once. So:
//!
//! 1. A team makes [a few](Turns::on) lists at once, and its next ones wait for these. A task that waits is not ready, so
//!    none stands behind it. Some may wait ([`LINE`]); the rest are told to try again, since each has a permit meanwhile.
//! 2. On SQLite these are for all together, and teams and users who wait for them have the same time each ([`FairTime`]): one
//!    list may take twenty times what another does. On PostgreSQL a list mostly waits for its connection, for which there are
//!    turns already; whoever held one of the few turns of all meanwhile would keep others from making theirs. What users have
//!    of their own, such as the page of their account, or a form that they are shown again, is made in turns apart from those
//!    of teams ([`Turns::of_users`]): a team may have hundreds of users, each a holder like a whole team. On SQLite, who is
//!    likely to wait for the disk has turns as on PostgreSQL, [apart](Apart) from all these, also if that is only found while a
//!    request waits.
//! 3. A request that gets a turn first lets all others that are ready run, for [half of the time](OthersFirst) at most. (A
//!    list made without a pause would be done before the next could wait for it, and of those that wait, each would be made
//!    right behind the one before.)
//! 4. Whether a request has waited, for its turn or anything else, is known until it is answered: the right of its caller may
//!    have ended meanwhile ([`has_waited`]).
//! 5. A turn is kept until the answer is compressed ([`until_answered`]).

use std::cell::Cell;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use foldhash::HashMap;
use tokio::time::{Instant, timeout_at};

use super::rejection::Error;
use crate::admin::Shortage;
use crate::domain::holder::Holder;
use crate::fair_time::FairTime;
use crate::lines::{Lines, Turn};
use crate::pause::OthersFirst;
use crate::ranked::{Crowds, Permit, Ranked, Room};
use crate::settings::Database;

/// How long a request may be served without a second look at who may have the answer.
const AT_ONCE: Duration = Duration::from_millis(50);

/// How long a request waits for its turn.
pub(super) const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// How many list requests of one team may wait. They are made within a fifth of a second, and a key may ask for two hundred
/// at once.
const LINE: usize = 256;

/// As many of each team may wait for the turns of all.
const ROOM: Room = Room {
    of_all: usize::MAX,
    of_each: LINE,
};

/// How many requests of users may wait. A person looks at one page at a time, and each that waits may hold a form of sixty
/// kilobytes.
const ROOM_OF_USERS: Room = Room {
    of_all: 64,
    of_each: 16,
};

/// How long a turn counts as until it is over.
const ABOUT: Duration = Duration::from_millis(1);

tokio::task_local! {
    /// The request that is served by this task.
    static SERVED: Served;
}

struct Served {
    since: Instant,
    turn: Cell<Option<Held>>,
}

/// Runs all the work for a request, and keeps a turn that it takes until the end (step 5).
pub(super) fn until_answered<W: Future>(work: W) -> impl Future<Output = W::Output> {
    let served = Served {
        since: Instant::now(),
        turn: Cell::new(None),
    };
    SERVED.scope(served, work)
}

/// The turn of a request.
#[derive(Debug)]
pub(super) struct Held {
    has_waited: bool,
    _turn: Either<Turn, Timed>,
}

impl Held {
    /// Keeps it [until the request is answered](until_answered).
    fn keep(self) {
        // Without a request there is nothing to keep it for.
        _ = SERVED.try_with(|it| it.turn.set(Some(self)));
    }
}

/// A turn of all, of which it is noted how long it takes.
#[derive(Debug)]
struct Timed {
    _permit: Permit<FairTime<Holder>>,
    of: Arc<Ranked<FairTime<Holder>>>,
    holder: Holder,
    since: Instant,
}

impl Drop for Timed {
    fn drop(&mut self) {
        // Before the permit is dropped, and the next is chosen.
        let took = self.since.elapsed();
        self.of.correct(|time| time.took(self.holder, ABOUT, took));
    }
}

/// Those who wait have the same time each.
impl Crowds for FairTime<Holder> {
    type Crowd = Holder;

    fn handicap(&self, holder: Holder) -> Duration {
        self.start(holder)
    }

    fn serves(&mut self, holder: Holder) {
        self.serve(holder, ABOUT);
    }

    fn crowding(waiting: impl Iterator<Item = (Holder, usize)>) -> impl Fn(Holder) -> Duration {
        let waiting: HashMap<_, _> = waiting.collect();
        move |holder| {
            let its = waiting.get(&holder).copied().unwrap_or(0);
            ABOUT * u32::try_from(its).unwrap_or(u32::MAX)
        }
    }
}

/// Whether the request that is served by this task has waited: for a turn, or for whatever took long. The time counts from
/// before its caller is looked up, as the whole process may stand still after that, too.
pub(super) fn has_waited() -> bool {
    let look = |served: &Served| {
        let held = served.turn.take();
        let waited = held.as_ref().is_some_and(|it| it.has_waited);
        served.turn.set(held);
        waited || served.since.elapsed() > AT_ONCE
    };
    SERVED.try_with(look).unwrap_or(false)
}

/// The turns of all holders.
#[derive(Debug)]
pub(super) struct Turns {
    turns: Either<Lines<Holder>, Arc<Ranked<FairTime<Holder>>>>,
    /// When whoever waits for the turns of all came, as far as their order goes: only virtual time counts.
    began: Instant,
    others_first: OthersFirst,
}

/// What is for each holder, or for all together.
#[derive(Debug)]
enum Either<E, A> {
    Each(E),
    All(A),
}

impl Turns {
    /// On SQLite, which is read by the core that makes the list, returns one turn for each core except one, for all together. On
    /// PostgreSQL two for each core and holder, since these mostly wait.
    fn on(database: &Database) -> Turns {
        match database {
            Database::Sqlite(_) => Turns::leaving_a_core(),
            Database::Postgres(_) => Turns::of_waiting(),
        }
    }

    /// For what mostly waits: two for each core and holder.
    fn of_waiting() -> Turns {
        Turns::of_each(2 * cores())
    }

    /// One turn for each core except one, for all together.
    pub(super) fn leaving_a_core() -> Turns {
        Turns::of_all(all_but_one(), ROOM)
    }

    /// For what users have of their own: one turn for each core except one, for all together; on PostgreSQL eight for each
    /// core.
    fn of_users(database: &Database) -> Turns {
        match database {
            Database::Sqlite(_) => Turns::of_all(all_but_one(), ROOM_OF_USERS),
            Database::Postgres(_) => Turns::of_waiting_users(),
        }
    }

    /// The same for what mostly waits: eight for each core.
    fn of_waiting_users() -> Turns {
        Turns::of_all(8 * cores(), ROOM_OF_USERS)
    }

    /// So many for each holder, with [`LINE`] more that wait.
    fn of_each(at_once: usize) -> Turns {
        Turns::new(Either::Each(Lines::new(at_once, LINE)))
    }

    fn of_all(at_once: usize, room: Room) -> Turns {
        let time = FairTime::default();
        Turns::new(Either::All(Arc::new(Ranked::new(at_once, room, time))))
    }

    fn new(turns: Either<Lines<Holder>, Arc<Ranked<FairTime<Holder>>>>) -> Turns {
        Turns {
            turns,
            began: Instant::now(),
            others_first: OthersFirst::default(),
        }
    }

    /// Waits for the next turn of `holder`, which lasts until it is dropped.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when too many requests wait for one, or it takes too long.
    pub(super) async fn take(&self, holder: Holder) -> Result<Held, Error> {
        self.take_until(holder, Instant::now() + QUEUE_TIMEOUT)
            .await
    }

    async fn take_until(&self, holder: Holder, deadline: Instant) -> Result<Held, Error> {
        let none = || Error::Overloaded(Shortage::Turns);
        match &self.turns {
            Either::Each(lines) => {
                let turn = timeout_at(deadline, lines.turn(holder)).await;
                let turn = turn.ok().flatten().ok_or_else(none)?;
                self.others_first.pause().await; // step 3
                Ok(Held {
                    has_waited: turn.has_waited,
                    _turn: Either::Each(turn),
                })
            }
            Either::All(all) => {
                let permit = all.acquire_from(holder, holder, self.began, deadline);
                let permit = permit.await.map_err(|_| none())?;
                self.others_first.pause().await; // step 3
                Ok(Held {
                    has_waited: permit.has_waited,
                    _turn: Either::All(Timed {
                        _permit: permit,
                        of: Arc::clone(all),
                        holder,
                        since: Instant::now(),
                    }),
                })
            }
        }
    }
}

/// Turns in which those who are likely to wait for the disk have theirs apart (step 2).
pub(super) struct Apart {
    waiting: Turns,
    others: Turns,
}

impl Apart {
    /// For lists of teams.
    pub(super) fn on(database: &Database) -> Apart {
        Apart {
            waiting: Turns::of_waiting(),
            others: Turns::on(database),
        }
    }

    /// For what users have of their own.
    pub(super) fn of_users(database: &Database) -> Apart {
        Apart {
            waiting: Turns::of_waiting_users(),
            others: Turns::of_users(database),
        }
    }

    /// Waits for the next turn of `holder`, which lasts [until the request is answered](until_answered). `waits` tells whether
    /// it is likely to wait for the disk.
    ///
    /// # Errors
    /// As for [`Turns::take`].
    pub(super) async fn next(&self, holder: Holder, waits: impl Fn() -> bool) -> Result<(), Error> {
        let deadline = Instant::now() + QUEUE_TIMEOUT;
        let mut has_waited = false;
        if !waits() {
            let turn = self.others.take_until(holder, deadline).await?;
            // It may have been found out meanwhile.
            if !waits() {
                turn.keep();
                return Ok(());
            }
            has_waited = turn.has_waited;
        }
        let mut turn = self.waiting.take_until(holder, deadline).await?;
        turn.has_waited |= has_waited;
        turn.keep();
        Ok(())
    }
}

fn all_but_one() -> usize {
    (cores() - 1).max(1)
}

pub(super) fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures::FutureExt;
    use tokio::sync::Semaphore;
    use tokio::task::yield_now;
    use tokio::time::advance;
    use uuid::Uuid;

    use super::*;

    impl Turns {
        /// Waits for the next turn of `holder`, which lasts until the request is answered.
        async fn next(&self, holder: Holder) -> Result<(), Error> {
            self.take(holder).await?.keep();
            Ok(())
        }
    }

    fn turns(at_once: usize) -> Arc<Turns> {
        Arc::new(Turns::of_each(at_once))
    }

    fn team(number: u128) -> Holder {
        Holder::Team(Uuid::from_u128(number))
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_found_to_wait_for_the_disk_leaves_the_turns_of_the_others() {
        let apart = Apart {
            waiting: Turns::of_each(8),
            others: Turns::of_all(1, ROOM),
        };
        let found = Cell::new(false);
        let first = apart.others.take(team(1)).await.unwrap();
        // Each holds its turn for as long as its answer takes.
        let request = || async {
            apart.next(team(1), || found.get()).await.unwrap();
            pending::<()>().await;
        };
        let mut more: Vec<_> = (0..3)
            .map(|_| Box::pin(until_answered(request())))
            .collect();
        for it in &mut more {
            assert!(it.now_or_never().is_none(), "there is one turn");
        }
        found.set(true);
        drop(first);
        for _ in 0..10 {
            for it in &mut more {
                assert!(it.now_or_never().is_none());
            }
        }
        let other = apart.next(team(2), || false);
        tokio::time::timeout(Duration::from_secs(1), other)
            .await
            .expect("the turn is free")
            .unwrap();
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

    /// How many of these are told that too many wait; they are removed. One that has to leave for
    /// another finds that out the next time it is asked.
    fn refused(waiting: &mut Vec<impl Future<Output = Result<(), Error>> + Unpin>) -> usize {
        let before = waiting.len();
        for _ in 0..2 {
            waiting.retain_mut(|it| it.now_or_never().is_none());
        }
        before - waiting.len()
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

    #[tokio::test(start_paused = true)]
    async fn of_those_who_wait_for_the_turns_of_all_whoever_had_less_time_goes_first() {
        let turns = Arc::new(Turns::of_all(1, ROOM));
        let take = |number| Box::pin(turns.take(team(number)));
        for (number, time) in [(1, 20), (2, 50), (3, 0)] {
            let held = take(number).await.unwrap();
            advance(Duration::from_millis(time)).await;
            drop(held);
        }
        let now = take(9).await.unwrap();
        let [mut of_most, mut of_much, mut of_little] = [take(2), take(1), take(3)];
        for one in [&mut of_most, &mut of_much, &mut of_little] {
            assert!(one.now_or_never().is_none());
        }
        drop(now);
        let little = of_little.await.unwrap();
        assert!((&mut of_most).now_or_never().is_none());
        drop(little);
        let much = of_much.await.unwrap();
        assert!((&mut of_most).now_or_never().is_none());
        drop(much);
        of_most.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_used_the_turns_all_the_time_has_every_other_beside_one_who_comes_anew() {
        let turns = Arc::new(Turns::of_all(1, ROOM));
        let take = |number| Box::pin(turns.take(team(number)));
        for _ in 0..100 {
            let held = take(1).await.unwrap();
            advance(Duration::from_millis(20)).await;
            drop(held);
        }
        let mut now = take(1).await.unwrap();
        let mut waiting = [take(1), take(2)];
        let mut turns_of_new = 0;
        for _ in 0..10 {
            for one in &mut waiting {
                assert!(one.now_or_never().is_none());
            }
            advance(Duration::from_millis(20)).await;
            drop(now);
            let (held, which, _) = futures::future::select_all(&mut waiting).await;
            now = held.unwrap();
            waiting[which] = take(which as u128 + 1);
            turns_of_new += which;
        }
        assert!((5..=6).contains(&turns_of_new), "{turns_of_new}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_requests_of_each_user_wait_and_of_all_those_who_had_fewer() {
        let turns = Arc::new(Turns::of_all(1, ROOM_OF_USERS));
        let never = Arc::new(Semaphore::new(0));
        let user = |number| Holder::User(Uuid::from_u128(number));
        let one = tokio::spawn(request(&turns, user(0), &never));
        yield_now().await;
        yield_now().await;
        let next = |number| Box::pin(turns.next(user(number)));
        let mut of_one: Vec<_> = (0..17).map(|_| next(1)).collect();
        assert_eq!(refused(&mut of_one), 1);
        let mut of_others: Vec<_> = (2..65).map(next).collect();
        assert_eq!((refused(&mut of_others), refused(&mut of_one)), (0, 15));
        drop((one, of_one, of_others));
    }

    #[tokio::test]
    async fn whoever_has_a_turn_lets_others_go_first() {
        let turns = turns(1);
        assert!(Box::pin(turns.next(team(1))).now_or_never().is_none());
    }
}
