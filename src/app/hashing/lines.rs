//! The queues of callers who wait to have a password hashed (steps 1 to 4 of the module).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use ipnet::IpNet;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::caller::Caller;
use crate::client_address::{block, surroundings};
use crate::domain::Error;
use crate::domain::holder::{Bearer, Holder};
use crate::domain::id::TeamId;
use crate::fair_room::{self, FairRoom};
use crate::limit::{Had, SlowLimiter};
use crate::ranked::{Crowds, Permit, Ranked, Room};
use crate::weak_map::WeakMap;

/// How long a caller waits for a place.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// How many strangers may wait in one queue: more would not be served in time.
const LINE: usize = 32;

/// How many strangers may be the first of their network, of which no site or block [takes all](crate::fair_room), and how many
/// known holders may wait. Each of them occupies one of the requests in progress, of which token requests need some, too.
pub(super) const LINES: usize = 192;

/// Fewer may wait behind the first of their network, by this factor.
const BEHIND: usize = 4;

/// How often one known holder may wait: what it has waiting is in the way of its own next one.
const OF_A_HOLDER: usize = 8;

/// How many recently hashed passwords of a holder, credential, site or team are counted at most.
const COUNTED: u32 = 60;

/// Seconds after which one of them is forgotten.
const FORGOTTEN: u32 = 60;

/// The same for those of a site or team: whoever has more than others just now is to wait, but not an office of which
/// somebody has signed in every few seconds all morning.
const FORGOTTEN_OF_MANY: u32 = 2;

/// The handicap for each of them: whoever had twenty waits for all others.
const FOR_EACH: Duration = Duration::from_millis(500);

/// The same for each one of a team. All of it has to grow faster than its members wait, or those who came first go first: if one
/// person has a few teams, each gets one or two a second on a busy machine.
const FOR_EACH_OF_TEAM: Duration = Duration::from_secs(2);

/// The handicap of a credential that was just issued: a person may have new ones and new accounts all the time, and all of them
/// wait for those who are not new. It shrinks until the credential is [`OLD`].
const FOR_A_NEW_ONE: Duration = QUEUE_TIMEOUT;
const OLD: Duration = Duration::from_mins(10);

/// Counts the known holders whose turn has come, of each site and of each team.
#[derive(Debug)]
struct HadByMany {
    of_sites: SlowLimiter<Option<IpNet>>,
    of_teams: SlowLimiter<Option<TeamId>>,
}

impl HadByMany {
    fn new() -> HadByMany {
        HadByMany {
            of_sites: SlowLimiter::new(COUNTED, FORGOTTEN_OF_MANY),
            of_teams: SlowLimiter::new(COUNTED, FORGOTTEN_OF_MANY),
        }
    }
}

impl Crowds for HadByMany {
    type Crowd = (Option<IpNet>, Option<TeamId>);

    fn handicap(&self, (site, team): Self::Crowd) -> Duration {
        for_many(self.of_sites.earlier(site), self.of_teams.earlier(team))
    }

    fn crowding(
        waiting: impl Iterator<Item = (Self::Crowd, usize)>,
    ) -> impl Fn(Self::Crowd) -> Duration {
        let (mut of_sites, mut of_teams) = (HashMap::default(), HashMap::default());
        for ((site, team), count) in waiting {
            *of_sites.entry(site).or_insert(0) += count as u64;
            *of_teams.entry(team).or_insert(0) += count as u64;
        }
        move |(site, team)| {
            let [at_site, in_team] = [of_sites.get(&site), of_teams.get(&team)];
            for_many(at_site.copied().unwrap_or(0), in_team.copied().unwrap_or(0))
        }
    }

    fn serves(&mut self, (site, team): Self::Crowd) {
        self.of_sites.count(site);
        self.of_teams.count(team);
    }
}

/// The places at which passwords are hashed, and the callers who wait for one.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) places: Arc<Semaphore>,
    /// How many places there are.
    at_once: usize,
    /// Permits to wait for a place: of strangers, and of known holders.
    strangers: Arc<Semaphore>,
    known: Arc<Ranked<HadByMany>>,
    /// Counts the hashed passwords of each known holder, and of each credential.
    of_holders: SlowLimiter<Holder>,
    of_bearers: SlowLimiter<Bearer>,
    /// Room for strangers behind the first of their network, and for those.
    room_behind: Arc<FairRoom>,
    room_for_first: Arc<FairRoom>,
    /// The queues of strangers. Each is kept while a caller is in it.
    lines: WeakMap<Whose, Line>,
}

/// Which strangers are in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Whose {
    /// The callers of one network.
    Network(IpAddr),
    /// The first caller of each network of a site.
    Site(IpNet),
    /// The first caller of each site of a block.
    Block(IpNet),
}

#[derive(Debug)]
struct Line {
    /// Held by the first in the queue: of a block, as many as there are places.
    first: Arc<Semaphore>,
    room: Semaphore,
}

/// A line, which is kept while a caller is in it, and the front place in it.
type InLine = (Arc<Line>, OwnedSemaphorePermit);

/// The turn of the next caller of its kind, held until dropped.
enum Turn {
    Stranger {
        _room: fair_room::Place,
        _lines: [InLine; 3],
        _permit: OwnedSemaphorePermit,
    },
    Known {
        _permit: Permit<HadByMany>,
    },
}

