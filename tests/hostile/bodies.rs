//! Bodies that arrive slowly, or in pieces: a slow sender must not hold up others.

use std::time::Duration;

use serde_json::json;
use test_support::caller::Request as Call;
use test_support::given;
use test_support::service::Service;

use crate::BINARY;
use crate::attack::bodies::{self, Cut};
use crate::attack::{self, Protocol, Request, Target};
use crate::others::Others;
use crate::process::Process;
use crate::scale::sized;

/// How many requests one address sends at once.
const EACH: u32 = 60;

/// The time the server gets to read what is sent: less than it allows a body.
const SENDING: Duration = Duration::from_secs(8);

/// Others work while many addresses have started bodies. The limit of concurrent requests, per address, is that of the
/// defaults with the 120 addresses of the full size.
async fn begun_by_many_addresses(protocol: Protocol) {
    let _turn = attack::turn().await;
    let addresses = sized(30, 120);
    let limit = (4_096 * addresses / 120).to_string();
    let service = given!(Service::own(
        BINARY,
        &[("INVOICING_MAX_CONCURRENT_REQUESTS", &limit)]
    ));
    let others = given!(Others::of(&service).await);
    let target = Target::new(service.caller.base_url());
    let held = bodies::begun(&target, &Request::token(), protocol, addresses, EACH);
    assert!(!held.is_empty(), "the attack has not begun");
    others.work(20).await;
    drop(held);
}

#[tokio::test]
async fn token_requests_begun_over_http1_leave_others_their_slots() {
    begun_by_many_addresses(Protocol::Http1).await;
}

#[tokio::test]
async fn token_requests_begun_over_http2_leave_others_their_slots() {
    begun_by_many_addresses(Protocol::Http2).await;
}

/// Six keys of one team, with more requests than may be worked on at once.
#[tokio::test]
async fn creates_begun_by_one_team_leave_another_its_slots() {
    let _turn = attack::turn().await;
    let streams = sized(100, 700);
    let limit = (streams * 6 - 100).min(4_096).to_string();
    let service = given!(Service::own(
        BINARY,
        &[("INVOICING_MAX_CONCURRENT_REQUESTS", &limit)]
    ));
    let others = given!(Others::of(&service).await);
    let target = Target::new(service.caller.base_url());
    let team = given!(service.team());
    let mut held = Vec::new();
    for _ in 0..6 {
        let key = given!(service.api_key(&team.id, "live", "read-write"));
        let create = Request::create(&key);
        for begun in (0..streams).step_by(100) {
            let streams = (streams - begun).min(100);
            let connection = bodies::begin_over_http2(&target, &create, 0, streams);
            held.push(connection.expect("the server takes a connection"));
        }
    }
    others.work(20).await;
    drop(held);
}

#[tokio::test]
async fn one_token_request_that_is_begun_leaves_the_only_slot_to_others() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(
        BINARY,
        &[("INVOICING_MAX_CONCURRENT_REQUESTS", "1")]
    ));
    let others = given!(Others::of(&service).await);
    let target = Target::new(service.caller.base_url());
    let held = bodies::begun(&target, &Request::token(), Protocol::Http1, 1, 1);
    assert_eq!(held.len(), 1, "the attack has not begun");
    others.work(5).await;
    drop(held);
}

/// The memory for many bodies in small pieces, compared with the same bodies sent plainly.
async fn pieces_cost_little(protocol: Protocol) {
    const SIZE: usize = 60_000;
    let _turn = attack::turn().await;
    let count = sized(40, 400);
    let service = given!(Service::own(BINARY, &[]));
    let others = given!(Others::of(&service).await);
    let target = Target::new(service.caller.base_url());
    let create = Request::create(&given!(service.team()).live);
    let process = Process::of(&service);
    let mut growth = [Cut::Plain, Cut::Small].map(|cut| (cut, 0.0));
    for (cut, growth) in &mut growth {
        let memory = process.watch();
        let held = bodies::unended(&target, &create, protocol, (SIZE, *cut), count);
        // A connection with such pieces may be closed before all of them are written.
        if *cut == Cut::Plain {
            assert_eq!(held.len(), count as usize, "bodies that were begun");
        }
        others.get_for(SENDING).await;
        *growth = memory.growth();
        drop(held);
    }
    // 64 MiB for 400 of them, and what the allocator retains.
    let most = 64.0 * f64::from(count) / 400.0 + 8.0;
    let more = growth[1].1 - growth[0].1;
    assert!(
        more <= most,
        "{count} bodies took {more:.0} MiB more in pieces, more than {most:.0}: {growth:?}"
    );
}

#[tokio::test]
async fn a_body_in_small_chunks_takes_no_more_than_its_size() {
    pieces_cost_little(Protocol::Http1).await;
}

/// The HTTP/2 of hyper ends a connection with so many frames that are almost empty.
#[tokio::test]
async fn a_body_in_small_frames_takes_no_more_than_its_size() {
    pieces_cost_little(Protocol::Http2).await;
}

