//! The queues of callers who wait to have a password hashed (steps 1 to 3 of the module).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::caller::Caller;
use crate::client_address::surroundings;
use crate::domain::Error;
use crate::domain::holder::{Bearer, Holder};
use crate::limit::SlowLimiter;
use crate::ranked::{Permit, Ranked};
use crate::weak_map::WeakMap;

/// How long a caller waits for a place.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// How many may wait in one queue: more would not be served in time.
const LINE: usize = 32;

/// How many strangers may wait behind the first over all queues, and how many may be the first of theirs. Each of them occupies
/// one of the requests in progress, of which token requests need some, too. Known holders have their share of those (R7).
const LINES: usize = 192;

/// How many recently hashed passwords of a holder or credential are counted at most.
const COUNTED: u32 = 60;

/// Seconds after which one of them is forgotten.
const FORGOTTEN: u32 = 600;

/// The handicap for the first of them, and for each doubling of what was had: in that time, every one of a dozen users has one.
/// It ends at [`MOST`], so that those who had many do not wait in vain where there are no others.
const FOR_A_DOUBLING: Duration = Duration::from_secs(3);
const MOST: Duration = Duration::from_secs(8);

/// The handicap of a credential that was just issued: a person may have new ones and new accounts all the time. It shrinks until
/// the credential is [`OLD`].
const FOR_A_NEW_ONE: Duration = Duration::from_secs(5);
const OLD: Duration = Duration::from_mins(10);

/// The callers who wait for a place.
#[derive(Debug)]
pub(super) struct Lines {
    /// Permits of strangers to wait for a place.
    strangers: Arc<Semaphore>,
    known: Arc<Ranked>,
    /// Counts the hashed passwords of each known holder, and of each credential.
    of_holders: SlowLimiter<Holder>,
    of_bearers: SlowLimiter<Bearer>,
    /// Room for strangers behind the first of their queue.
    room: Semaphore,
    room_for_strangers: Arc<Semaphore>,
    /// The queues of strangers. Each is kept while a caller is in it.
    lines: WeakMap<Whose, Line>,
    /// The queues of known holders, likewise.
    queues: WeakMap<Holder, Ranked>,
}

/// Which strangers are in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Whose {
    /// The callers of one network.
    Network(IpAddr),
    /// The first caller of each network of a site.
    Site(IpNet),
}

#[derive(Debug)]
struct Line {
    /// Held by the first in the queue.
    first: Arc<Semaphore>,
    room: Semaphore,
}

/// A line, which is kept while a caller is in it, and the front place in it.
type InLine = (Arc<Line>, OwnedSemaphorePermit);

/// The front place in a caller's queues, held until dropped.
pub(super) struct First {
    /// The callers with whom this one waits for a place.
    peers: Peers,
    _held: Held,
    /// When the wait for a place ends.
    deadline: Instant,
}

/// The callers of one kind.
enum Peers {
    Strangers(Arc<Semaphore>),
    /// With the handicap of this holder.
    Known(Arc<Ranked>, Duration),
}

/// What the first in its queues holds.
enum Held {
    Stranger {
        _room: OwnedSemaphorePermit,
        _lines: [InLine; 2],
    },
    Known {
        _turn: Permit,
    },
}

/// The turn of the next caller of its kind.
enum Next {
    Stranger { _permit: OwnedSemaphorePermit },
    Known { _permit: Permit },
}

/// A place at which a password is hashed, held until dropped.
pub(crate) struct Place {
    _place: OwnedSemaphorePermit,
    _next: Next,
    _first: First,
}

impl Lines {
    pub(super) fn before(places: usize) -> Lines {
        Lines {
            strangers: Arc::new(Semaphore::new(places)),
            known: Arc::new(Ranked::new(places, usize::MAX)),
            of_holders: SlowLimiter::new(COUNTED, FORGOTTEN),
            of_bearers: SlowLimiter::new(COUNTED, FORGOTTEN),
            room: Semaphore::new(LINES),
            room_for_strangers: Arc::new(Semaphore::new(LINES)),
            lines: WeakMap::default(),
            queues: WeakMap::default(),
        }
    }

