//! Answers that are never read: they must not pile up in memory, nor keep others from getting theirs.

use std::time::{Duration, Instant};

use serde_json::json;
use test_support::caller::Request;
use test_support::deployment::Skip;
use test_support::given;
use test_support::service::Service;

use crate::BINARY;
use crate::attack::{self, Connection, Target, answers, http2};
use crate::full_page;
use crate::others::Others;
use crate::people;
use crate::process::Process;
use crate::scale::sized;

/// What may pile up in total, with everything needed to make it, in MiB.
const MAX_GROWTH_MIB: f64 = 96.0;

/// What may pile up if all answers share their bytes, in MiB.
const MOST_SHARED: f64 = 32.0;

/// How long the attack lasts. What it leaves behind had appeared within two seconds.
const GOES_ON: Duration = Duration::from_secs(5);

/// Longer than any attack takes to have an effect.
const EFFECT_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a server with such peers may take to stop, in seconds.
const STOPS_WITHIN: u64 = 15;

/// A server, the request of an attacker, and other callers.
struct Given {
    service: Service,
    target: Target,
    request: attack::Request,
    others: Others,
}

impl Given {
    async fn new(service: Service, request: attack::Request) -> Result<Self, Skip> {
        Ok(Self {
            target: Target::new(service.caller.base_url()),
            others: Others::of(&service).await?,
            request,
            service,
        })
    }

    /// The attacker has filled a page to its limit, and requests it.
    async fn page() -> Result<Self, Skip> {
        let (service, team) = full_page::start(&[]).await?;
        Self::new(service, attack::Request::page(&team.live_read_only)).await
    }

    /// The largest file of all, which needs no credential.
    async fn docs() -> Result<Self, Skip> {
        let service = Service::own(BINARY, &[])?;
        Self::new(service, attack::Request::docs()).await
    }

    /// A user has done much, and requests an export of all of it.
    async fn export() -> Result<Self, Skip> {
        let service = Service::own(BINARY, &[("INVOICING_ORIGIN", people::ORIGIN)])?;
        let (user, cookie) = people::signed_in(&service).await?;
        people::has_done(&service, &user, 9_900)?;
        Self::new(service, attack::Request::export(&cookie)).await
    }

    /// Others are answered while the attack goes on, memory grows by `most` MiB at most, and the server can be stopped. That
    /// takes seconds in which nothing is done: the next attack may begin.
    async fn survives(
        self,
        turn: attack::Turn,
        most: f64,
        attack: impl FnOnce(&Self) -> Vec<Connection>,
    ) {
        let process = Process::of(&self.service);
        let memory = process.watch();
        let held = attack(&self);
        assert!(!held.is_empty(), "the attack has not begun");
        self.others.get_for(GOES_ON).await;
        let growth = memory.growth();
        println!("memory grew by {growth:.0} MiB");
        assert!(
            growth <= most,
            "memory grew by {growth:.0} MiB, more than {most:.0}"
        );
        drop(turn);
        let took = process.stop();
        assert!(took.as_secs() < STOPS_WITHIN, "it took {took:?} to stop");
        drop(held);
    }
}

#[tokio::test]
async fn one_connection_without_a_window_piles_up_no_answers() {
    let turn = attack::turn().await;
    let given = given!(Given::page().await);
    given
        .survives(turn, MAX_GROWTH_MIB, |given| {
            answers::over_http2(&given.target, &given.request, 1, 0)
        })
        .await;
}

#[tokio::test]
async fn three_connections_without_a_window_pile_up_no_answers() {
    let turn = attack::turn().await;
    let given = given!(Given::page().await);
    given
        .survives(turn, MAX_GROWTH_MIB, |given| {
            answers::over_http2(&given.target, &given.request, 3, 0)
        })
        .await;
}

#[tokio::test]
async fn somebody_in_a_browser_who_takes_no_answer_piles_up_none() {
    let turn = attack::turn().await;
    let given = given!(Given::export().await);
    given
        .survives(turn, MAX_GROWTH_MIB, |given| {
            answers::over_http2(&given.target, &given.request, 3, 0)
        })
        .await;
}

