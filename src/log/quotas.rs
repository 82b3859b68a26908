//! Limits how many log lines each client or caller may cause.
//!
//! Some requests cost their sender nothing, and with a line for each, one sender could fill the disk:
//!
//! 1. *Of an unrecognized caller*: a wrong credential, a path that does not exist, a page of the documentation. They count
//!    by client address, IPv6 by the /64 that a customer has (by site once there are too many), and by [kind](Kind): a
//!    client that has just read twenty pages is still seen by a tool that looks for wrong passwords in a log, and twenty
//!    lines a minute are enough for that. A request that changed something always has its line: nothing lets strangers
//!    change something for free. A preflight (`crate::http::cors`) changes nothing, and always gets 204; nor does the
//!    revocation of an unknown token, which always gets 200 ([`NothingChanged`](super::NothingChanged)).
//! 2. *Of a known caller beyond its rate limit* (429). They count by key or user. Requests within the limit have their
//!    lines.
//! 3. *Failures of the database*, each with its cause: when it does not answer, it does not answer any request. They count
//!    together, as do *errors of the program*; the requests also have lines of their own.
//! 4. *Tokens and codes that came twice*, by session: whoever has a spent one may present it again and again.
//!
//! Lines beyond these limits are [counted](Counts), and reported at the end of the minute (docs/decisions.md, R13). Metrics
//! count every request, whether it has a line or not.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use slog::{KV, Logger, error, info};
use tokio::time::{Instant, interval_at};

use super::counts::Counts;
use super::request::{Caller, ErrorCode, Request, request};
use crate::client_address::{network, surroundings};
use crate::domain::id::SessionId;

const MINUTE: Duration = Duration::from_secs(60);

/// Error codes of requests that failed to prove an identity. `packaging/fail2ban` looks for the same.
const NOT_PROVEN: [&str; 5] = [
    "invalid_token",
    "wrong_password",
    "too_many_wrong_passwords",
    "passkey_refused",
    "identity_not_proven",
];

/// What an unrecognized caller asked for.
#[derive(Clone, Copy)]
enum Kind {
    /// To be accepted as a user or key, without proof.
    NotProven,
    /// Something that does not exist.
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

/// The bounded lines of this minute.
#[derive(Debug, Default)]
pub struct Quotas {
    /// By [`Kind`].
    addresses: [Counts<IpAddr>; 3],
    /// Those for which there is no room there: somebody may have thousands.
    sites: [Counts<IpNet>; 3],
    callers: Counts<Caller>,
    /// By whether it is an error of the program.
    failures: Counts<bool>,
    /// By session.
    stolen: Counts<SessionId>,
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

    /// Whether one more line of this kind is written for an unrecognized caller at this address.
    pub(super) fn admit(&self, address: IpAddr, line: &Request<'_>) -> bool {
        let kind = Kind::of(line) as usize;
        let of_address = self.addresses[kind].admit_apart(network(address));
        of_address.unwrap_or_else(|| self.sites[kind].admit(surroundings(address)))
    }

    /// Whether one more line is written about a failure of the database or, if `is_bug`, an error of the program.
    pub fn admit_failure(&self, is_bug: bool) -> bool {
        self.failures.admit(is_bug)
    }

    /// Whether one more line is written about a token or code of this session that came twice.
    pub fn admit_stolen(&self, session_id: SessionId) -> bool {
        self.stolen.admit(session_id)
    }

    /// Reports the lines that were not written, at the end of each minute, forever.
    pub async fn tell_each_minute(&self, log: &Logger) {
        let mut minutes = interval_at(Instant::now() + MINUTE, MINUTE);
        loop {
            minutes.tick().await;
            self.tell(log);
        }
    }

    /// Reports the lines that were not written, now.
    pub fn tell(&self, log: &Logger) {
        let mut unwritten_of = BTreeMap::new();
        let of_addresses = self.addresses.iter().flat_map(Counts::take);
        let of_addresses =
            of_addresses.map(|(address, count)| (address.map(|it| it.to_string()), count));
        let of_sites = self.sites.iter().flat_map(Counts::take);
        let of_sites = of_sites.map(|(site, count)| (site.map(|it| it.to_string()), count));
        for (whose, count) in of_addresses.chain(of_sites) {
            *unwritten_of.entry(whose).or_default() += count;
        }
        for (address, count) in unwritten_of {
            unwritten(log, slog::b!("client_address" => address), count);
        }
        for (caller, count) in self.callers.take() {
            unwritten(log, caller.unwrap_or(Caller::Unknown), count);
        }
        for (session_id, count) in self.stolen.take() {
            let session_id = session_id.map(|it| it.to_string());
            unwritten(log, slog::b!("session_id" => session_id), count);
        }
        for (is_bug, count) in self.failures.take() {
            let of = if is_bug == Some(true) {
                "program"
            } else {
                "database"
            };
            error!(log, "failures without a line of their own"; "of" => of, "count" => count);
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
    fn a_site_with_thousands_of_networks_hides_nobody_else() {
        let quotas = Quotas::default();
        let line = line(401, Some("invalid_token"));
        let network = |number| IpAddr::from([0x2001, 0xdb8, 0, number, 0, 0, 0, 1]);
        assert_eq!(written(&quotas, &line, network), 1_000);
        assert_eq!(written(&quotas, &line, |it| network(1_000 + it)), IN_FULL);
        let other = |_| IpAddr::from([198, 51, 100, 7]);
        assert_eq!(written(&quotas, &line, other), IN_FULL);
    }

    #[test]
    fn who_asks_for_much_is_still_seen_to_guess_and_to_probe() {
        let quotas = Quotas::default();
        let one = |_| IpAddr::from([198, 51, 100, 7]);
        // A form with a missing field is not a guess.
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
