//! Ports for servers that must be given one, and that restart on the same.

use std::net::{Ipv4Addr, TcpListener};

/// Below the range that the system uses for outgoing connections, so that none of them takes the port
/// while its server is down for a moment.
const LOWEST: u16 = 10_000;
const COUNT: u16 = 20_000;

/// A loopback port that is currently free. Another process may take it before its server does.
///
/// # Panics
///
/// When a hundred ports are all taken.
pub fn free() -> u16 {
    let drawn = || {
        let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
        // The remainder is less than `COUNT`.
        LOWEST + u16::try_from((high ^ low) % u64::from(COUNT)).unwrap_or_default()
    };
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let mut ports = std::iter::repeat_with(drawn).take(100);
    ports.find(is_free).expect("loopback has a free port")
}
