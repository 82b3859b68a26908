//! Answers that nobody takes: they must not pile up in memory, nor keep others from theirs.

use std::time::Duration;

use serde_json::json;
use test_support::caller::Request;
use test_support::deployment::Skip;
use test_support::given;
use test_support::service::Service;

use crate::BINARY;
use crate::attack::{self, Connection, Target, answers, http2};
use crate::others::Others;
use crate::process::Process;
use crate::scale::sized;

/// What may pile up in all, with all that it takes to make it, in MiB.
const MOST: f64 = 96.0;

/// How long the attack goes on. What it leaves behind was there within two seconds.
const GOES_ON: Duration = Duration::from_secs(5);

/// How long a server with such peers may take to stop, in seconds.
const STOPS_WITHIN: u64 = 15;

/// A server, a key of an attacker who has filled a page as far as it goes, and others.
struct Given {
    service: Service,
    target: Target,
    page: attack::Request,
    others: Others,
}

async fn given() -> Result<Given, Skip> {
    let service = Service::own(BINARY, &[])?;
    let team = service.team()?;
    // Six bytes for each character, and what a page needs beside.
    let product = json!({
        "name": "\u{1}".repeat(255),
        "description": "\u{1}".repeat(2000),
        "unitPrice": 1,
        "currency": "EUR",
    });
    for _ in 0..100 {
        let create = Request::new("POST", "/api/v1/products").bearer(&team.live);
        let created = service.caller.send(create.json(&product)).await;
        created.expect_status(201);
    }
    Ok(Given {
        target: Target::new(service.caller.base_url()),
        page: attack::Request::page(&team.live_read_only),
        others: Others::of(&service).await?,
        service,
    })
}

/// Others are answered while the attack goes on, memory stays in its bounds, and the server can be stopped.
async fn survives(given: Given, attack: impl FnOnce(&Given) -> Vec<Connection>) {
    let process = Process::of(&given.service);
    let memory = process.watch();
    let held = attack(&given);
    assert!(!held.is_empty(), "the attack has not begun");
    given.others.get_for(GOES_ON).await;
    let growth = memory.growth();
    assert!(
        growth <= MOST,
        "memory grew by {growth:.0} MiB, more than {MOST:.0}"
    );
    let took = process.stop();
    assert!(took.as_secs() < STOPS_WITHIN, "it took {took:?} to stop");
    drop(held);
}

#[tokio::test]
async fn one_connection_without_a_window_piles_up_no_answers() {
    let _turn = attack::turn().await;
    let given = given!(given().await);
    survives(given, |given| {
        answers::over_http2(&given.target, &given.page, 1, 0)
    })
    .await;
}

#[tokio::test]
async fn three_connections_without_a_window_pile_up_no_answers() {
    let _turn = attack::turn().await;
    let given = given!(given().await);
    survives(given, |given| {
        answers::over_http2(&given.target, &given.page, 3, 0)
    })
    .await;
}

#[tokio::test]
async fn a_connection_with_a_wide_window_that_is_not_read_piles_up_no_answers() {
    let _turn = attack::turn().await;
    let given = given!(given().await);
    survives(given, |given| {
        answers::over_http2(&given.target, &given.page, 1, http2::WIDE)
    })
    .await;
}

#[tokio::test]
async fn connections_of_http1_that_are_not_read_pile_up_no_answers() {
    let _turn = attack::turn().await;
    let given = given!(given().await);
    let connections = sized(300, 1_000);
    survives(given, |given| {
        answers::over_http1(&given.target, &given.page, connections)
    })
    .await;
}
