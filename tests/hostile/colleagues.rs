//! Many users of one team, or one of many teams, each within the limits of a user.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use test_support::caller::Request;
use test_support::given;

use crate::attack;
use crate::others::Others;
use crate::people::form;
use crate::process::Process;
use crate::scale::sized;
use crate::somebody::Somebody;

/// How many forms of each user are under way.
const AT_ONCE: usize = 5;

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
    let user = somebody.user.to_string();
    for _ in 0..sized(8, 20) {
        let team = given!(somebody.service.new_team()).id;
        let add = ["member", "add", "--team", &team, "--user", &user, "--role"];
        given!(somebody.service.command(&[&add[..], &["owner"]].concat()));
        let path = format!("/teams/{team}/settings/integrations/api-keys");
        pages.push(Request::new("GET", path).header("cookie", &somebody.cookie));
        somebody.team = team.parse().expect("an id");
        given!(somebody.pile_up_keys(500));
    }
    let others = given!(Others::of(&somebody.service).await);
    let page = somebody.send(pages[0].clone(), 200).await;
    let shown = Arc::new(AtomicUsize::new(0));
    let attackers = pages.iter().flat_map(|page| [page; 2]).map(|page| {
        let (caller, page) = (somebody.service.caller.clone(), page.clone());
        let shown = Arc::clone(&shown);
        tokio::spawn(async move {
            loop {
                let answer = caller.send_unchecked(page.clone()).await;
                shown.fetch_add(
                    usize::from(answer.is_ok_and(|it| it.status == 200)),
                    Ordering::Relaxed,
                );
            }
        })
    });
    let attackers: Vec<_> = attackers.collect();
    // As long as it takes until the others have made as many requests as were counted of anybody.
    others.list_for(Duration::from_secs(8)).await;
    let took = others.list_for(Duration::from_secs(4)).await;
    for attacker in attackers {
        attacker.abort();
    }
    let shown = shown.load(Ordering::Relaxed);
    assert!(shown > 2 * pages.len(), "{shown} pages were shown");
    // They waited for one of each team.
    let most = 3 * page;
    assert!(took <= most, "half of the lists took {took:?} of {most:?}");
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
