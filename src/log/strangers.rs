//! How many lines a stranger gets.
//!
//! A wrong credential, a path that nothing has, a page of the documentation: asking for these costs nothing, and with a
//! line for each, one address could fill the disk. So lines of requests that nobody recognized has made are bounded:
//!
//! 1. They count by the address that they come from, IPv6 by the /64 that a customer has. In each minute an address gets
//!    [`IN_FULL`] lines, enough for what bans addresses by what they find in a log. The rest is counted.
//! 2. At the end of the minute there is one line for each address that would have had more, and all begin anew.
//! 3. [`ADDRESSES`] are told apart in a minute. Those that come later share what one may have.
//! 4. A success of a method that changes something always has its line: strangers get none for nothing.
//!
//! Metrics count every request, whether it has a line or not.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use slog::{Logger, info};
use tokio::time::{Instant, interval_at};

use super::request::{Request, request};
use crate::client_address::network;

/// Lines that an address gets in a minute.
pub(super) const IN_FULL: u64 = 20;

/// Addresses that are told apart in a minute, some hundred kilobytes of them.
const ADDRESSES: usize = 1_000;

const MINUTE: Duration = Duration::from_secs(60);

/// The requests of strangers in this minute, by address; without one, those that came when there was no room left.
#[derive(Debug, Default)]
pub struct Strangers(Mutex<HashMap<Option<IpAddr>, u64>>);

impl Strangers {
    /// Writes the line of a request, if it may have one.
    pub fn request(&self, log: &Logger, line: &Request<'_>) {
        let changes = !["GET", "HEAD"].contains(&line.method) && line.status < 400;
        match line.client_address {
            Some(address) if !changes && !self.admit(address) => {}
            _ => request(log, line),
        }
    }

    /// Whether one more line of this address is written (steps 1 and 3).
    pub fn admit(&self, address: IpAddr) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let network = Some(network(address));
        let known = counts.len() < ADDRESSES || counts.contains_key(&network);
        let count = counts.entry(network.filter(|_| known)).or_default();
        *count += 1;
        *count <= IN_FULL
    }

    /// Step 2, at the end of each minute, for ever.
    pub async fn tell_each_minute(&self, log: &Logger) {
        let mut minutes = interval_at(Instant::now() + MINUTE, MINUTE);
        loop {
            minutes.tick().await;
            self.tell(log);
        }
    }

    /// Step 2, now.
    pub fn tell(&self, log: &Logger) {
        let counts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (address, count) in counts.into_iter().filter(|it| it.1 > IN_FULL) {
            let address = address.map(|it| it.to_string());
            info!(log, "requests without a line of their own";
                "client_address" => address, "count" => count - IN_FULL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: usize) -> IpAddr {
        let number = u32::try_from(number).unwrap();
        IpAddr::from((0x0A00_0000 + number).to_be_bytes())
    }

    /// How many of so many lines are written.
    fn written(strangers: &Strangers, address: IpAddr, lines: u64) -> u64 {
        (0..lines).filter(|_| strangers.admit(address)).count() as u64
    }

    #[test]
    fn an_address_gets_its_lines_whatever_others_do_and_again_after_a_minute() {
        let strangers = Strangers::default();
        let log = Logger::root(slog::Discard, slog::o!());
        for _ in 0..2 {
            assert_eq!(written(&strangers, address(1), 1_000), IN_FULL);
            assert_eq!(written(&strangers, address(2), 5), 5);
            strangers.tell(&log);
        }
    }

    #[test]
    fn a_customer_with_many_addresses_of_ipv6_is_one() {
        let strangers = Strangers::default();
        let lines = (0..1_000_u16).filter(|host| {
            let address = IpAddr::from([0x2001, 0xdb8, 0, 7, 0, 0, 0, *host]);
            strangers.admit(address)
        });
        assert_eq!(lines.count() as u64, IN_FULL);
        let other = IpAddr::from([0x2001, 0xdb8, 0, 8, 0, 0, 0, 1]);
        assert!(strangers.admit(other));
    }

    #[test]
    fn addresses_beyond_those_that_are_told_apart_share_the_lines_of_one() {
        let strangers = Strangers::default();
        let lines = (0..10 * ADDRESSES).filter(|it| strangers.admit(address(*it)));
        assert_eq!(lines.count() as u64, ADDRESSES as u64 + IN_FULL);
        let kept = strangers.0.lock().unwrap().len();
        assert_eq!(kept, ADDRESSES + 1);
        // Who was known before goes on as before.
        assert_eq!(written(&strangers, address(0), 100), IN_FULL - 1);
    }
}
