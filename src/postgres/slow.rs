//! Whose statements take long, such as those that read what is not in memory.
//!
//! Most statements are made together with those of others ([lookups](super::lookups), [groups](super::groups)), which all wait
//! for the longest, and a backend reads one page after another: sixty products that are on a slow disk take a second.
//!
//! 1. A round that took [long](LONG) has kept waiting all who shared it, most likely for the holder of more than half of its
//!    statements. This one goes alone from then on, if the server [is known](super::disk_watch) to wait for its disk; otherwise
//!    that is found out. If no holder has so many, none goes alone: on a busy server, there would only be more to do.
//! 2. Alone, each is measured. Whoever is quick shares rounds again at once, but only the first time within [`REMEMBERED`]:
//!    otherwise anybody could be quick once, and then keep others waiting again.
//! 3. Whoever is slow alone takes [turns](super::slots) with the others that are, until it was quick [often](IN_A_ROW).
//! 4. A server may be far away: what its round trips take is [allowed](Quickest) for.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::handle::Access;
use super::quickest::Quickest;
use crate::domain::holder::Holder;

/// A round that takes longer keeps others waiting: longer than a group waits for a lock (`transaction.rs`), also on a busy
/// machine.
const LONG: Duration = Duration::from_millis(80);

/// How much longer each holder's part of it may take: more than it does where nothing is read from a disk.
const OF_EACH: Duration = Duration::from_millis(1);

/// For how long it counts that a holder was slow, or shared a round that was.
const REMEMBERED: Duration = Duration::from_secs(30);

/// How often in a row a holder has to be quick alone.
const IN_A_ROW: u32 = 16;

/// How many holders are remembered at most. Beyond that, the others count as new.
const HOLDERS: usize = 10_000;

/// Whose statements take long.
#[derive(Debug, Default)]
pub(super) struct Slow {
    state: Mutex<State>,
    in_doubt: Notify,
}

#[derive(Debug, Default)]
struct State {
    reading: Kind,
    changing: Kind,
    /// Until when the server is taken to wait for its disk.
    disk_is_slow: Option<Instant>,
}

/// Statements of one kind: whoever reads what is on the disk may change what is in memory.
#[derive(Debug, Default)]
struct Kind {
    holders: HashMap<Holder, Suspect>,
    quickest: Quickest,
}

/// A holder that goes alone.
#[derive(Debug)]
struct Suspect {
    until: Instant,
    /// How many rounds that it shared took long.
    rounds: u32,
    /// Whether it was slow alone.
    is_slow: bool,
    /// How often in a row it was quick alone since then.
    quick: u32,
}

/// A round of several holders, until dropped.
pub(super) struct Round<'a> {
    slow: &'a Slow,
    of: Access,
    holders: Vec<Holder>,
    begun: Instant,
}

impl Round<'_> {
    /// A statement has failed, perhaps since it has waited for a lock: how long it took says nothing.
    pub(super) fn has_failed(&mut self) {
        self.holders.clear();
    }
}

impl Drop for Round<'_> {
    /// Also where the round was given up.
    fn drop(&mut self) {
        let (now, holders) = (Instant::now(), std::mem::take(&mut self.holders));
        self.slow.shared(self.of, holders, self.begun, now);
    }
}

