//! Where the server is reachable, and how many connections it can take.

use std::net::{IpAddr, Ipv4Addr};

use nix::sys::resource::{Resource, getrlimit};

use super::Subject;
use super::finding::Finding;
use crate::settings::{Origin, TrustedProxies};

/// Files that a server has open besides client connections: database, log, listeners.
const OWN_FILES: u64 = 100;

/// With fewer, a few browsers are enough to keep all others out.
const LEAST_FILES: u64 = 256;

/// The addresses to listen on.
pub(super) fn listen(subject: &Subject) -> Vec<Finding> {
    const CHECK: &str = "listen";
    let settings = &subject.settings;
    let is_open = |address: std::net::SocketAddr| !address.ip().to_canonical().is_loopback();
    let mut findings = Vec::new();
    if is_open(settings.listen) && settings.tls().is_none() {
        let found = format!("{} is reached by others, and in clear", settings.listen);
        let to_do =
            "give tls_cert and tls_key, or listen on 127.0.0.1 behind a proxy that speaks TLS";
        findings.push(Finding::warn(CHECK, found, to_do));
    }
    if let Some(address) = settings.operations_listen
        && address.ip().is_unspecified()
    {
        let found =
            format!("operations_listen is {address}: all networks reach it, without a credential");
        let to_do = "give it an address that only operators reach, such as 127.0.0.1:9090";
        findings.push(Finding::bad(CHECK, found, to_do));
    }
    if findings.is_empty() {
        findings.push(Finding::good(CHECK, settings.listen.to_string()));
    }
    findings
}

/// The origin of the pages.
pub(super) fn origin(subject: &Subject) -> Vec<Finding> {
    const CHECK: &str = "origin";
    let Some(origin) = subject.settings.origin() else {
        let found = "there are no pages, since public_url has a path";
        let to_do = "give origin, such as https://invoices.example.com, if people are to have them";
        return vec![Finding::warn(CHECK, found, to_do)];
    };
    let shown = origin.as_str();
    vec![if !origin.may_sign_in() {
        let found =
            format!("nobody can sign in at {shown}: browsers keep a session by https alone");
        Finding::bad(CHECK, found, "give an origin that begins with https://")
    } else if !origin.is_secure() {
        let found = format!("{shown} is reached from this machine alone");
        let to_do = "give origin, such as https://invoices.example.com, before others use it";
        Finding::warn(CHECK, found, to_do)
    } else {
        Finding::good(CHECK, shown)
    }]
}

/// Which proxies are believed about where a request comes from.
pub(super) fn proxies(subject: &Subject) -> Vec<Finding> {
    const CHECK: &str = "proxies";
    let settings = &subject.settings;
    let trusted = &settings.trusted_proxies;
    let is_behind_one = settings.tls().is_none()
        && settings.listen.ip().to_canonical().is_loopback()
        && settings.origin().is_some_and(|it| Origin::is_secure(&it));
    let trusts = |host: [u8; 4]| trusted.contains(IpAddr::from(Ipv4Addr::from(host)));
    // Addresses of networks reserved for documentation, which belong to no client.
    vec![if trusts([192, 0, 2, 1]) && trusts([203, 0, 113, 1]) {
        let found =
            "trusted_proxies has everybody in it: who writes X-Forwarded-For chooses an address";
        let to_do = "list the addresses of your proxies alone";
        Finding::bad(CHECK, found, to_do)
    } else if is_behind_one && *trusted == TrustedProxies::default() {
        let found = "a proxy seems to stand in front, and trusted_proxies is empty: everybody counts as one client";
        let to_do =
            "give trusted_proxies, such as 127.0.0.1, and have the proxy set X-Forwarded-For";
        Finding::warn(CHECK, found, to_do)
    } else if *trusted == TrustedProxies::default() {
        Finding::good(CHECK, "none is trusted, and none is needed")
    } else {
        Finding::good(CHECK, "trusted_proxies names them")
    }]
}

/// How many files this process may open; each connection is one.
pub(super) fn descriptors(subject: &Subject) -> Vec<Finding> {
    const CHECK: &str = "descriptors";
    let to_do = "raise the limit: LimitNOFILE=65536 in a unit of systemd, `ulimit -Hn` in a shell";
    // A server raises its soft limit to the hard limit.
    let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return vec![Finding::warn(CHECK, "the limit is not known", to_do)];
    };
    let wanted = u64::from(subject.settings.max_concurrent_requests) + OWN_FILES;
    let found = format!("{most} files may be open, as far as whoever asks is concerned");
    vec![if most < LEAST_FILES {
        Finding::bad(CHECK, found, to_do)
    } else if most < wanted {
        let found = format!("{found}; max_concurrent_requests asks for {wanted}");
        Finding::warn(CHECK, found, to_do)
    } else {
        Finding::good(CHECK, found)
    }]
}
