//! How many lines each may cause.
//!
//! Some requests cost whoever sends them nothing, and with a line for each, one sender could fill the disk:
//!
//! 1. *Of nobody that was recognized*: a wrong credential, a path that nothing has, a page of the documentation. They count by
//!    the address that they come from, IPv6 by the /64 that a customer has, and each [kind](Kind) by itself: who has just read
//!    twenty pages is seen all the same by what looks for wrong passwords in a log, and twenty lines a minute are enough for
//!    that. What has changed something always has its line: strangers get that for nothing nowhere. A preflight
//!    (`crate::http::cors`) changes nothing, and anybody gets its 204; nor does the revocation of a token that nobody has, for
//!    which anybody gets 200 ([`NothingChanged`](super::NothingChanged)).
//! 2. *Of a known caller beyond its rate limit* (429). They count by key or user. What is within the limit has its line.
//! 3. *Failures of the database*, each with its cause: when it does not answer, it does not answer anybody. They count
//!    together; the requests have lines of their own besides.
//!
//! What is beyond is [counted](Counts), and told at the end of the minute (docs/decisions.md, R13). Metrics count every
//! request, whether it has a line or not.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use slog::{KV, Logger, error, info};
use tokio::time::{Instant, interval_at};

use super::counts::Counts;
use super::request::{Caller, ErrorCode, Request, request};
use crate::client_address::network;

const MINUTE: Duration = Duration::from_secs(60);

/// Why a request was refused that was to show who somebody is. `packaging/fail2ban` looks for the same.
const NOT_PROVEN: [&str; 5] = [
    "invalid_token",
    "wrong_password",
    "too_many_wrong_passwords",
    "passkey_refused",
    "identity_not_proven",
];

/// What nobody that was recognized has asked for.
#[derive(Clone, Copy)]
enum Kind {
    /// To be somebody, who they are not.
    NotProven,
    /// Something that is not there.
    NotFound,
    /// Anything else.
    Other,
}

impl Kind {
    fn of(line: &Request<'_>) -> Kind {
        match (line.status, line.error_code) {
            (_, Some(ErrorCode(code))) if NOT_PROVEN.contains(&code) => Kind::NotProven,
            (404, _) => Kind::NotFound,
            _ => Kind::Other,
        }
    }
}

/// What was logged in this minute, as far as it is bounded.
#[derive(Debug, Default)]
pub struct Quotas {
    /// By [`Kind`].
    addresses: [Counts<IpAddr>; 3],
    callers: Counts<Caller>,
    failures: Counts<()>,
}

impl Quotas {
    /// Writes the line of a request, if it may have one.
    pub fn request(&self, log: &Logger, line: &Request<'_>) {
        let admitted = match (line.caller, line.client_address) {
            (Caller::Unknown, Some(address)) => line.changes || self.admit(address, line),
            (Caller::Unknown, None) => true,
            (caller, _) => line.status != 429 || self.callers.admit(caller),
        };
        if admitted {
            request(log, line);
        }
    }

    /// Whether one more line of this kind is written of nobody at this address.
    pub(super) fn admit(&self, address: IpAddr, line: &Request<'_>) -> bool {
        self.addresses[Kind::of(line) as usize].admit(network(address))
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
        let mut unwritten_of = BTreeMap::new();
        for (address, count) in self.addresses.iter().flat_map(Counts::take) {
            *unwritten_of.entry(address).or_default() += count;
        }
        for (address, count) in unwritten_of {
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
    use crate::log::counts::IN_FULL;

    fn line(status: u16, error_code: Option<&'static str>) -> Request<'static> {
        Request {
            method: "GET",
            route: None,
            path: None,
            status,
            error_code: error_code.map(ErrorCode),
            bytes: None,
            latency: Duration::ZERO,
            request_id: "",
            changes: false,
            caller: Caller::Unknown,
            client_address: None,
            trace_id: None,
        }
    }

    /// How many of a thousand such lines are written.
    fn written(quotas: &Quotas, line: &Request<'_>, address: impl Fn(u16) -> IpAddr) -> u64 {
        let written = (0..1_000).filter(|number| quotas.admit(address(*number), line));
        written.count() as u64
    }

    #[test]
    fn a_customer_with_many_addresses_of_ipv6_is_one() {
        let quotas = Quotas::default();
        let line = line(200, None);
        let host = |host| IpAddr::from([0x2001, 0xdb8, 0, 7, 0, 0, 0, host]);
        assert_eq!(written(&quotas, &line, host), IN_FULL);
        let other = IpAddr::from([0x2001, 0xdb8, 0, 8, 0, 0, 0, 1]);
        assert!(quotas.admit(other, &line));
    }

    #[test]
    fn who_asks_for_much_is_still_seen_to_guess_and_to_probe() {
        let quotas = Quotas::default();
        let one = |_| IpAddr::from([198, 51, 100, 7]);
        // A form that is not filled in is no guess.
        assert_eq!(written(&quotas, &line(422, Some("no_email")), one), IN_FULL);
        assert_eq!(written(&quotas, &line(200, None), one), 0);
        assert_eq!(written(&quotas, &line(404, None), one), IN_FULL);
        assert_eq!(
            written(&quotas, &line(422, Some("wrong_password")), one),
            IN_FULL
        );
        assert_eq!(written(&quotas, &line(401, Some("invalid_token")), one), 0);
    }

    #[test]
    fn fail2ban_looks_for_every_code_that_has_lines_of_its_own() {
        let filter = include_str!("../../packaging/fail2ban/filter.d/invoicing.conf");
        for code in NOT_PROVEN {
            assert!(filter.contains(code), "{code}");
        }
    }
}