impl Slow {
    /// Begins a round of these holders.
    pub(super) fn round(&self, of: Access, holders: Vec<Holder>) -> Round<'_> {
        Round {
            slow: self,
            of,
            holders,
            begun: Instant::now(),
        }
    }

    /// Whether `holder` goes alone: steps 1 and 2.
    pub(super) fn goes_alone(&self, of: Access, holder: Holder) -> bool {
        let found = |it: &Suspect| it.goes_alone(Instant::now());
        self.state()
            .kind(of)
            .holders
            .get(&holder)
            .is_some_and(found)
    }

    /// Whether `holder` takes turns with others that are slow: step 3.
    pub(super) fn is_slow(&self, of: Access, holder: Holder) -> bool {
        let found = |it: &Suspect| it.is_slow && it.goes_alone(Instant::now());
        self.state()
            .kind(of)
            .holders
            .get(&holder)
            .is_some_and(found)
    }

    /// Step 1: notes how long a round took that these holders shared.
    fn shared(&self, of: Access, holders: Vec<Holder>, begun: Instant, now: Instant) {
        let mut state = self.state();
        let parts = u32::try_from(holders.len()).unwrap_or(u32::MAX);
        if !state.took_long(of, parts, now - begun, now) {
            return;
        }
        if state.disk_is_slow.is_none_or(|until| until <= now) {
            self.in_doubt.notify_one();
            return;
        }
        let kind = state.kind(of);
        let Some(holder) = of_most(&holders) else {
            return;
        };
        kind.make_room(now);
        let suspect = kind.holders.entry(holder).or_insert(Suspect {
            until: now,
            rounds: 0,
            is_slow: false,
            quick: 0,
        });
        if suspect.until <= now {
            (suspect.rounds, suspect.is_slow) = (0, false);
        }
        suspect.rounds += 1;
        suspect.until = now + REMEMBERED;
        suspect.quick = 0;
    }

    /// Steps 2 and 3: notes how long `holder` took alone, if it goes alone.
    pub(super) fn alone(&self, of: Access, holder: Holder, begun: Instant) {
        let now = Instant::now();
        let mut state = self.state();
        let is_slow = state.took_long(of, 1, now - begun, now);
        let Some(suspect) = state.kind(of).holders.get_mut(&holder) else {
            return;
        };
        match is_slow {
            true => {
                suspect.until = now + REMEMBERED;
                (suspect.is_slow, suspect.quick) = (true, 0);
            }
            false => {
                suspect.quick += 1;
                suspect.is_slow &= suspect.quick < IN_A_ROW;
            }
        }
    }

    /// Waits until a round took long, and it is not known whether the server waits for its disk.
    pub(super) async fn is_in_doubt(&self) {
        self.in_doubt.notified().await;
    }

    /// Notes that the server waits for its disk.
    pub(super) fn disk_is_slow(&self) {
        self.state().disk_is_slow = Some(Instant::now() + REMEMBERED);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn kind(&mut self, of: Access) -> &mut Kind {
        match of {
            Access::Reading => &mut self.reading,
            Access::Changing => &mut self.changing,
        }
    }

    /// Whether what has so many parts, and has ended at `now`, took long.
    fn took_long(&mut self, of: Access, parts: u32, took: Duration, now: Instant) -> bool {
        let allowed = self.kind(of).quickest.allowed(took, true, now);
        took >= LONG + OF_EACH.saturating_mul(parts) + allowed
    }
}

impl Kind {
    fn make_room(&mut self, now: Instant) {
        if self.holders.len() >= HOLDERS {
            self.holders.retain(|_, it| it.until > now);
        }
        if self.holders.len() >= HOLDERS {
            self.holders.clear();
        }
    }
}

/// The holder of more than half of a round that others share, if it is one that may go alone.
fn of_most(holders: &[Holder]) -> Option<Holder> {
    let mut parts = HashMap::<Holder, usize>::new();
    for holder in holders {
        *parts.entry(*holder).or_default() += 1;
    }
    let (holder, most) = parts.into_iter().max_by_key(|it| it.1)?;
    let is_one = matches!(holder, Holder::Team(_) | Holder::User(_));
    (is_one && most < holders.len() && 2 * most > holders.len()).then_some(holder)
}