#[tokio::test]
async fn a_connection_with_a_wide_window_that_is_not_read_piles_up_no_answers() {
    let turn = attack::turn().await;
    let given = given!(Given::page().await);
    given
        .survives(turn, MAX_GROWTH_MIB, |given| {
            answers::over_http2(&given.target, &given.request, 1, http2::WIDE)
        })
        .await;
}

#[tokio::test]
async fn connections_of_http1_that_are_not_read_pile_up_no_answers() {
    let turn = attack::turn().await;
    let given = given!(Given::page().await);
    let connections = sized(300, 1_000);
    given
        .survives(turn, MAX_GROWTH_MIB, |given| {
            answers::over_http1(&given.target, &given.request, connections)
        })
        .await;
}

#[tokio::test]
async fn files_of_docs_that_nobody_takes_are_held_once_for_all() {
    let turn = attack::turn().await;
    let given = given!(Given::docs().await);
    given
        .survives(turn, MOST_SHARED, |given| {
            answers::over_http2(&given.target, &given.request, 3, 0)
        })
        .await;
}

/// R2: a known caller is told its rate limits, even if it is refused because of answers that it has not read.
#[tokio::test]
async fn who_leaves_too_much_unread_is_refused_and_told_where_it_stands() {
    let _turn = attack::turn().await;
    let given = given!(Given::page().await);
    let _held = answers::over_http2(&given.target, &given.request, 1, 0);
    let (_, bearer) = &given.request.headers[0];
    let page = || Request::new("GET", "/api/v1/products").header("authorization", bearer);
    let begun = Instant::now();
    let refused = loop {
        let answer = given.service.caller.send(page()).await;
        if answer.status() == 503 {
            break answer;
        }
        assert!(begun.elapsed() < EFFECT_TIMEOUT, "it is never refused");
    };
    for name in ["ratelimit", "ratelimit-policy"] {
        assert!(refused.header(name).is_some(), "{name}");
    }
    assert_eq!(refused.header("retry-after"), Some("1"));
}

/// R12: what one key leaves unread does not use up what the other keys of its team may have.
#[tokio::test]
async fn a_key_that_leaves_too_much_unread_keeps_no_other_key_of_its_team_out() {
    let _turn = attack::turn().await;
    let (service, team) = given!(full_page::start(&[]).await);
    let target = Target::new(service.caller.base_url());
    let attacker = attack::Request::page(&team.live_read_only);
    let _held = answers::over_http2(&target, &attacker, 1, 0);
    let page = async |key: &str| {
        let page = Request::new("GET", "/api/v1/products").bearer(key);
        service.caller.send(page).await
    };
    let begun = Instant::now();
    while page(&team.live_read_only).await.status() != 503 {
        assert!(begun.elapsed() < EFFECT_TIMEOUT, "it is never refused");
    }
    for _ in 0..10 {
        let answer = page(&team.live).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
}

/// Forty attackers without a credential leave more unread than all addresses may have, at the smallest allowed setting.
#[tokio::test]
async fn answers_that_strangers_leave_do_not_keep_an_app_from_its_tokens() {
    let _turn = attack::turn().await;
    let settings = [("INVOICING_TRANSFER_MEMORY", "1")];
    let service = given!(Service::own(BINARY, &settings));
    let target = Target::new(service.caller.base_url());
    let held = answers::over_http2(&target, &attack::Request::refused(), 40, 0);
    assert_eq!(held.len(), 40, "the attack has not begun");
    let begun = Instant::now();
    while begun.elapsed() < GOES_ON {
        let token =
            json!({ "grant_type": "refresh_token", "refresh_token": "none", "client_id": "none" });
        let token = Request::new("POST", "/api/auth/mobile/token").json(&token);
        let answer = service.caller.send(token).await;
        assert_eq!(answer.status(), 400, "{}", answer.text());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    drop(held);
}
