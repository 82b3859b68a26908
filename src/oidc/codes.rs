//! Limits how many codes anybody may bring.
//!
//! Even an invented code costs a request to the provider, in the name of this server; and a provider, or a firewall in front of
//! it, that gets too many from one client refuses all of them. So:
//!
//! 1. A stranger is counted by network, by site and by block: a person may have all of any of them. Each may have a few codes at
//!    once, and then one every [`EVERY`] seconds.
//! 2. All strangers together may have [`ALL`]. Once these are used up, only the first code of a block is let through, as that of
//!    an honest user mostly is: most attackers have few blocks. Of such, too, there are [so many](FIRST) at most.
//! 3. A returning browser has as many as a network, counted by the user who came back there: so no stranger uses them up.
//! 4. A code for which a good ID token comes is counted by the account there instead, as far as that has fewer than a network
//!    may: its owner can get as many of them as they like. Any other that was sent stays counted, whatever became of it: one
//!    that did not reach the provider may be the reason for that.

use std::net::IpAddr;
use std::time::Instant;

use ipnet::IpNet;

use crate::client_address::{block, network, surroundings};
use crate::domain::id::UserId;
use crate::domain::secret::Digest;
use crate::limit::{Limiter, Policy, SlowLimiter};

/// How many a network may have at once.
pub(super) const OF_NETWORK: u32 = 5;
const OF_SITE: u32 = 10;
/// As many as wait for the provider at once: a good code counts, too, until the provider has answered.
const OF_BLOCK: u32 = 64;

/// After how many seconds each may have one more.
const EVERY: u32 = 10;

/// How many all strangers may have.
const ALL: Policy = Policy {
    per_second: 2,
    burst: OF_BLOCK,
};

/// How many blocks may have their first one once these are used up.
const FIRST: Policy = Policy {
    per_second: 5,
    burst: 50,
};

/// Whose codes are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum By {
    /// The user who came back to the caller's browser before.
    User(UserId),
    /// An account at the provider, by the SHA-256 of its subject.
    Account([u8; 32]),
    Network(IpAddr),
    Site(IpNet),
    Block(IpNet),
    Strangers,
    /// Strangers whose code is the first of their block.
    First,
}

/// How many codes were brought that are not known to be accepted.
#[derive(Debug)]
pub(super) struct Codes {
    of_each: SlowLimiter<By>,
    of_sites: SlowLimiter<By>,
    of_blocks: SlowLimiter<By>,
    of_strangers: Limiter<By>,
    of_first: Limiter<By>,
}

/// A code that is counted, unless it was not sent when this is dropped.
#[derive(Debug)]
pub(super) struct Code<'c> {
    codes: &'c Codes,
    counted: Vec<By>,
    is_sent: bool,
}

impl Default for Codes {
    fn default() -> Codes {
        Codes {
            of_each: SlowLimiter::new(OF_NETWORK, EVERY),
            of_sites: SlowLimiter::new(OF_SITE, EVERY),
            of_blocks: SlowLimiter::new(OF_BLOCK, EVERY),
            of_strangers: Limiter::new(ALL),
            of_first: Limiter::new(FIRST),
        }
    }
}

impl Codes {
    /// Counts a code of a browser to which this user came back before; `None` if there were too many.
    pub(super) fn of_returning(&self, user_id: UserId) -> Option<Code<'_>> {
        let mut code = self.uncounted();
        code.count(By::User(user_id)).then_some(code)
    }

    /// Counts a code of a stranger at this address; `None` if there were too many.
    pub(super) fn of_stranger(&self, address: IpAddr) -> Option<Code<'_>> {
        let site = surroundings(address);
        let block = By::Block(block(site));
        let is_first = self.of_blocks.earlier(block) == 0;
        let mut code = self.uncounted();
        let by_address = [By::Network(network(address)), By::Site(site), block];
        let is_within = by_address.into_iter().all(|by| code.count(by))
            && (code.count(By::Strangers) || is_first && code.count(By::First)); // step 2
        is_within.then_some(code)
    }

    /// How many codes of this network are counted.
    #[cfg(test)]
    pub(super) fn of_network(&self, address: IpAddr) -> u64 {
        let network = By::Network(network(address));
        self.of_each.earlier(network)
    }

    fn uncounted(&self) -> Code<'_> {
        Code {
            codes: self,
            counted: Vec::new(),
            is_sent: false,
        }
    }

    fn take(&self, by: By) -> bool {
        match by {
            By::User(_) | By::Account(_) | By::Network(_) => self.of_each.take(by),
            By::Site(_) => self.of_sites.take(by),
            By::Block(_) => self.of_blocks.take(by),
            By::Strangers => self.of_strangers.take(by, Instant::now()).allowed(),
            By::First => self.of_first.take(by, Instant::now()).allowed(),
        }
    }

    fn give_back(&self, by: By) {
        match by {
            By::User(_) | By::Account(_) | By::Network(_) => self.of_each.give_back(by),
            By::Site(_) => self.of_sites.give_back(by),
            By::Block(_) => self.of_blocks.give_back(by),
            By::Strangers => self.of_strangers.give_back(by),
            By::First => self.of_first.give_back(by),
        }
    }
}

