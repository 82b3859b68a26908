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

/// How many strangers may wait behind the first over all queues, and how many may be the first of theirs; how many known holders
/// may wait in the queue of a site. Each of them occupies one of the requests in progress, of which token requests need some, too.
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
const FOR_A_NEW_ONE: Duration = MOST;
const OLD: Duration = Duration::from_mins(10);

/// The callers who wait for a place.
#[derive(Debug)]
pub(super) struct Lines {
    /// Permits to wait for a place, of strangers and of known holders.
    strangers: Arc<Semaphore>,
    known: Arc<Semaphore>,
    /// Counts the hashed passwords of each known holder, and of each credential.
    of_holders: SlowLimiter<Holder>,
    of_bearers: SlowLimiter<Bearer>,
    /// Room for strangers behind the first of their queue.
    room: Semaphore,
    room_for_strangers: Arc<Semaphore>,
    /// The queues of strangers. Each is kept while a caller is in it.
    lines: WeakMap<Whose, Line>,
    /// The queues of known holders, and of those of a site, likewise.
    queues: WeakMap<Holder, Ranked>,
    sites: WeakMap<Option<IpNet>, Ranked>,
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
    /// The permits of those of its kind to wait for a place.
    peers: Arc<Semaphore>,
    _held: Held,
    /// When the wait for a place ends.
    deadline: Instant,
}

/// What the first in its queues holds.
enum Held {
    Stranger {
        _room: OwnedSemaphorePermit,
        _lines: [InLine; 2],
    },
    /// The turns of the holder, and of the site.
    Known { _turns: [Permit; 2] },
}

/// A place at which a password is hashed, held until dropped.
pub(crate) struct Place {
    _place: OwnedSemaphorePermit,
    _next: OwnedSemaphorePermit,
    _first: First,
}

impl Lines {
    pub(super) fn before(places: usize) -> Lines {
        Lines {
            strangers: Arc::new(Semaphore::new(places)),
            known: Arc::new(Semaphore::new(places)),
            of_holders: SlowLimiter::new(COUNTED, FORGOTTEN),
            of_bearers: SlowLimiter::new(COUNTED, FORGOTTEN),
            room: Semaphore::new(LINES),
            room_for_strangers: Arc::new(Semaphore::new(LINES)),
            lines: WeakMap::default(),
            queues: WeakMap::default(),
            sites: WeakMap::default(),
        }
    }

    /// Waits in the queues of `caller` (steps 1 and 2).
    ///
    /// # Errors
    /// [`Error::Unavailable`] when a queue is full, or the wait takes too long.
    pub(super) async fn first(&self, caller: Caller) -> Result<First, Error> {
        let deadline = Instant::now() + QUEUE_TIMEOUT;
        let (peers, held) = match caller.bearer.holder {
            Holder::Address(network) => (&self.strangers, self.stranger(network, deadline).await?),
            _ => (&self.known, self.known(caller, deadline).await?),
        };
        Ok(First {
            peers: Arc::clone(peers),
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
        let Caller { bearer, age, site } = caller;
        let queue = self.queues.get(bearer.holder, || Ranked::new(1, LINE));
        let had = self.of_bearers.count(bearer);
        let turn = queue.acquire(handicap(had, age), deadline).await;
        // Who was sent away has had nothing.
        let turn = turn.inspect_err(|_| self.of_bearers.give_back(bearer))?;
        let of_site = self.sites.get(site, || Ranked::new(1, LINES));
        let had = self.of_holders.count(bearer.holder);
        let first = of_site.acquire(handicap(had, age), deadline).await;
        let first = first.inspect_err(|_| self.had_nothing(bearer))?;
        Ok(Held::Known {
            _turns: [turn, first],
        })
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
        Ok(Place {
            _next: acquire(&self.peers, self.deadline).await?,
            _place: acquire(places, self.deadline).await?,
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
mod tests;