/// What bodies of 60,000 bytes in pieces of one byte take of the cores, compared with the same bodies sent plainly.
#[tokio::test]
async fn a_body_in_chunks_of_one_byte_takes_little_of_the_cores() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[]));
    let target = Target::new(service.caller.base_url());
    let create = Request::create(&given!(service.team()).live);
    let process = Process::of(&service);
    let mut took = [Cut::Plain, Cut::Bytes].map(|cut| (cut, Duration::ZERO));
    for (cut, took) in &mut took {
        let before = process.processor_time();
        let held = bodies::unended(&target, &create, Protocol::Http1, (60_000, *cut), 40);
        tokio::time::sleep(Duration::from_secs(3)).await;
        *took = process.processor_time() - before;
        drop(held);
    }
    println!("{took:?}");
    let [(_, plainly), (_, in_pieces)] = took;
    let most = plainly * 5 + Duration::from_secs(1);
    assert!(in_pieces < most, "{took:?}");
}

#[tokio::test]
async fn a_body_in_tiny_chunks_is_refused_however_it_ends() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[]));
    let target = Target::new(service.caller.base_url());
    let create = Request::create(&given!(service.team()).live);
    let answer = |size| bodies::in_tiny_chunks(&target, &create, size).expect("an answer comes");
    // It is no product.
    let read = answer(1_000);
    assert!(
        read.starts_with("HTTP/1.1 400 ") && !read.contains("tiny pieces"),
        "{read}"
    );
    assert!(!read.contains("connection: close"), "{read}");
    let refused = answer(1_200);
    assert!(
        refused.starts_with("HTTP/1.1 400 ") && refused.contains("tiny pieces"),
        "{refused}"
    );
    assert!(refused.contains("connection: close"), "{refused}");
}

/// All addresses together may use 32 MiB of the default `transfer_memory`. What hyper has read for the others is added
/// for a while; without that bound it would be 200.
const MAX_GROWTH_MIB: f64 = 96.0;

/// Each address stays within a 64th of `transfer_memory`.
#[tokio::test]
async fn bodies_from_many_addresses_take_no_more_than_their_part() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[]));
    let others = given!(Others::of(&service).await);
    let target = Target::new(service.caller.base_url());
    let memory = Process::of(&service).watch();
    let each = (200, 11);
    let held = bodies::unended_by_many(&target, &Request::token(), each, 64_000);
    assert!(!held.is_empty(), "the attack has not begun");
    others.get_for(SENDING / 2).await;
    let growth = memory.growth();
    println!("{} connections; {growth:.0} MiB more", held.len());
    assert!(growth <= MAX_GROWTH_MIB, "memory grew by {growth:.0} MiB");
    drop(held);
}

/// Forty addresses, each within its 64th, hold all that addresses may have: 24 KiB or more for each missing body.
#[tokio::test]
async fn a_token_request_that_comes_whole_is_answered_while_others_hold_all_room() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[("INVOICING_TRANSFER_MEMORY", "16")]));
    let target = Target::new(service.caller.base_url());
    let held = bodies::begun(&target, &Request::token(), Protocol::Http1, 40, 12);
    assert_eq!(held.len(), 480, "the attack has not begun");
    tokio::time::sleep(Duration::from_secs(1)).await;
    // No shorter than theirs: it does not fit where theirs did not.
    let code = "none".repeat(100);
    let install = "i".repeat(100);
    let agent = "a".repeat(500);
    let refresh = json!({
        "grant_type": "refresh_token", "refresh_token": code, "client_id": "none", "install_id": install,
        "user_agent": agent,
    });
    for _ in 0..10 {
        let refresh = Call::new("POST", "/api/auth/mobile/token").json(&refresh);
        service.caller.send(refresh).await.expect_status(400);
    }
    drop(held);
}

/// A hundred more addresses each time, so that the last to come hold what was left for bodies that arrive at once.
#[tokio::test]
async fn a_token_request_that_comes_whole_is_answered_right_behind_many_that_do_not() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[("INVOICING_TRANSFER_MEMORY", "16")]));
    let target = Target::new(service.caller.base_url());
    let mut held = bodies::begun(&target, &Request::token(), Protocol::Http1, 40, 12);
    assert_eq!(held.len(), 480, "the attack has not begun");
    let refresh =
        json!({ "grant_type": "refresh_token", "refresh_token": "none", "client_id": "none" });
    for round in 1..=5 {
        let numbers = round * 100..(round + 1) * 100;
        held.extend(numbers.filter_map(|number| {
            bodies::announce_over_http2(&target, &Request::token(), number, 10).ok()
        }));
        let refresh = Call::new("POST", "/api/auth/mobile/token").json(&refresh);
        service.caller.send(refresh).await.expect_status(400);
    }
    drop(held);
}
