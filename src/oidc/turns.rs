//! Limits how many callers wait for the provider at once, and how many wrong codes a network and a site may bring.
//!
//! A provider may take seconds for an answer, and a caller that waits for it holds a request of ours. So few wait at once, and
//! none keeps strangers from anything else that they may do. When there is no room left, one of the block or site that
//! has most of it is [sent away](crate::fair_room) for one of another. Networks from which somebody has come back with a code
//! that was accepted have a room of their own, which nobody fills who has only invented codes.
//!
//! Even an invented code costs a request to the provider, in the name of this server; and a provider that gets too many from
//! one client refuses all of them. So whoever brings codes that the provider does not accept has few tries: a network
//! [`CODES`] at once, and then one every [`CODE_EVERY`] seconds, and a site twice as many. Accepted codes are not counted.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use super::error::Error;
use crate::client_address::{network, surroundings};
use crate::fair_room::{FairRoom, Place};
use crate::limit::SlowLimiter;
use crate::recent::Recent;

/// How many wait at once at most, however many requests there may be.
const AT_MOST: usize = 64;

/// How many networks from which somebody came back with an accepted code are remembered: twice as many at most. They take
/// half a megabyte.
const REMEMBERED: usize = 4_096;

/// How many codes that are not accepted may come from one network at once.
const CODES: u32 = 5;

/// After how many seconds one more may come.
const CODE_EVERY: u32 = 10;

/// The callers that wait.
#[derive(Debug)]
pub(super) struct Turns {
    room: Arc<FairRoom>,
    /// For those at networks that are remembered.
    room_for_known: Arc<FairRoom>,
    known: Recent<IpAddr, ()>,
    /// Codes, until they are accepted.
    codes: SlowLimiter<IpAddr>,
    codes_of_sites: SlowLimiter<IpNet>,
}

impl Turns {
    /// Strangers have a quarter of all requests; a quarter of that is for the provider.
    pub(super) fn new(max_concurrent_requests: u32) -> Turns {
        let part = usize::try_from(max_concurrent_requests / 16).unwrap_or(AT_MOST);
        Turns {
            room: Arc::new(FairRoom::new(part.clamp(1, AT_MOST))),
            room_for_known: Arc::new(FairRoom::new(part.clamp(1, AT_MOST))),
            known: Recent::new(REMEMBERED),
            codes: SlowLimiter::new(CODES, CODE_EVERY),
            codes_of_sites: SlowLimiter::new(2 * CODES, CODE_EVERY / 2),
        }
    }

    /// Takes a turn for a caller at this address who brings a code; `None` if there is no room, or that network or site has
    /// brought too many that were not accepted.
    pub(super) fn take_with_code(&self, address: IpAddr) -> Option<Turn<'_>> {
        let network = network(address);
        if !self.codes.take(network) {
            return None;
        }
        if !self.codes_of_sites.take(surroundings(network)) {
            self.codes.give_back(network);
            return None;
        }
        let code = Code {
            turns: self,
            network,
            may_be_good: true,
        };
        Some(Turn {
            place: self.enter(address)?,
            code: Some(code),
        })
    }

    /// Takes a turn for a caller at this address; `None` if there is no room.
    pub(super) fn take(&self, address: IpAddr) -> Option<Turn<'_>> {
        Some(Turn {
            place: self.enter(address)?,
            code: None,
        })
    }

    fn enter(&self, address: IpAddr) -> Option<Place> {
        let room = match self.known.find(&network(address)) {
            Some(()) => &self.room_for_known,
            None => &self.room,
        };
        room.enter(surroundings(address)).ok()
    }
}

/// A caller's turn to wait, until dropped.
#[derive(Debug)]
pub(crate) struct Turn<'t> {
    place: Place,
    code: Option<Code<'t>>,
}

/// A code that is counted, unless it may yet be accepted when this is dropped.
#[derive(Debug)]
struct Code<'t> {
    turns: &'t Turns,
    network: IpAddr,
    may_be_good: bool,
}