    /// Waits in the queues of `caller` (steps 1 and 2).
    ///
    /// # Errors
    /// [`Error::Unavailable`] when a queue is full, or the wait takes too long.
    pub(super) async fn first(&self, caller: Caller) -> Result<First, Error> {
        let deadline = Instant::now() + QUEUE_TIMEOUT;
        let (peers, held) = match caller.bearer.holder {
            Holder::Address(network) => {
                let strangers = Arc::clone(&self.strangers);
                let held = self.stranger(network, deadline).await?;
                (Peers::Strangers(strangers), held)
            }
            holder => {
                let held = self.known(caller, deadline).await?;
                let had = self.of_holders.count(holder);
                let peers = Arc::clone(&self.known);
                (Peers::Known(peers, handicap(had, caller.age)), held)
            }
        };
        Ok(First {
            peers,
            _held: held,
            deadline,
        })
    }

    async fn stranger(&self, network: IpAddr, deadline: Instant) -> Result<Held, Error> {
        let of_network = self.line(Whose::Network(network));
        let first_of_network = match Arc::clone(&of_network.first).try_acquire_owned() {
            Ok(first) => first,
            Err(_) => {
                let _rooms = (
                    of_network.room.try_acquire().map_err(Error::unavailable)?,
                    self.room.try_acquire().map_err(Error::unavailable)?,
                );
                acquire(&of_network.first, deadline).await?
            }
        };
        let room = Arc::clone(&self.room_for_strangers).try_acquire_owned();
        let room = room.map_err(Error::unavailable)?;
        // Only one caller per network is in the queue of its site, so that needs no limit.
        let of_site = self.line(Whose::Site(surroundings(network)));
        let first_of_site = acquire(&of_site.first, deadline).await?;
        Ok(Held::Stranger {
            _room: room,
            _lines: [(of_network, first_of_network), (of_site, first_of_site)],
        })
    }

    async fn known(&self, caller: Caller, deadline: Instant) -> Result<Held, Error> {
        let Caller { bearer, age } = caller;
        let queue = self.queues.get(bearer.holder, || Ranked::new(1, LINE));
        let had = self.of_bearers.count(bearer);
        let turn = queue.acquire(handicap(had, age), deadline).await;
        // Who was sent away has had nothing.
        let turn = turn.inspect_err(|_| self.of_bearers.give_back(bearer))?;
        Ok(Held::Known { _turn: turn })
    }

    /// Forgets the password of a caller who had the [first](Lines::first) place, but was not [served](First::served).
    pub(super) fn had_nothing(&self, bearer: Bearer) {
        if !bearer.holder.is_address() {
            self.of_holders.give_back(bearer.holder);
            self.of_bearers.give_back(bearer);
        }
    }

    fn line(&self, whose: Whose) -> Arc<Line> {
        self.lines.get(whose, || Line {
            first: Arc::new(Semaphore::new(1)),
            room: Semaphore::new(LINE),
        })
    }
}

impl First {
    /// Waits for one of `places` (step 3).
    ///
    /// # Errors
    /// [`Error::Unavailable`] when no place is free in time.
    pub(super) async fn served(self, places: &Arc<Semaphore>) -> Result<Place, Error> {
        let next = match &self.peers {
            Peers::Strangers(peers) => Next::Stranger {
                _permit: acquire(peers, self.deadline).await?,
            },
            Peers::Known(peers, handicap) => Next::Known {
                _permit: peers.acquire(*handicap, self.deadline).await?,
            },
        };
        Ok(Place {
            _place: acquire(places, self.deadline).await?,
            _next: next,
            _first: self,
        })
    }
}

/// How much later a caller waits than it came, after `had` passwords and with a credential of that age.
fn handicap(had: u64, age: Duration) -> Duration {
    // 1 after the first, 2 after three, 3 after seven.
    let doublings = (1.0 + had as f64).log2();
    let had = FOR_A_DOUBLING.mul_f64(doublings);
    let young = OLD.saturating_sub(age).div_f64(OLD.as_secs_f64());
    had.min(MOST) + FOR_A_NEW_ONE.mul_f64(young.as_secs_f64())
}

