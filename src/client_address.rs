//! Which address a request comes from, when it may have come through proxies.
//!
//! Any client can write `X-Forwarded-For`. Each proxy appends the address that it saw, so the
//! header grows to the right, and only what trusted proxies appended can be believed:
//!
//! 1. The peer of the connection is certain. If it is not a trusted proxy, it is the client, and the header is not read.
//! 2. Otherwise the entries are read from the right. Several header lines are one list, in order.
//! 3. An entry that is a trusted proxy vouches for the entry on its left.
//! 4. The first entry that is not one is the client.
//! 5. An entry that is not an address ends the walk: nothing on its left can be believed, and the client is the last proxy
//!    reached. The walk also ends when the entries run out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::{HeaderMap, HeaderName};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::settings::TrustedProxies;

/// The header that proxies append to.
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Returns the address that a request counts against, with IPv4-mapped IPv6 turned into IPv4.
pub(crate) fn client_address(
    peer: IpAddr,
    headers: &HeaderMap,
    trusted: &TrustedProxies,
) -> IpAddr {
    let peer = peer.to_canonical();
    if !trusted.contains(peer) {
        return peer; // step 1
    }
    let lines: Vec<_> = headers.get_all(X_FORWARDED_FOR).iter().collect();
    let lines = lines.into_iter().rev().map(|line| line.as_bytes());
    behind(peer, lines, trusted)
}

/// Steps 2 to 5: returns the client behind this trusted proxy, given the header's lines, last first.
pub(crate) fn behind<'a>(
    proxy: IpAddr,
    lines: impl Iterator<Item = &'a [u8]>,
    trusted: &TrustedProxies,
) -> IpAddr {
    let mut client = proxy;
    let entries = lines.flat_map(|line| line.rsplit(|byte| *byte == b',')); // step 2
    for entry in entries {
        let entry = entry.trim_ascii();
        if entry.is_empty() {
            continue; // RFC 9110, 5.6.1: empty elements of a list do not count.
        }
        let Some(address) = address(entry) else {
            return client; // step 5
        };
        client = address;
        if !trusted.contains(client) {
            return client; // step 4
        }
    }
    client
}

/// Parses an entry: an address, possibly with a port or in brackets, as some proxies write it.
fn address(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?;
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text);
    let address = bare
        .parse()
        .or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()))
        .ok()?;
    Some(IpAddr::to_canonical(&address))
}

/// `64:ff9b::/96`, in which translators put the addresses of IPv4 clients (RFC 6052, section 2.1).
const TRANSLATED: u128 = 0x0064_ff9b << 96;

/// Returns what a client address counts as: an IPv6 customer is given a /64, and may use any address in it. One that was
/// translated from IPv4 counts as that.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => match address.to_bits() {
            bits if bits & (u128::MAX << 32) == TRANSLATED => {
                Ipv4Addr::from_bits(bits as u32).into()
            }
            bits => Ipv6Addr::from_bits(bits & (u128::MAX << 64)).into(),
        },
    }
}

/// Returns the network around that of an address, which may well belong to a single party: a site is given an IPv6 /48, and
/// seldom more than an IPv4 /24.
pub(crate) fn surroundings(address: IpAddr) -> IpNet {
    let around = match network(address) {
        IpAddr::V4(address) => Ipv4Net::new_assert(address, 24).into(),
        IpAddr::V6(address) => Ipv6Net::new_assert(address, 48).into(),
    };
    IpNet::trunc(&around)
}

