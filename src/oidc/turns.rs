//! Limits how many callers wait for the provider at once, and how many wrong codes a network and a site may bring.
//!
//! A provider may take seconds for an answer, and a caller that waits for it holds a request of ours. So few wait at once,
//! one network has a quarter of the turns, and one site half of them, since the owner of a network often has the whole site:
//! none keeps all others from signing in, or strangers from anything else that they may do. A quarter is sixteen by default,
//! as many people of one office as are likely to come back within the same second.
//!
//! Even an invented code costs a request to the provider, in the name of this server; and a provider that gets too many from
//! one client refuses all of them. So whoever brings codes that the provider does not accept has few tries: a network
//! [`CODES`] at once, and then one every [`CODE_EVERY`] seconds, and a site twice as many. Accepted codes are not counted.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;

use crate::client_address::{network, surroundings};
use crate::limit::SlowLimiter;

/// How many wait at once at most, however many requests there may be.
const AT_MOST: usize = 64;

/// How many codes that are not accepted may come from one network at once.
const CODES: u32 = 5;

/// After how many seconds one more may come.
const CODE_EVERY: u32 = 10;

/// The callers that wait.
#[derive(Debug)]
pub(super) struct Turns {
    at_once: usize,
    waiting: Mutex<HashMap<IpAddr, usize>>,
    /// Codes, until they are accepted.
    codes: SlowLimiter<IpAddr>,
    codes_of_sites: SlowLimiter<IpNet>,
}

impl Turns {
    /// Strangers have a quarter of all requests; a quarter of that is for the provider.
    pub(super) fn new(max_concurrent_requests: u32) -> Turns {
        let part = usize::try_from(max_concurrent_requests / 16).unwrap_or(AT_MOST);
        Turns {
            at_once: part.clamp(1, AT_MOST),
            waiting: Mutex::default(),
            codes: SlowLimiter::new(CODES, CODE_EVERY),
            codes_of_sites: SlowLimiter::new(2 * CODES, CODE_EVERY / 2),
        }
    }

    /// Takes a turn for a caller at this address who brings a code; `None` if that network or site has brought too many that
    /// were not accepted.
    pub(super) fn take_with_code(&self, address: IpAddr) -> Option<Turn<'_>> {
        let mut turn = self.take(address)?;
        if !self.codes.take(turn.network) {
            return None;
        }
        if !self.codes_of_sites.take(surroundings(turn.network)) {
            self.codes.give_back(turn.network);
            return None;
        }
        turn.brings_code = true;
        Some(turn)
    }

    /// Takes a turn for a caller at this address, until it is dropped; `None` if too many have one.
    pub(super) fn take(&self, address: IpAddr) -> Option<Turn<'_>> {
        let network = network(address);
        let mut waiting = self.waiting();
        let of = |is_one: &dyn Fn(IpAddr) -> bool| -> usize {
            let those = waiting.iter().filter(|(network, _)| is_one(**network));
            those.map(|(_, own)| own).sum()
        };
        let (all, own) = (of(&|_| true), of(&|it| it == network));
        let of_site = of(&|it| surroundings(it) == surroundings(network));
        if all >= self.at_once
            || of_site >= self.at_once.div_ceil(2)
            || own >= self.at_once.div_ceil(4)
        {
            return None;
        }
        waiting.insert(network, own + 1);
        Some(Turn {
            turns: self,
            network,
            brings_code: false,
        })
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        // Counts are consistent after every change, so a poisoned lock holds good ones.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A caller's turn to wait.
#[derive(Debug)]
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    network: IpAddr,
    /// Whether a code that may yet be accepted is counted.
    brings_code: bool,
}

impl Turn<'_> {
    /// Notes that the code was not accepted.
    pub(super) fn code_was_refused(&mut self) {
        self.brings_code = false;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.brings_code {
            self.turns.codes.give_back(self.network);
            self.turns
                .codes_of_sites
                .give_back(surroundings(self.network));
        }
        let mut waiting = self.turns.waiting();
        if let Some(own) = waiting.get_mut(&self.network) {
            *own -= 1;
            if *own == 0 {
                waiting.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take<'t>(turns: &'t Turns, address: &str) -> Option<Turn<'t>> {
        turns.take(address.parse().unwrap())
    }

    #[test]
    fn a_network_has_a_quarter_of_the_turns_and_gives_them_back() {
        let turns = Turns::new(256);
        let mut own: Vec<_> = (1..=4)
            .map(|last| take(&turns, &format!("2001:db8::{last}")).unwrap())
            .collect();
        assert!(take(&turns, "2001:db8::5").is_none());
        assert!(take(&turns, "2001:db8:0:1::5").is_some());
        own.pop();
        assert!(take(&turns, "2001:db8::5").is_some());
        own.clear();
        assert!(turns.waiting().is_empty());
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
    fn a_site_has_half_of_the_turns_and_brings_as_many_codes_as_two_networks() {
        let turns = Turns::new(256);
        let own: Vec<_> = (0..8)
            .map(|last| take(&turns, &format!("2001:db8:0:{last}::1")).unwrap())
            .collect();
        assert!(take(&turns, "2001:db8:0:8::1").is_none());
        assert!(take(&turns, "2001:db8:1::1").is_some());
        drop(own);

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
