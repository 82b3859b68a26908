//! Data that one person piles up without end, as fast as a rate limit allows: showing or counting a little of it takes
//! no longer for that, and an export ends when its user wants it to.
//!
//! A page that read all of it took everyone else's time: with 200,000 events, which a signed-in user makes in half an
//! hour, eight concurrent requests for `/account` made everyone wait for a second.

use std::time::{Duration, Instant};

use test_support::caller::Request;
use test_support::given;

use crate::attack::{self, Connection, Target, answers};
use crate::people::{ORIGIN, form, has_done};
use crate::process::Process;
use crate::scale::sized;
use crate::somebody::Somebody;

/// Some of each kind exist from the start, more than a page shows.
const FEW: u32 = 1_000;

/// How much longer a page may take beside a pile: allows for a busy machine, and is much less than reading the pile
/// takes.
const LONGER: Duration = Duration::from_millis(25);

/// The most rows of each kind in the export of a user.
const TOLD: u32 = 10_000;

/// How much more memory the server may take for that, in MiB: some pieces of the export, and what the allocator
/// retains for each thread.
const TOLD_MIB: f64 = 40.0;

/// How long what an app or a browser calls itself is: with that, the export is as long as [`TOLD_MIB`].
const CALLED: usize = 2_000;

/// How much more memory the server may take for downloads of which each holds a piece, in MiB: three times what was measured
/// most often, as what the allocator retains depends on the threads. With pieces of a mebibyte it takes more than 40.
const PIECES_MIB: f64 = 28.0;

impl Somebody {
    /// The shortest of several times for each page, and for creating a key.
    async fn times(&self) -> Vec<(String, Duration)> {
        let keys = format!("/teams/{}/settings/integrations/api-keys", self.team);
        let mut times = Vec::new();
        let links = format!("/teams/{}/links", self.team);
        for path in ["/account", "/account/devices", &keys, &links] {
            let mut shortest = Duration::MAX;
            for _ in 0..5 {
                shortest = shortest.min(self.send(Request::new("GET", path), 200).await);
            }
            times.push((path.to_owned(), shortest));
        }
        let mut shortest = Duration::MAX;
        for _ in 0..5 {
            let create = form(&keys, "name=x&mode=test&scope=read-only&expires_in=1s");
            shortest = shortest.min(self.send(create, 303).await);
        }
        times.push(("a new key".to_owned(), shortest));
        times
    }
}

#[tokio::test]
async fn pages_take_as_long_however_much_somebody_has_piled_up() {
    let _turn = attack::turn().await;
    let somebody = given!(Somebody::new().await);
    let pile_up = |count| {
        somebody.pile_up_keys(count)?;
        somebody.pile_up_browsers(count)?;
        somebody.pile_up_ended(count)?;
        somebody.pile_up_links(count)?;
        somebody.pile_up_sign_ins(count)?;
        has_done(&somebody.service, &somebody.user, count)
    };
    given!(pile_up(FEW));
    let before = somebody.times().await;
    given!(pile_up(sized(100_000, 1_000_000)));
    let after = somebody.times().await;
    for ((what, before), (_, after)) in before.iter().zip(&after) {
        let longest = 2 * *before + LONGER;
        assert!(*after <= longest, "{what}: {before:?}, then {after:?}");
    }
}

#[tokio::test]
async fn what_is_told_of_a_user_reads_no_code_that_was_used() {
    let _turn = attack::turn().await;
    let somebody = given!(Somebody::new().await);
    let time = async || {
        let mut shortest = Duration::MAX;
        for _ in 0..5 {
            let export = Request::new("GET", "/account/export");
            shortest = shortest.min(somebody.send(export, 200).await);
        }
        shortest
    };
    let before = time().await;
    given!(somebody.pile_up_used_codes(sized(200_000, 1_000_000)));
    let after = time().await;
    assert!(after <= 2 * before + LONGER, "{before:?}, then {after:?}");
}

#[tokio::test]
async fn what_is_told_of_a_user_takes_the_memory_of_a_part() {
    let _turn = attack::turn().await;
    let somebody = given!(Somebody::new().await);
    // More of each kind than an export contains.
    given!(somebody.pile_up_keys(2 * TOLD));
    given!(somebody.pile_up_browsers_called(2 * TOLD, &"x".repeat(CALLED)));
    given!(somebody.pile_up_apps_called(2 * TOLD, &"x".repeat(CALLED)));
    given!(has_done(&somebody.service, &somebody.user, 2 * TOLD));
    // What it takes to answer at all.
    somebody
        .send(Request::new("GET", "/account/devices"), 200)
        .await;
    let memory = Process::of(&somebody.service).watch();
    somebody
        .send(Request::new("GET", "/account/export"), 200)
        .await;
    // The whole database is read, and mapped.
    let growth = memory.growth_but_for_files();
    println!("memory grew by {growth:.0} MiB");
    assert!(growth <= TOLD_MIB, "memory grew by {growth:.0} MiB");
}

