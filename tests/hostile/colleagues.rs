//! Many users, of one team or of many, each within the limits of a user.

use std::io::{Read as _, Write as _};
use std::iter::repeat_n;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use test_support::caller::{Caller, Request};
use test_support::deployment::Skip;
use test_support::given;
use test_support::port;

use crate::attack::{self, Target};
use crate::others::Others;
use crate::people::form;
use crate::process::Process;
use crate::scale::sized;
use crate::somebody::Somebody;

/// How many forms of each user are under way.
const AT_ONCE: usize = 5;

/// How many large forms a user sends at once to a page with many keys.
const FORMS: usize = 12;

/// How many requests a key may send at once by default.
const AT_ONCE_OF_A_KEY: usize = 200;

/// How many of these are lists.
const LISTS: usize = 40;

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
async fn long_lists_of_many_teams_keep_no_other_from_its_lists() {
    let _turn = attack::turn().await;
    let mut somebody = given!(Somebody::new().await);
    let mut lists = Vec::new();
    for key in given!(keys_of_teams(&mut somebody, 100)) {
        let list = Request::new("GET", "/api/v1/products?limit=100").bearer(&key);
        // So that what is read of it is little, and only the server is busy.
        lists.push(list.header("accept-encoding", "gzip"));
    }
    let others = given!(Others::of(&somebody.service).await);
    let begun = Instant::now();
    for list in &lists {
        let answer = somebody.service.caller.send_unchecked(list.clone()).await;
        assert_eq!(answer.expect("an answer comes").status, 200);
    }
    let list = begun.elapsed() / u32::try_from(lists.len()).expect("there are few");
    let made = Arc::new(AtomicUsize::new(0));
    let attackers = lists.iter().flat_map(|list| [list; 2]).map(|list| {
        let (caller, list) = (somebody.service.caller.clone(), list.clone());
        let made = Arc::clone(&made);
        tokio::spawn(async move {
            loop {
                let answer = caller.send_unchecked(list.clone()).await;
                let is_made = answer.is_ok_and(|it| it.status == 200);
                made.fetch_add(usize::from(is_made), Ordering::Relaxed);
            }
        })
    });
    let attackers: Vec<_> = attackers.collect();
    let took = others.list_for(Duration::from_secs(6)).await;
    for attacker in attackers {
        attacker.abort();
    }
    let made = made.load(Ordering::Relaxed);
    assert!(made > 2 * lists.len(), "{made} lists were made");
    // They waited for one of each team.
    let most = (3 * list).max(Duration::from_millis(30));
    assert!(took <= most, "half of the lists took {took:?} of {most:?}");
}

/// Within their limits, that is how many may come at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_many_teams_send_at_once_keep_no_other_waiting() {
    let _turn = attack::turn().await;
    let mut somebody = given!(Somebody::new().await);
    let target = Target::new(somebody.service.caller.base_url());
    let mut gets = Vec::new();
    for key in given!(keys_of_teams(&mut somebody, 1)) {
        let get = get_of(&somebody, &key).await;
        gets.extend(repeat_n(get, AT_ONCE_OF_A_KEY));
    }
    let others = given!(Others::of(&somebody.service).await);
    // The machine may be busy with something else: once in three times is enough.
    let mut bursts = Vec::new();
    while bursts.len() < 3 {
        let (longest, took) = longest_list_beside(&others, target.clone(), gets.clone()).await;
        if longest <= took * 2 / 3 {
            return;
        }
        bursts.push(format!("{longest:?} of {took:?}"));
        // Until the keys may send as many again.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    panic!("lists took {}", bursts.join(", "));
}

/// Returns how long the longest list took, and how long the requests that came at once.
async fn longest_list_beside(
    others: &Others,
    target: Target,
    requests: Vec<String>,
) -> (Duration, Duration) {
    let sent = requests.len();
    let attackers = std::thread::spawn(move || send_at_once(&target, &requests));
    let mut longest = Duration::ZERO;
    while !attackers.is_finished() {
        let begun = Instant::now();
        others.list().await;
        longest = longest.max(begun.elapsed());
    }
    let (got, took) = attackers.join().expect("they end");
    assert_eq!(got, sent);
    (longest, took)
}

/// What waits to begin takes all the memory that there is for it. Lists need none of that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_have_room_to_wait_beside_requests_that_wait_to_begin() {
    let _turn = attack::turn().await;
    let settings = [("INVOICING_TRANSFER_MEMORY", "16")];
    let mut somebody = given!(Somebody::with(&settings).await);
    let target = Target::new(somebody.service.caller.base_url());
    let mut requests = Vec::new();
    for key in given!(keys_of_teams(&mut somebody, 1)) {
        let get = get_of(&somebody, &key).await;
        let list = raw("/api/v1/products", &key);
        requests.extend(repeat_n(get, AT_ONCE_OF_A_KEY - LISTS - 1));
        requests.extend(repeat_n(list, LISTS));
    }
    let sent = requests.len();
    let (got, _) = send_at_once(&target, &requests);
    assert_eq!(got, sent);
}

/// A key of each of some new teams, which have so many products.
fn keys_of_teams(somebody: &mut Somebody, products: u32) -> Result<Vec<String>, Skip> {
    let mut keys = Vec::new();
    for _ in 0..sized(6, 20) {
        let team = somebody.service.new_team()?;
        somebody.team = team.id.parse().expect("an id");
        somebody.pile_up_large_products(products)?;
        keys.push(team.live.to_string());
    }
    Ok(keys)
}

/// A request for the one product of a key.
async fn get_of(somebody: &Somebody, key: &str) -> String {
    let list = Request::new("GET", "/api/v1/products").bearer(key);
    let list = somebody.service.caller.send(list).await;
    let list = list.expect_status(200).data();
    let id = list["data"][0]["id"].as_str().expect("an id");
    raw(&format!("/api/v1/products/{id}"), key)
}

fn raw(path: &str, key: &str) -> String {
    let head = "host: localhost\r\naccept-encoding: gzip\r\nconnection: close";
    format!("GET {path} HTTP/1.1\r\n{head}\r\nauthorization: Bearer {key}\r\n\r\n")
}

/// Sends each on a connection of its own. Returns how many were answered with 200, and how long that took.
fn send_at_once(target: &Target, requests: &[String]) -> (usize, Duration) {
    attack::allow_many_files();
    let connect = |(number, request)| Some((target.connect_only(number).ok()?, request));
    let mut connections: Vec<_> = (0..).zip(requests).filter_map(connect).collect();
    let begun = Instant::now();
    for (connection, request) in &mut connections {
        connection
            .write_all(request.as_bytes())
            .expect("it is open");
    }
    let answered = connections.iter_mut().filter_map(|(connection, _)| {
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).ok()?;
        answer.starts_with(b"HTTP/1.1 200").then_some(())
    });
    (answered.count(), begun.elapsed())
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
