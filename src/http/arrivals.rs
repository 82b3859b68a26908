//! Decides whose request is worked on next when many arrive at once, so that nobody's bursts hold up everyone else.
//!
//! The limits of all keys of a team allow a thousand requests at once, and several teams as many each. tokio runs tasks in the
//! order in which they became ready, so whatever others send would wait until all of these are answered. So:
//!
//! 1. While many tasks [are ready](MANY), or requests wait already, a request whose caller is known waits for its turn before
//!    it is worked on, unless that caller sends [little](LITTLE). A task that waits is not ready, so none stands behind it.
//! 2. Callers take turns in equal numbers ([`FairTime`]), as many at once as there are cores.
//! 3. A turn lets all others that are ready run first, for [half of the time](OthersFirst) at most, and ends as soon as the
//!    work begins: what that waits for, such as a commit, has bounds of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::turns::{QUEUE_TIMEOUT, cores};
use crate::admin::Shortage;
use crate::domain::holder::Holder;
use crate::fair_time::FairTime;
use crate::limit::{Limiter, Policy};
use crate::pause::OthersFirst;
use crate::ranked::{Ranked, Room};

/// So many tasks are ready at once when requests arrive faster than they are answered: some milliseconds of work. A core keeps
/// up to 256 that are not counted.
const MANY: usize = 64;

/// What each team or user may send without waiting: more than most do. A turn takes until all that is ready has run, which may
/// be strangers' requests.
const LITTLE: Policy = Policy {
    per_second: 200,
    burst: 5,
};

/// How many wait is bounded by the memory that they are charged for.
const ROOM: Room = Room {
    of_all: usize::MAX,
    of_each: usize::MAX,
};

/// The turns in which requests begin while many arrive.
#[derive(Debug)]
pub(super) struct Arrivals {
    runtime: Handle,
    little: Limiter<Holder>,
    turns: Arc<Ranked<FairTime<Holder>>>,
    waiting: AtomicUsize,
    /// When all who wait came, as far as their order goes: only their numbers count.
    began: Instant,
    others_first: OthersFirst,
}

/// A request that waits, until dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Arrivals {
    /// For the tasks of this runtime.
    pub(super) fn new(runtime: Handle) -> Arrivals {
        Arrivals {
            runtime,
            little: Limiter::new(LITTLE),
            turns: Arc::new(Ranked::new(cores(), ROOM, FairTime::default())),
            waiting: AtomicUsize::new(0),
            began: Instant::now(),
            others_first: OthersFirst::default(),
        }
    }

    /// Step 1: whether a request of `holder` has to wait for its turn. Strangers do not: they are limited by address, and what
    /// they are shown takes no longer than to have them wait.
    pub(super) fn has_to_wait(&self, holder: Holder) -> bool {
        let is_waited_for = self.waiting.load(Ordering::Relaxed) > 0;
        let are_many = is_waited_for || self.runtime.metrics().global_queue_depth() >= MANY;
        let is_little = || {
            self.little
                .take(holder, std::time::Instant::now())
                .allowed()
        };
        are_many && holder.is_known() && !is_little()
    }

    /// Steps 2 and 3.
    ///
    /// # Errors
    /// [`Shortage::Turns`] when it takes too long.
    pub(super) async fn turn(&self, holder: Holder) -> Result<(), Shortage> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        let deadline = Instant::now() + QUEUE_TIMEOUT;
        let turn = self
            .turns
            .acquire_from(holder, holder, self.began, deadline);
        let _turn = turn.await.map_err(|_| Shortage::Turns)?;
        self.others_first.pause().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc;

    use tokio::runtime::{Builder, Runtime};
    use uuid::Uuid;

    use super::*;

    fn team(number: u128) -> Holder {
        Holder::Team(Uuid::from_u128(number))
    }

    fn runtime() -> Runtime {
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(1).enable_all().build().unwrap()
    }

    #[test]
    fn while_many_tasks_are_ready_known_callers_wait_for_a_turn() {
        let runtime = runtime();
        let arrivals = Arrivals::new(runtime.handle().clone());
        assert!((0..100).all(|_| !arrivals.has_to_wait(team(1))));
        let (go_on, waits) = mpsc::channel::<()>();
        let (is_busy, busy) = mpsc::channel();
        let keeps_busy = runtime.spawn(async move {
            is_busy.send(()).unwrap();
            _ = waits.recv();
        });
        busy.recv().unwrap();
        let ready: Vec<_> = (0..MANY).map(|_| runtime.spawn(async {})).collect();
        let waits = |holder| (0..100).filter(|_| arrivals.has_to_wait(holder)).count();
        assert!((50..=95).contains(&waits(team(1))));
        assert_eq!(waits(Holder::Strangers), 0);
        go_on.send(()).unwrap();
        runtime.block_on(async {
            keeps_busy.await.unwrap();
            for task in ready {
                task.await.unwrap();
            }
        });
        assert!((0..100).all(|_| !arrivals.has_to_wait(team(1))));
    }

    #[test]
    fn callers_take_turns_in_equal_numbers_whatever_they_had_and_nobody_passes_those_who_wait() {
        let runtime = runtime();
        let arrivals = Arc::new(Arrivals::new(runtime.handle().clone()));
        let begun = Arc::new(Mutex::new(Vec::new()));
        let begins = |number: u128| {
            let (arrivals, begun) = (Arc::clone(&arrivals), Arc::clone(&begun));
            runtime.spawn(async move {
                arrivals.turn(team(number)).await.unwrap();
                begun.lock().unwrap().push(number);
            })
        };
        runtime.block_on(async {
            for _ in 0..1_000 {
                begins(2).await.unwrap();
            }
            begun.lock().unwrap().clear();
            let mut held = Vec::new();
            for _ in 0..cores() {
                let (own, came) = (Holder::Strangers, arrivals.began);
                let turn = arrivals.turns.acquire_from(own, own, came, came);
                held.push(turn.await.unwrap());
            }
            let callers = std::iter::repeat_n(1, 100).chain([2; 20]);
            let callers: Vec<_> = callers.map(begins).collect();
            while arrivals.waiting.load(Ordering::Relaxed) < callers.len() {
                tokio::task::yield_now().await;
            }
            assert!((0..100).any(|_| arrivals.has_to_wait(team(3))));
            drop(held);
            for caller in callers {
                caller.await.unwrap();
            }
        });
        assert!((0..100).all(|_| !arrivals.has_to_wait(team(3))));
        let begun = begun.lock().unwrap();
        let last = begun.iter().rposition(|it| *it == 2).unwrap();
        // The second team had every other turn, but for what the first may have in advance.
        assert!(last < 60, "{begun:?}");
    }
}