impl Suspect {
    fn goes_alone(&self, now: Instant) -> bool {
        let is_cleared = self.rounds < 2 && !self.is_slow && self.quick > 0;
        now < self.until && !is_cleared
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use uuid::Uuid;

    use super::*;

    const READING: Access = Access::Reading;
    const QUICK: Duration = Duration::from_millis(1);

    fn team(number: u128) -> Holder {
        Holder::Team(Uuid::from_u128(number))
    }

    /// A server that has just answered in a millisecond.
    struct Server(Slow);

    impl Server {
        fn new() -> Server {
            let (slow, now) = (Slow::default(), Instant::now());
            slow.shared(READING, Vec::new(), now, now + QUICK);
            Server(slow)
        }

        /// One that waits for its disk.
        fn waiting() -> Server {
            let server = Server::new();
            server.0.disk_is_slow();
            server
        }

        async fn round<const N: usize>(&self, teams: [u128; N], takes: Duration) {
            let _round = self.0.round(READING, teams.map(team).to_vec());
            tokio::time::advance(takes).await;
        }

        async fn alone(&self, number: u128, takes: Duration) {
            let begun = Instant::now();
            tokio::time::advance(takes).await;
            self.0.alone(READING, team(number), begun);
        }

        fn alone_are<const N: usize>(&self, teams: [u128; N]) -> [bool; N] {
            teams.map(|number| self.0.goes_alone(READING, team(number)))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_most_of_a_slow_round_goes_alone_until_it_is_quick() {
        let server = Server::waiting();
        server.round([1, 1, 3], LONG).await;
        // Others do not wait for one of few, or for nobody else.
        server.round([1, 2, 2, 3], 2 * LONG).await;
        server.round([1, 1, 1], 2 * LONG).await;
        assert_eq!(server.alone_are([1, 2, 3]), [false; 3]);
        server.round([1, 1, 3], 2 * LONG).await;
        server.round([2, 2, 3], 2 * LONG).await;
        assert_eq!(server.alone_are([1, 2, 3]), [true, true, false]);
        assert!(!server.0.goes_alone(Access::Changing, team(1)));
        server.alone(1, QUICK).await;
        server.alone(2, 2 * LONG).await;
        assert_eq!(server.alone_are([1, 2]), [false, true]);
        for _ in 1..IN_A_ROW {
            server.alone(2, QUICK).await;
            assert!(server.0.is_slow(READING, team(2)));
        }
        server.alone(2, QUICK).await;
        assert!(!server.0.is_slow(READING, team(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_quick_between_slow_rounds_goes_alone_for_half_a_minute() {
        let server = Server::waiting();
        for _ in 0..2 {
            server.round([1, 1, 2], 2 * LONG).await;
            assert_eq!(server.alone_are([1]), [true]);
            server.alone(1, QUICK).await;
        }
        assert_eq!(server.alone_are([1]), [true]);
        tokio::time::advance(REMEMBERED).await;
        assert_eq!(server.alone_are([1]), [false]);
        server.0.disk_is_slow();
        server.round([1, 1, 2], 2 * LONG).await;
        server.alone(1, QUICK).await;
        assert_eq!(server.alone_are([1]), [false]);
    }

    #[tokio::test(start_paused = true)]
    async fn unless_the_server_is_known_to_wait_for_its_disk_nobody_goes_alone() {
        let server = Server::new();
        let in_doubt = server.0.is_in_doubt();
        server.round([1], LONG).await;
        assert!(Box::pin(server.0.is_in_doubt()).now_or_never().is_none());
        server.round([1, 1, 2], 10 * LONG).await;
        in_doubt.await;
        assert_eq!(server.alone_are([1]), [false]);
        server.0.disk_is_slow();
        server.round([1, 1, 2], 10 * LONG).await;
        assert_eq!(server.alone_are([1]), [true]);
    }

    #[tokio::test(start_paused = true)]
    async fn far_from_the_server_a_round_trip_is_no_slow_round() {
        let (slow, far) = (Slow::default(), 2 * LONG);
        slow.disk_is_slow();
        for _ in 0..3 {
            let begun = Instant::now();
            slow.shared(READING, vec![team(1), team(1), team(2)], begun, begun + far);
            slow.shared(
                READING,
                vec![team(1), team(1), team(2)],
                begun + QUICK,
                begun + QUICK + far,
            );
            tokio::time::advance(far).await;
        }
        assert!(!slow.goes_alone(READING, team(1)));
    }
}