impl Code<'_> {
    fn count(&mut self, by: By) -> bool {
        let is_within = self.codes.take(by);
        if is_within {
            self.counted.push(by);
        }
        is_within
    }

    /// Notes that it is sent to the provider.
    pub(super) fn note_sent(&mut self) {
        self.is_sent = true;
    }

    /// Counts it by this account instead, unless that has had too many: step 4.
    pub(super) fn note_account(&mut self, subject: &str) {
        let account = By::Account(*Digest::of(subject.as_bytes()).as_bytes());
        if self.codes.take(account) {
            for by in self.counted.drain(..) {
                self.codes.give_back(by);
            }
        }
    }
}

impl Drop for Code<'_> {
    fn drop(&mut self) {
        if !self.is_sent {
            for by in &self.counted {
                self.codes.give_back(*by);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(number: u128) -> UserId {
        UserId(uuid::Uuid::from_u128(number))
    }

    fn sent(code: Option<Code<'_>>) -> Option<Code<'_>> {
        code.map(|mut code| {
            code.note_sent();
            code
        })
    }

    /// Whether a code of a stranger at this address is sent to the provider, which does not take it.
    fn is_sent(codes: &Codes, address: [u8; 4]) -> bool {
        sent(codes.of_stranger(address.into())).is_some()
    }

    #[test]
    fn a_network_brings_few_codes_that_are_not_taken_and_any_number_that_are_not_sent() {
        let codes = Codes::default();
        for _ in 0..100 {
            drop(codes.of_stranger([192, 0, 2, 1].into()).unwrap());
        }
        for _ in 0..OF_NETWORK {
            assert!(is_sent(&codes, [192, 0, 2, 1]));
        }
        assert!(!is_sent(&codes, [192, 0, 2, 1]));
        assert!(is_sent(&codes, [192, 0, 2, 2]));
    }

    #[test]
    fn a_code_with_a_good_token_counts_for_its_account_until_there_were_too_many() {
        let codes = Codes::default();
        let address = [192, 0, 2, 1].into();
        for number in 0..100 {
            let mut code = sent(codes.of_stranger(address)).unwrap();
            code.note_account(&number.to_string());
        }
        for _ in 1..OF_NETWORK {
            let mut code = sent(codes.of_returning(user(1))).unwrap();
            code.note_account("1");
        }
        assert_eq!(codes.of_network(address), 0);
        for _ in 0..OF_NETWORK {
            let mut code = sent(codes.of_stranger(address)).unwrap();
            code.note_account("1");
        }
        assert!(codes.of_stranger(address).is_none());
        codes.of_returning(user(1)).unwrap();
    }

    #[test]
    fn a_site_brings_as_many_codes_as_two_networks_and_a_block_as_six_sites() {
        let more_than_enough = Policy {
            per_second: 1_000,
            burst: 1_000,
        };
        let codes = Codes {
            of_strangers: Limiter::new(more_than_enough),
            ..Codes::default()
        };
        let of_site = (0..99).filter(|last| is_sent(&codes, [192, 0, 2, *last]));
        assert_eq!(of_site.count(), 10);
        // Nothing is left of what came to nothing.
        assert_eq!(codes.of_network([192, 0, 2, 50].into()), 0);
        let of_others = (0..200).filter(|last| is_sent(&codes, [192, 0, 3 + last % 8, *last]));
        assert_eq!(of_others.count(), 54);
    }

    #[test]
    fn once_strangers_have_used_up_all_only_the_first_codes_of_fifty_blocks_are_let_through() {
        let codes = Codes::default();
        for last in 0..80 {
            is_sent(&codes, [192, 0, 2 + last % 8, last]);
        }
        let (mut first, mut others) = (0, 0);
        for block in 0..100 {
            first += usize::from(is_sent(&codes, [198, block, 0, 1]));
            others += usize::from(is_sent(&codes, [198, block, 0, 2]));
        }
        // A few come back meanwhile.
        assert!(
            (50..60).contains(&first) && others < 10,
            "{first}, {others}"
        );
    }

    #[test]
    fn a_returning_browser_brings_codes_for_its_user_alone() {
        let codes = Codes::default();
        for _ in 0..OF_NETWORK {
            drop(sent(codes.of_returning(user(1))).unwrap());
        }
        assert!(codes.of_returning(user(1)).is_none());
        drop(codes.of_returning(user(2)).unwrap());
    }
}