/// Each holds one piece, however much text the products have, and no piece goes uncounted.
#[tokio::test]
async fn many_who_begin_a_download_at_once_take_the_memory_of_a_piece_each() {
    const MEMBERS: u32 = 24;
    let _turn = attack::turn().await;
    let somebody = given!(Somebody::new().await);
    given!(somebody.pile_up_large_products(2_000));
    let mut cookies = Vec::new();
    for number in 0..MEMBERS {
        cookies.push(given!(somebody.new_colleague(number, "viewer").await));
    }
    let target = Target::new(somebody.service.caller.base_url());
    let path = format!("/teams/{}/products/export.csv", somebody.team);
    // What it takes to answer at all.
    somebody.send(Request::new("GET", &path), 200).await;
    let memory = Process::of(&somebody.service).watch();
    let mut unread = Vec::new();
    for cookie in &cookies {
        let request = attack::Request::download(&path, cookie);
        unread.extend(answers::over_http1(&target, &request, 1));
    }
    let begun = Instant::now();
    for connection in &unread {
        let Connection::Clear(answer) = connection else {
            panic!("it is asked for in clear");
        };
        let mut line = [0; 12];
        let peeked = answer.peek(&mut line).expect("it begins");
        assert_eq!(&line[..peeked], b"HTTP/1.1 200");
    }
    println!("all have begun after {:?}", begun.elapsed());
    let growth = memory.growth();
    println!("memory grew by {growth:.0} MiB");
    assert!(growth <= PIECES_MIB, "memory grew by {growth:.0} MiB");
}

#[tokio::test]
async fn whoever_breaks_off_what_is_told_of_them_begins_anew_soon() {
    let _turn = attack::turn().await;
    let somebody = given!(Somebody::new().await);
    // Twice what the system buffers of an unread answer.
    given!(has_done(&somebody.service, &somebody.user, TOLD));
    given!(somebody.pile_up_keys(2 * TOLD));
    given!(somebody.pile_up_browsers(2 * TOLD));
    given!(somebody.pile_up_links(2 * TOLD));
    let target = Target::new(somebody.service.caller.base_url());
    let unread = answers::over_http1(&target, &attack::Request::export(&somebody.cookie), 1);
    // It has started; otherwise it could be the one that is refused.
    let Some(Connection::Clear(answer)) = unread.first() else {
        panic!("it is asked for in clear");
    };
    let mut line = [0; 12];
    let peeked = answer.peek(&mut line).expect("it begins");
    assert_eq!(&line[..peeked], b"HTTP/1.1 200");
    let refused = somebody.export_is(503).await;
    assert!(refused.is_some(), "a second one goes beside the first");
    drop(unread);
    let again = somebody.export_is(200).await;
    assert!(again.is_some(), "it still counts as being sent");
}

/// On SQLite, everyone else waits for as long as one change takes.
#[tokio::test]
async fn to_sign_out_everywhere_else_takes_as_long_however_many_sessions_there_are() {
    let _turn = attack::turn().await;
    let somebody = given!(Somebody::new().await);
    let sign_out = async || {
        let post = form("/account/devices/end-other-sessions", "");
        somebody.send(post, 303).await
    };
    let mut before = Duration::MAX;
    for _ in 0..5 {
        given!(somebody.pile_up_apps(FEW));
        before = before.min(sign_out().await);
    }
    given!(somebody.pile_up_apps(sized(100_000, 1_000_000)));
    let after = sign_out().await;
    assert!(
        after <= 2 * before + 4 * LONGER,
        "{before:?}, then {after:?}"
    );
    let user = somebody.user.to_string();
    let left = given!(
        somebody
            .service
            .command(&["session", "list", "--user", &user])
    );
    assert_eq!(left.as_array().map(Vec::len), Some(0));
}

#[tokio::test]
async fn whoever_sets_a_new_password_is_rid_of_any_number_of_sessions() {
    let _turn = attack::turn().await;
    let somebody = given!(Somebody::new().await);
    given!(somebody.pile_up_apps(sized(50_000, 200_000)));
    given!(somebody.pile_up_browsers(FEW));
    let service = &somebody.service;
    let reset = ["user", "reset-link", "ada@example.com", "--origin", ORIGIN];
    let link = given!(service.command(&reset));
    let link = link["url"].as_str().expect("a link");
    let path = link.strip_prefix(ORIGIN).expect("a page");
    somebody
        .send(form(path, "password=harbour+lantern+nine+tulip"), 303)
        .await;
    let user = somebody.user.to_string();
    let left = given!(service.command(&["session", "list", "--user", &user]));
    assert_eq!(left.as_array().map(Vec::len), Some(0));
}
