//! The attacks of this folder through the proxies of `packaging/`: others are answered through the same proxy, and the
//! memory of the service stays within its bounds.

use std::fmt::Debug;
use std::io::{ErrorKind, Read as _};
use std::time::{Duration, Instant};

use futures::future::join_all;
use test_support::caller;
use test_support::given;
use test_support::service::Service;

use crate::BINARY;
use crate::attack::bodies::Cut;
use crate::attack::{self, Protocol, Request, Target, answers, bodies, idle};
use crate::full_page;
use crate::others::Others;
use crate::people::ORIGIN;
use crate::process::Process;
use crate::proxy::{Kind, Proxy};
use crate::scale::sized;

/// By how much the service may grow during an attack, in MiB.
const MAX_GROWTH_MIB: f64 = 96.0;

/// Streams per connection that both proxies accept.
const LET: u32 = 32;

/// How long each attack lasts.
const GOES_ON: Duration = Duration::from_secs(2);

/// How long a silent connection may stay: the proxies' setting, and what a busy machine needs.
const SILENCE: Duration = Duration::from_secs(20);

/// A service behind a proxy, the longest possible page, and the process to watch.
struct Trial {
    service: Service,
    proxy: Proxy,
    others: Others,
    page: Request,
    create: Request,
}

impl Trial {
    async fn start(kind: Kind) -> Result<Self, test_support::deployment::Skip> {
        let settings = [
            // Attackers have loopback addresses, too.
            ("INVOICING_TRUSTED_PROXIES", "127.0.0.1/32"),
            // As by default: a page is work, whether it is read or not.
            ("INVOICING_RATE_LIMIT_PER_SECOND", "100"),
            ("INVOICING_RATE_LIMIT_BURST", "200"),
        ];
        let (service, team) = full_page::start(&settings).await?;
        let proxy = Proxy::start(kind, &service);
        Ok(Self {
            others: Others::of(&service).await?.through(proxy.caller()),
            page: Request::page(&team.live_read_only),
            create: Request::create(&team.live),
            proxy,
            service,
        })
    }

    /// One attack: meanwhile others are answered, and memory stays within its bounds.
    async fn survives<T>(&self, name: impl Debug, attack: impl FnOnce(&Target) -> Vec<T>) {
        let memory = Process::of(&self.service).watch();
        let begun = Instant::now();
        let held = attack(&self.proxy.target());
        let (connections, took) = (held.len(), begun.elapsed());
        assert!(connections > 0, "{name:?} has not begun");
        self.others.get_for(GOES_ON).await;
        self.others.work(5).await;
        let growth = memory.growth();
        println!("{name:?}: {connections} connections, made in {took:.1?}; {growth:.0} MiB more");
        assert!(
            growth <= MAX_GROWTH_MIB,
            "{name:?}: memory grew by {growth:.0} MiB"
        );
        drop(held);
    }
}

async fn answers_that_nobody_takes(kind: Kind) {
    let _turn = attack::turn().await;
    let trial = given!(Trial::start(kind).await);
    let connections = sized(100, 1_000);
    for (name, count, window) in [
        ("without a window", 3, 0),
        ("unread", 1, attack::http2::WIDE),
    ] {
        trial
            .survives((kind, "answers", name), |target| {
                answers::over_http2(target, &trial.page, count, window)
            })
            .await;
    }
    trial
        .survives((kind, "answers", "as many streams as are let"), |target| {
            answers::over_streams(target, &trial.page, (2, LET), 0)
        })
        .await;
    trial
        .survives((kind, "answers", Protocol::Http1), |target| {
            answers::over_http1(target, &trial.page, connections)
        })
        .await;
}

/// Enough addresses to have more requests in progress than a proxy might allow at once.
async fn answers_to_strangers_that_nobody_takes(kind: Kind) {
    let _turn = attack::turn().await;
    let trial = given!(Trial::start(kind).await);
    let addresses = sized(40, 100);
    trial
        .survives((kind, "documentation", addresses), |target| {
            answers::over_streams(target, &Request::docs(), (addresses, LET), 0)
        })
        .await;
}

