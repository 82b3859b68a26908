//! How many lines each may cause.
//!
//! Some requests cost whoever sends them nothing, and with a line for each, one sender could fill the disk:
//!
//! 1. *Of nobody that was recognized*: a wrong credential, a path that nothing has, a page of the documentation. They count by
//!    the address that they come from, IPv6 by the /64 that a customer has; twenty lines a minute are enough for what bans
//!    addresses by what they find in a log. What has changed something always has its line: strangers get that for nothing
//!    nowhere. A preflight (`crate::http::cors`) changes nothing, and anybody gets its 204; nor does the revocation of a token
//!    that nobody has, for which anybody gets 200 ([`NothingChanged`](super::NothingChanged)).
//! 2. *Of a known caller beyond its rate limit* (429). They count by key or user. What is within the limit has its line.
//! 3. *Failures of the database*, each with its cause: when it does not answer, it does not answer anybody. They count
//!    together; the requests have lines of their own besides.
//!
//! What is beyond is [counted](Counts), and told at the end of the minute (docs/decisions.md, R13). Metrics count every request, whether it has a line
//! or not.

use std::net::IpAddr;
use std::time::Duration;

use slog::{KV, Logger, error, info};
use tokio::time::{Instant, interval_at};

use super::counts::Counts;
use super::request::{Caller, Request, request};
use crate::client_address::network;

const MINUTE: Duration = Duration::from_secs(60);

/// What was logged in this minute, as far as it is bounded.
#[derive(Debug, Default)]
pub struct Quotas {
    addresses: Counts<IpAddr>,
    callers: Counts<Caller>,
    failures: Counts<()>,
}

impl Quotas {
    /// Writes the line of a request, if it may have one.
    pub fn request(&self, log: &Logger, line: &Request<'_>) {
        let admitted = match (line.caller, line.client_address) {
            (Caller::Unknown, Some(address)) => line.changes || self.admit(address),
            (Caller::Unknown, None) => true,
            (caller, _) => line.status != 429 || self.callers.admit(caller),
        };
        if admitted {
            request(log, line);
        }
    }

    /// Whether one more line of this address is written.
    pub fn admit(&self, address: IpAddr) -> bool {
        self.addresses.admit(network(address))
    }

    /// Whether one more line about a failure of the database is written.
    pub fn admit_failure(&self) -> bool {
        self.failures.admit(())
    }

    /// Tells what was not written, at the end of each minute, for ever.
    pub async fn tell_each_minute(&self, log: &Logger) {
        let mut minutes = interval_at(Instant::now() + MINUTE, MINUTE);
        loop {
            minutes.tick().await;
            self.tell(log);
        }
    }

    /// Tells what was not written, now.
    pub fn tell(&self, log: &Logger) {
        for (address, count) in self.addresses.take() {
            let address = address.map(|it| it.to_string());
            unwritten(log, slog::b!("client_address" => address), count);
        }
        for (caller, count) in self.callers.take() {
            unwritten(log, caller.unwrap_or(Caller::Unknown), count);
        }
        for (_, count) in self.failures.take() {
            error!(log, "failures without a line of their own"; "count" => count);
        }
    }
}

fn unwritten(log: &Logger, whose: impl KV, count: u64) {
    info!(log, "requests without a line of their own"; whose, "count" => count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_customer_with_many_addresses_of_ipv6_is_one() {
        let quotas = Quotas::default();
        let lines = (0..1_000_u16).filter(|host| {
            let address = IpAddr::from([0x2001, 0xdb8, 0, 7, 0, 0, 0, *host]);
            quotas.admit(address)
        });
        assert_eq!(lines.count() as u64, super::super::counts::IN_FULL);
        let other = IpAddr::from([0x2001, 0xdb8, 0, 8, 0, 0, 0, 1]);
        assert!(quotas.admit(other));
    }
}