/// Returns the block that a site is part of. Whoever is given more than a site may well have all of a block: registries give a
/// provider an IPv6 /29 without asking why. IPv4 addresses are scarce, and the neighbours of an attacker should be few.
pub(crate) fn block(site: IpNet) -> IpNet {
    let block = match site {
        IpNet::V4(site) => Ipv4Net::new_assert(site.addr(), 20).into(),
        IpNet::V6(site) => Ipv6Net::new_assert(site.addr(), 29).into(),
    };
    IpNet::trunc(&block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn around_a_network_is_what_a_site_is_given() {
        let around = |text: &str| surroundings(text.parse().unwrap()).to_string();
        assert_eq!(around("2001:db8:1:2:3:4:5:6"), "2001:db8:1::/48");
        assert_eq!(around("::ffff:192.0.2.7"), "192.0.2.0/24");
    }

    #[test]
    fn a_block_has_all_that_a_provider_is_given() {
        let block = |text: &str| block(surroundings(text.parse().unwrap())).to_string();
        assert_eq!(block("2001:db8:1:2:3:4:5:6"), "2001:db8::/29");
        assert_eq!(block("192.0.2.7"), "192.0.0.0/20");
    }

    #[test]
    fn an_ipv6_client_counts_by_its_64_and_a_mapped_one_as_ipv4() {
        let network = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("64:ff9b::192.0.2.7"), "192.0.2.7");
        assert_eq!(network("64:ff9b:1::192.0.2.7"), "64:ff9b:1::");
    }

    /// The client of a request from `peer` with these header lines; 10.0.0.0/8 and fd00::/8 are trusted.
    fn client(peer: &str, lines: &[&[u8]]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(
                "x-forwarded-for",
                http::HeaderValue::from_bytes(line).unwrap(),
            );
        }
        let trusted = "10.0.0.0/8,fd00::/8".parse().unwrap();
        client_address(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn an_untrusted_peer_is_the_client_whatever_it_sends() {
        assert_eq!(client("192.0.2.1", &[b"198.51.100.1"]), "192.0.2.1");
        assert_eq!(client("::ffff:192.0.2.1", &[b"198.51.100.1"]), "192.0.2.1");
    }

    #[test]
    fn the_right_most_untrusted_entry_is_the_client() {
        assert_eq!(
            client("10.0.0.1", &[b"203.0.113.9, 198.51.100.1"]),
            "198.51.100.1"
        );
        assert_eq!(
            client("10.0.0.1", &[b"203.0.113.9, 198.51.100.1, 10.2.2.2"]),
            "198.51.100.1"
        );
        assert_eq!(
            client("::ffff:10.0.0.1", &[b"198.51.100.1,::ffff:10.2.2.2"]),
            "198.51.100.1"
        );
        assert_eq!(client("fd00::1", &[b"2001:db8::7"]), "2001:db8::7");
    }

    #[test]
    fn several_header_lines_are_one_list() {
        assert_eq!(
            client("10.0.0.1", &[b"203.0.113.9", b"198.51.100.1"]),
            "198.51.100.1"
        );
        assert_eq!(
            client("10.0.0.1", &[b"203.0.113.9, 198.51.100.1", b"10.3.3.3"]),
            "198.51.100.1"
        );
    }

    #[test]
    fn entries_may_have_ports_brackets_and_gaps() {
        assert_eq!(client("10.0.0.1", &[b"198.51.100.1:4711"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &[b"[2001:db8::7]:4711"]), "2001:db8::7");
        assert_eq!(client("10.0.0.1", &[b"[2001:db8::7]"]), "2001:db8::7");
        assert_eq!(
            client("10.0.0.1", &[b"198.51.100.1, ,\t", b""]),
            "198.51.100.1"
        );
    }

    #[test]
    fn a_malformed_entry_hides_everything_on_its_left() {
        for entry in [
            &b"unknown"[..],
            b"_hidden",
            b"198.51.100.1.5",
            b"\xff",
            b"10.0.0.0/8",
        ] {
            assert_eq!(client("10.0.0.1", &[b"203.0.113.9", entry]), "10.0.0.1");
            assert_eq!(
                client("10.0.0.1", &[b"203.0.113.9", entry, b"10.2.2.2"]),
                "10.2.2.2"
            );
        }
    }

    #[test]
    fn the_left_most_entry_is_the_client_when_all_are_trusted() {
        assert_eq!(client("10.0.0.1", &[b"10.9.9.9, 10.2.2.2"]), "10.9.9.9");
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
    }
}