async fn bodies_that_do_not_end(kind: Kind) {
    let _turn = attack::turn().await;
    let trial = given!(Trial::start(kind).await);
    let (addresses, count) = (sized(10, 120), sized(20, 400));
    for protocol in [Protocol::Http1, Protocol::Http2] {
        trial
            .survives((kind, "begun bodies", protocol), |target| {
                bodies::begun(target, &Request::token(), protocol, addresses, 60)
            })
            .await;
        trial
            .survives((kind, "bodies in pieces", protocol), |target| {
                bodies::unended(target, &trial.create, protocol, (60_000, Cut::Bytes), count)
            })
            .await;
    }
}

async fn connections_that_say_nothing(kind: Kind) {
    let _turn = attack::turn().await;
    let trial = given!(Trial::start(kind).await);
    let (connections, endless) = (sized(500, 5_000), sized(20, 200));
    trial
        .survives((kind, "headers of 390 KB"), |target| {
            idle::unfinished_headers(target, endless, 390_000)
        })
        .await;
    trial
        .survives((kind, "idle", Protocol::Http2), |target| {
            idle::http2(target, connections, connections.div_ceil(50))
        })
        .await;
    trial
        .survives((kind, "silent, without a handshake"), |target| {
            idle::silent(target, connections, connections.div_ceil(50))
        })
        .await;
}

/// A connection that never starts its TLS handshake is closed.
async fn a_handshake_that_does_not_begin(kind: Kind) {
    let service = given!(Service::own(BINARY, &[]));
    let proxy = Proxy::start(kind, &service);
    let mut stream = proxy.target().connect_only(0).expect("it listens");
    stream.set_read_timeout(Some(SILENCE)).expect("it is set");
    let begun = Instant::now();
    let ended = match stream.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    };
    assert!(ended, "{kind:?} keeps it for {:?}", begun.elapsed());
}

/// W18: the answer is the service's, whoever sends it.
async fn a_file_of_five_megabytes_reaches_the_service(kind: Kind) {
    let service = given!(Service::own(BINARY, &[]));
    let proxy = Proxy::start(kind, &service);
    let team = "01a21b1d-aaca-76ab-847d-2bbfa75f785b";
    let upload = caller::Request::new("POST", format!("/teams/{team}/products/import"));
    let upload = upload.text(vec![b'x'; 5 * 1024 * 1024]);
    let upload = upload.header("sec-fetch-site", "same-origin");
    // To sign in first.
    let answer = proxy.caller().send_unchecked(upload).await.unwrap();
    assert_eq!(answer.status, 303, "{kind:?}: {answer:?}");
}

/// They fail for the proxy, which sends others to the service all the same.
async fn bodies_that_nobody_reads(kind: Kind) {
    let service = given!(Service::own(BINARY, &[]));
    let proxy = Proxy::start(kind, &service);
    let caller = proxy.caller();
    let unread = async || {
        let unread = caller::Request::new("POST", "/nothing").text(vec![b'x'; 250_000]);
        // What becomes of it is for the one who sends it.
        let _ = caller.send_unchecked(unread).await;
    };
    let other = async || {
        let other = caller.send_unchecked(caller::Request::new("GET", "/api/v1/products"));
        let answer = other.await.expect("an answer comes");
        assert_eq!(answer.status, 401, "{kind:?}: {answer:?}");
    };
    let begun = Instant::now();
    while begun.elapsed() < GOES_ON {
        join_all((0..10).map(async |_| tokio::join!(unread(), other()))).await;
    }
}

/// The head of the redirect is not too long for the proxy.
async fn the_longest_way_back_from_signing_in(kind: Kind) {
    let service = given!(Service::own(BINARY, &[("INVOICING_ORIGIN", ORIGIN)]));
    let proxy = Proxy::start(kind, &service);
    // Nearly as much as the client of this test takes.
    let path = format!("/account?{}", "&".repeat(4_500));
    let caller = proxy.caller();
    let asked = caller.send_unchecked(caller::Request::new("GET", path));
    let answer = asked.await.expect("an answer comes");
    assert_eq!(answer.status, 303, "{kind:?}: {answer:?}");
    let sign_in = answer.header("location").expect("the sign-in page");
    assert!(sign_in.len() > 13_000, "{sign_in}");
}

mod haproxy {
    use super::Kind::Haproxy;

    #[tokio::test]
    async fn answers_that_nobody_takes_cost_others_nothing() {
        super::answers_that_nobody_takes(Haproxy).await;
    }