/// A place at which a password is hashed, held until dropped.
pub(crate) struct Place {
    _place: OwnedSemaphorePermit,
    _turn: Turn,
}

impl Lines {
    /// Before this many places, with room for so many [`LINES`].
    pub(super) fn before(places: usize, lines: usize) -> Lines {
        let room = Room {
            of_all: lines.max(OF_A_HOLDER),
            of_each: OF_A_HOLDER,
        };
        Lines {
            at_once: places,
            places: Arc::new(Semaphore::new(places)),
            strangers: Arc::new(Semaphore::new(places)),
            known: Arc::new(Ranked::new(places, room, HadByMany::new())),
            of_holders: SlowLimiter::new(COUNTED, FORGOTTEN),
            of_bearers: SlowLimiter::new(COUNTED, FORGOTTEN),
            room_behind: Arc::new(FairRoom::new((lines / BEHIND).max(1))),
            room_for_first: Arc::new(FairRoom::new(lines)),
            lines: WeakMap::default(),
        }
    }

    /// Waits in the queues of `caller`, and then for a place.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when a queue is full, or the wait takes too long.
    pub(super) async fn place(&self, caller: Caller) -> Result<Place, Error> {
        let deadline = Instant::now() + QUEUE_TIMEOUT;
        if let Holder::Address(network) = caller.bearer.holder {
            let turn = self.stranger(network, deadline).await?;
            return self.at_place(turn, deadline).await;
        }
        let had = self.count(caller);
        let place = self.known(caller, had, deadline).await;
        // Whoever was sent away has had no password hashed.
        place.inspect_err(|_| self.uncount(caller, had))
    }

    /// Steps 1 and 2, and the turn among all strangers.
    async fn stranger(&self, network: IpAddr, deadline: Instant) -> Result<Turn, Error> {
        let site = surroundings(network);
        let of_network = self.line(Whose::Network(network));
        let first_of_network = match Arc::clone(&of_network.first).try_acquire_owned() {
            Ok(first) => first,
            Err(_) => {
                let _room_of_network = of_network.room.try_acquire().map_err(Error::unavailable)?;
                let first = acquire(&of_network.first, deadline);
                self.room_behind.enter(site)?.wait(first).await??
            }
        };
        // Only one caller per network is in the queue of its site.
        let of_site = self.line(Whose::Site(site));
        let of_block = self.line(Whose::Block(block(site)));
        let mut room = self.room_for_first.enter(site)?;
        let turn = async {
            let first_of_site = acquire(&of_site.first, deadline).await?;
            let first_of_block = acquire(&of_block.first, deadline).await?;
            let permit = acquire(&self.strangers, deadline).await?;
            Ok::<_, Error>((first_of_site, first_of_block, permit))
        };
        let (first_of_site, first_of_block, permit) = room.wait(turn).await??;
        Ok(Turn::Stranger {
            _room: room,
            _lines: [
                (of_network, first_of_network),
                (of_site, first_of_site),
                (of_block, first_of_block),
            ],
            _permit: permit,
        })
    }

    /// Steps 3 and 4.
    async fn known(
        &self,
        caller: Caller,
        had: [Had; 2],
        deadline: Instant,
    ) -> Result<Place, Error> {
        let handicap = handicap(had.map(|it| it.earlier).iter().sum(), caller.age);
        let holder = caller.bearer.holder;
        let crowd = (caller.site, caller.team);
        let permit = self.known.acquire(holder, crowd, handicap, deadline);
        let permit = permit.await?;
        let turn = Turn::Known { _permit: permit };
        self.at_place(turn, deadline).await
    }

    /// Step 4.
    async fn at_place(&self, turn: Turn, deadline: Instant) -> Result<Place, Error> {
        Ok(Place {
            _place: acquire(&self.places, deadline).await?,
            _turn: turn,
        })
    }

    fn count(&self, Caller { bearer, .. }: Caller) -> [Had; 2] {
        [
            self.of_holders.count(bearer.holder),
            self.of_bearers.count(bearer),
        ]
    }

    fn uncount(&self, Caller { bearer, .. }: Caller, had: [Had; 2]) {
        let [of_holder, of_bearer] = had;
        self.of_holders.uncount(bearer.holder, of_holder);
        self.of_bearers.uncount(bearer, of_bearer);
    }

    fn line(&self, whose: Whose) -> Arc<Line> {
        let first = match whose {
            Whose::Network(_) | Whose::Site(_) => 1,
            // All customers of a provider may have one.
            Whose::Block(_) => self.at_once,
        };
        self.lines.get(whose, || Line {
            first: Arc::new(Semaphore::new(first)),
            room: Semaphore::new(LINE),
        })
    }
}

/// How much later a caller waits than it came, after `had` passwords and with a credential of that age.
fn handicap(had: u64, age: Duration) -> Duration {
    let young = OLD.saturating_sub(age).div_f64(OLD.as_secs_f64());
    FOR_EACH.mul_f64(had as f64) + FOR_A_NEW_ONE.mul_f64(young.as_secs_f64())
}

/// How much later all of a site and team are.
fn for_many(of_site: u64, of_team: u64) -> Duration {
    FOR_EACH.mul_f64(of_site as f64) + FOR_EACH_OF_TEAM.mul_f64(of_team as f64)
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
