//! A reader who loses the right to a file gets no more of it, however slowly they read the download.
//!
//! A download is read while it is sent. So it ends where the right to read it does: anything that arrives later was
//! already in transit.

use std::io::Read as _;
use std::time::Duration;

use test_support::given;

use crate::attack::{self, Connection, Target, answers};
use crate::people::{form, has_done};
use crate::somebody::Somebody;

/// Large products of 8 KB: twice what the systems of both sides buffer of an unread answer.
pub const PRODUCTS: u32 = 1_500;

/// How long it may take for everything in transit to arrive.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// A download that has started, and of which nothing is read yet.
fn begun(somebody: &Somebody, path: &str, cookie: &str) -> Connection {
    let target = Target::new(somebody.service.caller.base_url());
    let request = attack::Request::download(path, cookie);
    let mut unread = answers::over_http1(&target, &request, 1);
    let Some(Connection::Clear(answer)) = unread.pop() else {
        panic!("it is asked for in clear");
    };
    answer.set_read_timeout(Some(ANSWER_TIMEOUT)).unwrap();
    let mut line = [0; 12];
    let peeked = answer.peek(&mut line).expect("it begins");
    assert_eq!(&line[..peeked], b"HTTP/1.1 200");
    Connection::Clear(answer)
}

/// Reads the rest of the answer.
async fn taken(mut answer: Connection) -> Vec<u8> {
    let take = move || {
        let mut taken = Vec::new();
        // A connection that is cut off may report an error.
        _ = answer.read_to_end(&mut taken);
        taken
    };
    tokio::task::spawn_blocking(take).await.unwrap()
}

pub fn is_whole(answer: &[u8]) -> bool {
    answer.ends_with(b"\r\n0\r\n\r\n")
}

#[tokio::test]
async fn a_download_ends_with_the_membership_and_with_the_session_of_its_reader() {
    let somebody = given!(Somebody::new().await);
    given!(somebody.pile_up_large_products(PRODUCTS));
    let path = format!("/teams/{}/products/export.csv", somebody.team);
    let viewers = [
        given!(somebody.new_colleague(0, "viewer").await),
        given!(somebody.new_colleague(1, "viewer").await),
    ];
    let whole = taken(begun(&somebody, &path, &somebody.cookie)).await;
    assert!(is_whole(&whole), "{} bytes", whole.len());

    let removed = begun(&somebody, &path, &viewers[0]);
    let members =
        given!(
            somebody
                .service
                .command(&["member", "list", "--team", &somebody.team.to_string()])
        );
    let is_it = |it: &&serde_json::Value| it["email"] == "colleague-0@example.com";
    let viewer = members
        .as_array()
        .and_then(|all| all.iter().find(is_it))
        .expect("the viewer");
    let user = viewer["userId"].as_str().expect("an id");
    given!(somebody.service.command(&[
        "member",
        "remove",
        "--team",
        &somebody.team.to_string(),
        "--user",
        user
    ]));
    let signed_out = begun(&somebody, &path, &viewers[1]);
    let sign_out = form("/sign-out", "").header("cookie", &viewers[1]);
    let answer = somebody.service.caller.send_unchecked(sign_out).await;
    assert_eq!(answer.expect("an answer comes").status, 303);
    for (ended, why) in [(removed, "removed"), (signed_out, "signed out")] {
        let answer = taken(ended).await;
        assert!(!is_whole(&answer), "{why}: all of it came");
        assert!(
            answer.len() < whole.len() * 3 / 4,
            "{why}: {} bytes",
            answer.len()
        );
    }
}

#[tokio::test]
async fn what_is_told_of_a_user_ends_with_the_session() {
    let somebody = given!(Somebody::new().await);
    given!(has_done(&somebody.service, &somebody.user, 10_000));
    given!(somebody.pile_up_keys(20_000));
    given!(somebody.pile_up_browsers(20_000));
    given!(somebody.pile_up_links(20_000));
    let unread = begun(&somebody, "/account/export", &somebody.cookie);
    let sign_out = form("/sign-out", "").header("cookie", &somebody.cookie);
    let answer = somebody.service.caller.send_unchecked(sign_out).await;
    assert_eq!(answer.expect("an answer comes").status, 303);
    let answer = taken(unread).await;
    assert!(!is_whole(&answer), "all of it came, {} bytes", answer.len());
}