    #[tokio::test]
    async fn answers_to_strangers_that_nobody_takes_cost_others_nothing() {
        super::answers_to_strangers_that_nobody_takes(Haproxy).await;
    }

    #[tokio::test]
    async fn bodies_that_do_not_end_cost_others_nothing() {
        super::bodies_that_do_not_end(Haproxy).await;
    }

    #[tokio::test]
    async fn connections_that_say_nothing_cost_others_nothing() {
        super::connections_that_say_nothing(Haproxy).await;
    }

    #[tokio::test]
    async fn a_handshake_that_does_not_begin_is_ended() {
        super::a_handshake_that_does_not_begin(Haproxy).await;
    }

    #[tokio::test]
    async fn the_longest_way_back_from_signing_in_passes() {
        super::the_longest_way_back_from_signing_in(Haproxy).await;
    }

    #[tokio::test]
    async fn bodies_that_nobody_reads_fail_alone() {
        super::bodies_that_nobody_reads(Haproxy).await;
    }

    #[tokio::test]
    async fn a_file_of_five_megabytes_reaches_the_service() {
        super::a_file_of_five_megabytes_reaches_the_service(Haproxy).await;
    }
}

mod nginx {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use test_support::caller::{self, Caller};
    use test_support::given;
    use test_support::port;
    use test_support::service::Service;

    use super::Kind::Nginx;
    use crate::BINARY;
    use crate::proxy::Proxy;

    #[tokio::test]
    async fn answers_that_nobody_takes_cost_others_nothing() {
        super::answers_that_nobody_takes(Nginx).await;
    }

    #[tokio::test]
    async fn answers_to_strangers_that_nobody_takes_cost_others_nothing() {
        super::answers_to_strangers_that_nobody_takes(Nginx).await;
    }

    #[tokio::test]
    async fn bodies_that_do_not_end_cost_others_nothing() {
        super::bodies_that_do_not_end(Nginx).await;
    }

    #[tokio::test]
    async fn connections_that_say_nothing_cost_others_nothing() {
        super::connections_that_say_nothing(Nginx).await;
    }

    #[tokio::test]
    async fn a_handshake_that_does_not_begin_is_ended() {
        super::a_handshake_that_does_not_begin(Nginx).await;
    }

    #[tokio::test]
    async fn the_longest_way_back_from_signing_in_passes() {
        super::the_longest_way_back_from_signing_in(Nginx).await;
    }

    #[tokio::test]
    async fn bodies_that_nobody_reads_fail_alone() {
        super::bodies_that_nobody_reads(Nginx).await;
    }

    #[tokio::test]
    async fn a_file_of_five_megabytes_reaches_the_service() {
        super::a_file_of_five_megabytes_reaches_the_service(Nginx).await;
    }

    /// One server more, which tells as which network it counts the address in a header.
    #[tokio::test]
    async fn addresses_of_ipv4_count_one_by_one_however_they_are_written() {
        let service = given!(Service::own(BINARY, &[]));
        let address = format!("127.0.0.1:{}", port::free());
        let more = format!(
            "server {{ listen {address}; set_real_ip_from 127.0.0.1; real_ip_header X-Client; \
                 location / {{ return 200 $network; }} }}"
        );
        let _proxy = Proxy::start_with(Nginx, &service, &more);
        let caller = Caller::new(format!("http://{address}"));
        for (client, network) in [
            (
                "192.0.2.1",
                "192.0.2.1".parse::<Ipv4Addr>().unwrap().octets().to_vec(),
            ),
            ("::ffff:192.0.2.1", of_ipv6("::ffff:192.0.2.1", 16)),
            ("64:ff9b::192.0.2.1", of_ipv6("64:ff9b::192.0.2.1", 16)),
            ("2001:db8:1:2:3:4:5:6", of_ipv6("2001:db8:1:2::", 8)),
            ("::1:ffff:192.0.2.1", of_ipv6("::", 8)),
        ] {
            let request = caller::Request::new("GET", "/").header("x-client", client);
            let answer = caller
                .send_unchecked(request)
                .await
                .expect("an answer comes");
            assert_eq!(answer.body, network, "{client}");
        }
    }

    fn of_ipv6(address: &str, bytes: usize) -> Vec<u8> {
        let address: Ipv6Addr = address.parse().unwrap();
        address.octets()[..bytes].to_vec()
    }
}
