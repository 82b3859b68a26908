//! Many users, of one team or of many, each within the limits of a user.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use test_support::caller::{Caller, Request};
use test_support::given;
use test_support::port;

use crate::attack;
use crate::others::Others;
use crate::people::form;
use crate::process::Process;
use crate::scale::sized;
use crate::somebody::Somebody;

/// How many forms of each user are under way.
const AT_ONCE: usize = 5;

/// How many large forms a user sends at once to a page with many keys.
const FORMS: usize = 12;

/// How long half of the others' lists may take at most. It took seconds while one turn at a time went around among all users and
/// teams.
const MOST: Duration = Duration::from_millis(60);

/// What those that wait may take, with what each connection takes anyway.
const MAX_GROWTH_MIB: f64 = 96.0;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_forms_of_many_users_keep_no_team_from_its_lists() {
    let name = |_: &Somebody| "/account/name".to_owned();
    let form = format!("name={}", "\"".repeat(60_000));
    are_shown_again_beside_lists(name, &form).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_products_that_many_users_type_keep_no_team_from_its_lists() {
    let new = |somebody: &Somebody| format!("/teams/{}/products/new", somebody.team);
    let form = format!("once=1&description={}", "\"".repeat(60_000));
    are_shown_again_beside_lists(new, &form).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_pages_of_many_teams_keep_no_other_from_its_lists() {
    let _turn = attack::turn().await;
    let mut somebody = given!(Somebody::new().await);
    let mut pages = Vec::new();
    for number in 0..sized(6, 20) {
        let team = given!(somebody.service.new_team()).id;
        somebody.team = team.parse().expect("an id");
        given!(somebody.pile_up_keys(500));
        let cookie = given!(somebody.new_colleague(number, "owner").await);
        let path = format!("/teams/{team}/settings/integrations/api-keys");
        pages.push(Request::new("GET", path).header("cookie", &cookie));
    }
    let others = given!(Others::of(&somebody.service).await);
    let begun = Instant::now();
    for page in &pages {
        let answer = somebody.service.caller.send_unchecked(page.clone()).await;
        assert_eq!(answer.expect("an answer comes").status, 200);
    }
    let page = begun.elapsed() / u32::try_from(pages.len()).expect("there are few");
    let shown = Arc::new(AtomicUsize::new(0));
    let attackers = pages.iter().flat_map(|page| [page; 2]).map(|page| {
        let (caller, page) = (somebody.service.caller.clone(), page.clone());
        let shown = Arc::clone(&shown);
        tokio::spawn(async move {
            loop {
                let answer = caller.send_unchecked(page.clone()).await;
                match answer.is_ok_and(|it| it.status == 200) {
                    true => _ = shown.fetch_add(1, Ordering::Relaxed),
                    // It has asked too often.
                    false => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        })
    });
    let attackers: Vec<_> = attackers.collect();
    // Until the attackers have sent what they may send at once, and go on at their rate.
    others.list_for(Duration::from_secs(8)).await;
    let took = others.list_for(Duration::from_secs(4)).await;
    for attacker in attackers {
        attacker.abort();
    }
    let shown = shown.load(Ordering::Relaxed);
    assert!(shown > 2 * pages.len(), "{shown} pages were shown");
    // They waited for one of each team.
    let most = (3 * page).max(Duration::from_millis(30));
    assert!(took <= most, "half of the lists took {took:?} of {most:?}");
}

/// What waits for the turns of a team may be as many forms as its users send.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forms_that_wait_for_a_turn_count_as_memory_of_their_user() {
    let _turn = attack::turn().await;
    let address = format!("127.0.0.1:{}", port::free());
    let somebody = given!(Somebody::with(&[("INVOICING_OPERATIONS_LISTEN", &address)]).await);
    given!(somebody.pile_up_keys(500));
    let operators = Caller::new(format!("http://{address}"));
    let held = async || {
        let metrics = operators.send_unchecked(Request::new("GET", "/metrics"));
        let metrics = metrics.await.expect("an answer comes").body;
        let metrics = String::from_utf8_lossy(&metrics);
        let line = |line: &str| {
            line.strip_prefix(r#"invoicing_transfer_bytes{of="bodies"} "#)?
                .parse()
                .ok()
        };
        metrics.lines().find_map(line).unwrap_or(0)
    };
    let path = format!("/teams/{}/settings/integrations/api-keys", somebody.team);
    let refused = format!("mode=none&name={}", "a".repeat(60_000));
    let refused = form(&path, &refused).header("cookie", &somebody.cookie);
    let senders: Vec<_> = (0..FORMS)
        .map(|_| {
            let (caller, refused) = (somebody.service.caller.clone(), refused.clone());
            tokio::spawn(async move {
                let answer = caller.send_unchecked(refused).await;
                assert_eq!(answer.expect("an answer comes").status, 422);
            })
        })
        .collect();
    let mut most = 0;
    while senders.iter().any(|it| !it.is_finished()) {
        most = most.max(held().await);
    }
    for sender in senders {
        sender.await.expect("it is shown again");
    }
    assert!(most > 120_000 * FORMS / 2, "{most} bytes were held at most");
    assert_eq!(held().await, 0);
}

/// Each of the forms is refused, on a page that shows it again, with five bytes for each of its own.
async fn are_shown_again_beside_lists(path: impl FnOnce(&Somebody) -> String, text: &str) {
    let _turn = attack::turn().await;
    let somebody = given!(Somebody::new().await);
    let mut cookies = Vec::new();
    for number in 0..sized(12, 100) {
        cookies.push(given!(somebody.new_colleague(number, "member").await));
    }
    let others = given!(Others::of(&somebody.service).await);
    let memory = Process::of(&somebody.service).watch();
    let refused = form(&path(&somebody), text);
    let shown_again = Arc::new(AtomicUsize::new(0));
    let callers = cookies.iter().flat_map(|cookie| [cookie; AT_ONCE]);
    let attackers: Vec<_> = callers
        .map(|cookie| {
            let caller = somebody.service.caller.clone();
            let refused = refused.clone().header("cookie", cookie);
            let shown_again = Arc::clone(&shown_again);
            tokio::spawn(async move {
                loop {
                    let answer = caller.send_unchecked(refused.clone()).await;
                    if answer.is_ok_and(|it| it.status == 422) {
                        shown_again.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    let took = others.list_for(Duration::from_secs(4)).await;
    for attacker in attackers {
        attacker.abort();
    }
    let growth = memory.growth();
    let shown_again = shown_again.load(Ordering::Relaxed);
    assert!(shown_again > 60, "{shown_again} forms were shown again");
    assert!(took <= MOST, "half of the lists took {took:?}");
    assert!(growth <= MAX_GROWTH_MIB, "memory grew by {growth:.0} MiB");
}
