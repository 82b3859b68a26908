//! Whose statements take long, such as those that read what is not in memory.
//!
//! Most statements are made together with those of others ([lookups](super::lookups), [groups](super::groups)), which all wait
//! for the longest, and a backend reads one page after another: sixty products that are on a slow disk take a second.
//!
//! 1. A round that took [long](LONG) has kept waiting all who shared it, and it is not known for whom. So each of them goes alone
//!    from then on, unless the server answered nobody meanwhile: then it is no holder's fault.
//! 2. Alone, each is measured. Whoever is quick shares rounds again at once, but only the first time within [`REMEMBERED`]:
//!    otherwise anybody could be quick once, and then keep others waiting again.
//! 3. Whoever is slow alone takes [turns](super::slots) with the others that are, until it was quick [often](IN_A_ROW).
//! 4. A server may be far away: what its round trips take is [allowed](Quickest) for.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
pub(super) struct Slow(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    reading: Kind,
    changing: Kind,
    /// When the last statement that was quick has begun.
    quick: Option<Instant>,
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
        if !state.took_long(of, parts, begun, now) {
            return;
        }
        let kind = state.kind(of);
        let of_one = |it: &Holder| matches!(it, Holder::Team(_) | Holder::User(_));
        let holders: HashSet<_> = holders.into_iter().filter(of_one).collect();
        for holder in holders {
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
    }

    /// Steps 2 and 3: notes how long `holder` took alone, if it goes alone.
    pub(super) fn alone(&self, of: Access, holder: Holder, begun: Instant) {
        let now = Instant::now();
        let mut state = self.state();
        let is_slow = state.took_long(of, 1, begun, now);
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

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn kind(&mut self, of: Access) -> &mut Kind {
        match of {
            Access::Reading => &mut self.reading,
            Access::Changing => &mut self.changing,
        }
    }

    /// Whether what was done between these times, of so many parts, took long, though others were answered meanwhile.
    fn took_long(&mut self, of: Access, parts: u32, begun: Instant, now: Instant) -> bool {
        let took = now - begun;
        let allowed = self.kind(of).quickest.allowed(took, true, now);
        if took < LONG + OF_EACH.saturating_mul(parts) + allowed {
            self.quick = Some(self.quick.map_or(begun, |last| last.max(begun)));
            return false;
        }
        self.quick.is_some_and(|last| last > begun)
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

impl Suspect {
    fn goes_alone(&self, now: Instant) -> bool {
        let is_cleared = self.rounds < 2 && !self.is_slow && self.quick > 0;
        now < self.until && !is_cleared
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const READING: Access = Access::Reading;
    const QUICK: Duration = Duration::from_millis(1);

    fn team(number: u128) -> Holder {
        Holder::Team(Uuid::from_u128(number))
    }

    /// Of a server that answers in a millisecond, also while something else takes long.
    struct Server(Slow);

    impl Server {
        fn new() -> Server {
            let server = Server(Slow::default());
            server.answers();
            server
        }

        fn answers(&self) {
            let now = Instant::now();
            self.0.shared(READING, Vec::new(), now, now + QUICK);
        }

        async fn round<const N: usize>(&self, teams: [u128; N], takes: Duration) {
            let round = self.0.round(READING, teams.map(team).to_vec());
            tokio::time::advance(QUICK).await;
            self.answers();
            tokio::time::advance(takes - QUICK).await;
            drop(round);
        }

        async fn alone(&self, number: u128, takes: Duration) {
            let begun = Instant::now();
            tokio::time::advance(QUICK).await;
            self.answers();
            tokio::time::advance(takes - QUICK).await;
            self.0.alone(READING, team(number), begun);
        }

        fn alone_are<const N: usize>(&self, teams: [u128; N]) -> [bool; N] {
            teams.map(|number| self.0.goes_alone(READING, team(number)))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_shares_a_slow_round_goes_alone_until_it_is_quick() {
        let server = Server::new();
        server.round([1, 2], LONG).await;
        assert_eq!(server.alone_are([1, 2]), [false; 2]);
        server.round([1, 2], 2 * LONG).await;
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
        let server = Server::new();
        for _ in 0..2 {
            server.round([1, 1], 2 * LONG).await;
            assert_eq!(server.alone_are([1]), [true]);
            server.alone(1, QUICK).await;
        }
        assert_eq!(server.alone_are([1]), [true]);
        tokio::time::advance(REMEMBERED).await;
        assert_eq!(server.alone_are([1]), [false]);
        server.round([1], 2 * LONG).await;
        server.alone(1, QUICK).await;
        assert_eq!(server.alone_are([1]), [false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_answers_nobody_is_nobodys_fault() {
        let server = Server::new();
        tokio::time::advance(QUICK).await;
        let round = server.0.round(READING, vec![team(1)]);
        tokio::time::advance(10 * LONG).await;
        drop(round);
        assert_eq!(server.alone_are([1]), [false]);
    }

    #[tokio::test(start_paused = true)]
    async fn far_from_the_server_a_round_trip_is_no_slow_round() {
        let (slow, far) = (Slow::default(), 2 * LONG);
        for _ in 0..3 {
            let begun = Instant::now();
            slow.shared(READING, vec![team(1)], begun, begun + far);
            slow.shared(READING, vec![team(1)], begun + QUICK, begun + QUICK + far);
            tokio::time::advance(far).await;
        }
        assert!(!slow.goes_alone(READING, team(1)));
    }
}