impl Turn<'_> {
    /// Waits for the provider.
    ///
    /// # Errors
    /// [`Error::SentAway`] when somebody else got the turn meanwhile; those of `wait`.
    pub(super) async fn wait<T>(
        &mut self,
        wait: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let waited = self.place.wait(wait).await;
        waited.unwrap_or(Err(Error::SentAway))
    }

    /// Notes that the code was accepted.
    pub(super) fn code_was_accepted(&self) {
        if let Some(code) = &self.code {
            code.turns.known.note(code.network, ());
        }
    }

    /// Notes that the code was not accepted.
    pub(super) fn code_was_refused(&mut self) {
        if let Some(code) = &mut self.code {
            code.may_be_good = false;
        }
    }
}

impl Drop for Code<'_> {
    fn drop(&mut self) {
        if self.may_be_good {
            let site = surroundings(self.network);
            self.turns.codes.give_back(self.network);
            self.turns.codes_of_sites.give_back(site);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures::FutureExt;

    use super::*;

    fn take<'t>(turns: &'t Turns, address: &str) -> Option<Turn<'t>> {
        turns.take(address.parse().unwrap())
    }

    #[test]
    fn a_network_brings_few_codes_that_are_not_taken_and_any_number_that_are() {
        let turns = Turns::new(4_096);
        let with_code = |last: u8| turns.take_with_code([192, 0, 2, last].into());
        for _ in 0..100 {
            drop(with_code(1).unwrap());
        }
        for _ in 0..CODES {
            with_code(1).unwrap().code_was_refused();
        }
        assert!(with_code(1).is_none());
        assert!(take(&turns, "192.0.2.1").is_some());
        assert!(with_code(2).is_some());
    }

    #[test]
    fn a_site_brings_as_many_codes_as_two_networks() {
        let turns = Turns::new(4_096);
        let with_code = |site: u8, last: u8| turns.take_with_code([192, 0, site, last].into());
        for last in 0..2 * CODES as u8 {
            with_code(2, last).unwrap().code_was_refused();
        }
        assert!(with_code(2, 99).is_none());
        drop(with_code(3, 99).unwrap());
        // Nothing is left of what came to nothing.
        assert_eq!(turns.codes.earlier([192, 0, 2, 99].into()), 0);
        let other = surroundings([192, 0, 3, 99].into());
        assert_eq!(turns.codes_of_sites.earlier(other), 0);
    }

    /// A person may have a few sites.
    #[test]
    fn those_of_a_site_that_fill_the_room_leave_for_another_and_find_none() {
        let turns = Turns::new(32);
        let mut many = [take(&turns, "192.0.2.1"), take(&turns, "192.0.2.2")].map(Option::unwrap);
        assert!(turns.take_with_code([192, 0, 2, 3].into()).is_none());
        assert_eq!(turns.codes.earlier([192, 0, 2, 3].into()), 0);
        let _other = take(&turns, "192.0.3.1").unwrap();
        let stay = many.each_mut().map(|turn| {
            let waits = turn.wait(pending::<Result<(), Error>>()).now_or_never();
            waits.is_none()
        });
        assert_eq!(stay, [true, false]);
    }

    #[test]
    fn networks_from_which_a_code_was_accepted_have_a_room_of_their_own() {
        let turns = Turns::new(32);
        let known = turns.take_with_code([198, 51, 100, 1].into()).unwrap();
        known.code_was_accepted();
        drop(known);
        let _many = ["192.0.2.1", "192.8.2.2"].map(|it| take(&turns, it).unwrap());
        assert!(take(&turns, "203.0.113.1").is_none());
        // The same site, where nobody has come back with a good code.
        assert!(take(&turns, "198.51.100.2").is_none());
        let _two = [(); 2].map(|()| take(&turns, "198.51.100.1").unwrap());
        assert!(take(&turns, "198.51.100.1").is_none());
    }

    #[test]
    fn all_networks_together_have_a_sixteenth_of_the_requests_and_at_most_64() {
        for (requests, at_once) in [(1, 1), (16, 1), (32, 2), (160, 10), (4_096, 64)] {
            let turns = Turns::new(requests);
            let taken: Vec<_> = (0..100)
                .map_while(|site| take(&turns, &format!("192.0.{site}.1")))
                .collect();
            assert_eq!(taken.len(), at_once, "of {requests}");
        }
    }
}