async fn acquire(
    semaphore: &Arc<Semaphore>,
    deadline: Instant,
) -> Result<OwnedSemaphorePermit, Error> {
    let permit = timeout_at(deadline, Arc::clone(semaphore).acquire_owned()).await;
    permit.map_err(Error::unavailable)?.map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::FutureExt;
    use futures::future::{join, join_all};
    use uuid::Uuid;

    use super::*;

    fn network(site: u16, number: u16) -> Holder {
        Holder::Address(IpAddr::from([0x2001, 0xdb8, site, number, 0, 0, 0, 1]))
    }

    /// The order in which `holders` are served, if all of them wait before a place is free.
    async fn order(lines: &Lines, holders: impl IntoIterator<Item = Holder>) -> Vec<Holder> {
        let places = Arc::new(Semaphore::new(1));
        let served = Mutex::new(Vec::new());
        let one = async |holder: Holder| {
            let first = lines.first(holder.into()).await.unwrap();
            let place = first.served(&places).await.unwrap();
            served.lock().unwrap().push(holder);
            drop(place);
        };
        let all = places.acquire().await.unwrap();
        let everybody = join_all(holders.into_iter().map(one));
        join(everybody, async { drop(all) }).await;
        served.into_inner().unwrap()
    }

    #[tokio::test]
    async fn whoever_comes_from_elsewhere_waits_for_one_password_of_each_line() {
        let lines = Lines::before(1);
        // Two networks come many times, then another one comes once.
        let many = (0..20).map(|number| network(number % 2, 0));
        let served = order(&lines, many.chain([network(9, 0)])).await;
        assert_eq!(served.len(), 21);
        let at = served.iter().position(|&it| it == network(9, 0)).unwrap();
        assert!(at <= 3, "{served:?}");
    }

    #[tokio::test]
    async fn whoever_is_known_waits_for_one_stranger_and_a_site_for_its_own() {
        // Thirty networks of one site, thirty sites, one more stranger, and two known holders.
        let (known, other) = (Holder::User(Uuid::nil()), Holder::Service);
        let one_site = (0..30).map(|number| network(0, number));
        let sites = (1..=30).map(|site| network(site, 0));
        let late = network(31, 0);
        let holders = one_site.chain(sites).chain([late, known, other]);
        let served = order(&Lines::before(1), holders).await;
        assert_eq!(served.len(), 63);
        let place = |holder| served.iter().position(|&it| it == holder).unwrap();
        assert!(place(known) <= 1 && place(other) <= 3, "{served:?}");
        assert!(place(late) <= 2 + 1 + 31, "{served:?}");
        assert_eq!(place(network(0, 29)), 62);
    }

    #[tokio::test]
    async fn a_stranger_waits_for_one_of_those_who_are_known() {
        let known = (0..50).map(|number| Holder::User(Uuid::from_u128(number)));
        let served = order(&Lines::before(1), known.chain([network(0, 0)])).await;
        let place = served.iter().position(|&it| it == network(0, 0)).unwrap();
        assert!(place <= 2, "{served:?}");
    }

    /// One person may have hundreds of accounts, whose passwords are hashed all the time.
    #[tokio::test]
    async fn whoever_had_fewer_passwords_looked_at_of_late_goes_first() {
        let users = |numbers: std::ops::Range<u128>| {
            numbers.map(|number| Holder::User(Uuid::from_u128(number)))
        };
        let lines = Lines::before(1);
        for _ in 0..3 {
            assert_eq!(order(&lines, users(0..50)).await.len(), 50);
        }
        let late = Holder::User(Uuid::from_u128(50));
        // The second time as well, as if the first password was mistyped.
        for _ in 0..2 {
            let served = order(&lines, users(0..50).chain([late])).await;
            let place = served.iter().position(|&it| it == late).unwrap();
            assert!(place <= 1, "{served:?}");
            assert_eq!(served.len(), 51);
        }
    }

    fn of(credential: u128, age: Duration) -> Caller {
        Caller {
            bearer: Bearer {
                holder: Holder::User(Uuid::nil()),
                credential: Some(Uuid::from_u128(credential)),
            },
            age,
        }
    }

    /// Who knows the password of an account may sign in to it many times.
    #[tokio::test(start_paused = true)]
    async fn whoever_had_fewer_of_the_passwords_of_a_user_goes_first_and_finds_room() {
        let lines = Lines::before(1);
        let taken = lines.first(of(0, OLD)).await.unwrap();
        let mut waiting = Vec::new();
        for credential in 1..=LINE as u128 {
            let mut waits = Box::pin(lines.first(of(credential, OLD / 2)));
            assert!((&mut waits).now_or_never().is_none());
            waiting.push(waits);
        }
        // One that was just issued finds no room; trying again does not matter.
        for _ in 0..3 {
            let told = lines.first(of(98, Duration::ZERO)).now_or_never().unwrap();
            assert!(matches!(told, Err(Error::Unavailable(_))));
        }
        let mut old = Box::pin(lines.first(of(99, OLD)));
        assert!((&mut old).now_or_never().is_none());
        let told = waiting.pop().unwrap().now_or_never().unwrap();
        assert!(matches!(told, Err(Error::Unavailable(_))));
        // Whoever follows a link is not kept out by any of them.
        let resets = lines.first(Holder::Reset(Uuid::nil()).into());
        drop(resets.now_or_never().unwrap().unwrap());
        drop(taken);
        assert!(waiting[0].as_mut().now_or_never().is_none());
        drop(old.now_or_never().unwrap().unwrap());
        let next = waiting.remove(0);
        drop(next.now_or_never().unwrap().unwrap());
    }

    /// One person may make an account after the other.
    #[tokio::test(start_paused = true)]
    async fn whoever_had_some_waits_for_no_end_of_new_accounts() {
        let lines = Lines::before(1);
        let places = Arc::new(Semaphore::new(0));
        let known = |number, age| Caller {
            bearer: Holder::User(Uuid::from_u128(number)).into(),
            age,
        };
        for _ in 0..2 {
            drop(lines.first(known(0, OLD)).await.unwrap());
        }
        let wait = async |caller| {
            let first = lines.first(caller).await.unwrap();
            first.served(&places).await
        };
        let mut new: Vec<_> = (1..=20)
            .map(|number| Box::pin(wait(known(number, Duration::ZERO))))
            .collect();
        for one in &mut new {
            assert!(one.now_or_never().is_none());
        }
        let mut some = Box::pin(wait(known(0, OLD)));
        assert!((&mut some).now_or_never().is_none());
        places.add_permits(2);
        // The first has its turn already.
        drop(new.remove(0).now_or_never().unwrap().unwrap());
        drop(some.now_or_never().unwrap().unwrap());
    }

    /// One person may have several accounts, whose queues are full.
    #[tokio::test]
    async fn however_many_wait_in_other_queues_a_user_finds_room() {
        let lines = Lines::before(1);
        let mut waiting = Vec::new();
        for number in (0..40).flat_map(|user| [user; LINE + 1]) {
            let of = Holder::User(Uuid::from_u128(number));
            let mut waits = Box::pin(lines.first(of.into()));
            // The first of each queue goes on, and has its turn.
            waiting.push((waits.as_mut().now_or_never(), waits));
        }
        let user = Holder::User(Uuid::from_u128(99));
        let first = lines.first(user.into()).now_or_never().unwrap().unwrap();
        let mut second = Box::pin(lines.first(user.into()));
        assert!((&mut second).now_or_never().is_none());
        drop(first);
        drop(second.await.unwrap());
    }

    #[tokio::test]
    async fn strangers_who_find_no_room_are_told_at_once_and_who_is_known_is_not() {
        let lines = Lines::before(1);
        let mut waiting = Vec::new();
        for site in 0..LINES as u16 {
            waiting.push(lines.first(network(site, 0).into()).await.unwrap());
        }
        let late = network(LINES as u16, 0);
        let told = lines.first(late.into()).now_or_never().unwrap();
        assert!(matches!(told, Err(Error::Unavailable(_))));
        let known = lines.first(Holder::User(Uuid::nil()).into()).now_or_never();
        drop(known.unwrap().unwrap());
        waiting.pop();
        drop(lines.first(late.into()).now_or_never().unwrap().unwrap());
    }

    #[tokio::test]
    async fn a_line_has_room_for_some_behind_the_first() {
        let lines = Lines::before(1);
        let line = lines.line(Whose::Network([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into()));
        for (room, all) in [(&line.room, LINE), (&lines.room, LINES)] {
            let taken = room.acquire_many(all as u32).await.unwrap();
            // A caller alone in a queue needs no room.
            let first = lines.first(network(0, 0).into()).await.unwrap();
            let told = lines.first(network(0, 0).into()).now_or_never().unwrap();
            assert!(matches!(told, Err(Error::Unavailable(_))));
            drop(taken);
            let mut next = Box::pin(lines.first(network(0, 0).into()));
            assert!((&mut next).now_or_never().is_none());
            drop(first);
            drop(next.await.unwrap());
        }
    }

    #[tokio::test]
    async fn whoever_waits_too_long_is_told() {
        // The paused clock jumps to the next timer.
        tokio::time::pause();
        let lines = Lines::before(1);
        let first = lines.first(network(0, 0).into()).await.unwrap();
        let behind = lines.first(network(0, 0).into()).await;
        assert!(matches!(behind, Err(Error::Unavailable(_))));
        let nowhere = first.served(&Arc::new(Semaphore::new(0))).await;
        assert!(matches!(nowhere, Err(Error::Unavailable(_))));
    }
}
