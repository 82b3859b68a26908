//! Unknown credentials: they have to be looked up, and callers with valid ones must not wait for that.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use futures::{StreamExt as _, stream};
use invoicing::domain::secret::{Secret, base62};
use test_support::caller::{Answer, Request};
use test_support::deployment::Skip;
use test_support::given;
use test_support::response_validator::Received;
use test_support::service::{Service, Team};

use crate::BINARY;
use crate::attack;
use crate::others::Others;
use crate::people::{ORIGIN, form, signed_in};
use crate::scale::sized;

const PRODUCTS: &str = "/api/v1/products";

/// The email and the password of a user with an account, as a form sends them.
const ADA: (&str, &str) = ("ada%40example.com", "lantern+harbour+tulip+nine");

/// Concurrent guesses: an attacker in this process must not take time from the callers that are measured.
const AT_ONCE: usize = 32;

/// The shortest wait that a client can be told, and what a busy machine needs.
const LOOK_UP_TIMEOUT: Duration = Duration::from_secs(30);

/// A key of the right form that does not exist.
fn unknown_key() -> String {
    let key = format!("inv_live_{}", Secret::base62().reveal());
    let checksum = base62::<4, 6>(crc32fast::hash(key.as_bytes()).to_be_bytes());
    key + str::from_utf8(&checksum).expect("base62 is ASCII")
}

/// Ten wrong credentials at once, and two a second, from each address (docs/decisions.md, R9).
const FEW: [(&str, &str); 3] = [
    ("INVOICING_TOKEN_RATE_LIMIT_PER_SECOND", "1"),
    ("INVOICING_TOKEN_RATE_LIMIT_BURST", "2"),
    ("INVOICING_TRUSTED_PROXIES", "127.0.0.1/32"),
];

async fn list(service: &Service, key: &str, address: &str) -> Answer {
    let request = Request::new("GET", PRODUCTS).bearer(key);
    let request = request.header("X-Forwarded-For", address);
    service.caller.send(request).await
}

/// Presents unknown keys until there are too many. Returns how many were looked up.
async fn exhaust(service: &Service, address: &str) -> (usize, Answer) {
    for number in 0..1_000 {
        let answer = list(service, &unknown_key(), address).await;
        if answer.status() == 429 {
            return (number, answer);
        }
        answer.expect_status(401);
    }
    panic!("a thousand keys were looked up");
}

fn start(settings: &[(&str, &str)]) -> Result<(Service, Team), test_support::deployment::Skip> {
    let service = Service::own(BINARY, settings)?;
    let team = service.new_team()?;
    Ok((service, team))
}

#[tokio::test]
async fn an_address_with_many_wrong_credentials_is_told_to_wait_and_known_ones_are_not() {
    let (service, team) = given!(start(&FEW));
    list(&service, &team.live, "192.0.2.1")
        .await
        .expect_status(200);
    let (looked_up, refused) = exhaust(&service, "192.0.2.1").await;
    assert!(looked_up >= 10, "{looked_up} were looked up");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(
        refused.header("ratelimit-policy"),
        Some("\"default\";q=10;w=5")
    );
    // What cannot be a credential needs no look-up; a key that was valid before is not a guess; other addresses are
    // not affected.
    let noise = list(&service, "noise", "192.0.2.1").await;
    noise.expect_status(401);
    list(&service, &team.live, "192.0.2.1")
        .await
        .expect_status(200);
    let other = list(&service, &unknown_key(), "192.0.2.2").await;
    other.expect_status(401);
    // A good key used from there for the first time is told to wait as well, and then accepted.
    let begun = Instant::now();
    while list(&service, &team.test, "192.0.2.1").await.status() == 429 {
        assert!(
            begun.elapsed() < LOOK_UP_TIMEOUT,
            "a good key is not looked up"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    list(&service, &team.test, "192.0.2.1")
        .await
        .expect_status(200);
}

#[tokio::test]
async fn a_key_that_has_ended_is_a_strangers_from_then_on() {
    let (service, team) = given!(start(&FEW));
    list(&service, &team.live, "192.0.2.1")
        .await
        .expect_status(200);
    let keys = given!(service.command(&["api-key", "list", "--team", &team.id]));
    let of_live = |key: &&serde_json::Value| key["mode"] == "live" && key["scope"] == "read-write";
    let keys = keys.as_array().expect("a list");
    let id = keys.iter().find(of_live).expect("the key")["id"].as_str();
    given!(service.command(&["api-key", "revoke", id.expect("an id")]));
    let begun = Instant::now();
    while list(&service, &team.live, "192.0.2.1").await.status() == 401 {
        assert!(
            begun.elapsed() < LOOK_UP_TIMEOUT,
            "it is looked up for ever"
        );
    }
}

#[tokio::test]
async fn keys_that_nobody_has_cost_others_nothing() {
    let _turn = attack::turn().await;
    let service = given!(Service::own(BINARY, &[]));
    let others = given!(Others::of(&service).await);
    let guess = |_| async {
        let request = Request::new("GET", PRODUCTS).bearer(&unknown_key());
        let status = service.caller.send(request).await.status();
        assert!([401, 503].contains(&status), "{status}");
    };
    let guesses = stream::iter(0..sized(500, 40_000)).for_each_concurrent(AT_ONCE, guess);
    tokio::join!(guesses, others.get_for(Duration::from_secs(1)));
    others.work(5).await;
}

/// A service with one account, behind a proxy that reports the addresses of clients.
async fn with_account() -> Result<Service, Skip> {
    let settings = [
        ("INVOICING_TRUSTED_PROXIES", "127.0.0.1/32"),
        ("INVOICING_ORIGIN", ORIGIN),
    ];
    let service = Service::own(BINARY, &settings)?;
    signed_in(&service).await?;
    Ok(service)
}

/// A sign-in from `address`.
async fn sign_in(
    service: &Service,
    (email, password): (&str, &str),
    address: &str,
    cookie: &str,
) -> Option<Received> {
    let request = form("/sign-in", &format!("email={email}&password={password}"))
        .header("x-forwarded-for", address)
        .header("cookie", cookie);
    service.caller.send_unchecked(request).await.ok()
}

/// A wrong password for an account that does not exist. Returns the status.
async fn guess(service: &Service, account: u32, attempt: u32, address: &str) -> Option<u16> {
    let email = format!("nobody-{account}-{attempt}%40example.com");
    let answer = sign_in(service, (&email, "wrong+by+mistake"), address, "").await;
    answer.map(|it| it.status)
}

/// The account's owner signs in this many times. Returns the statuses, and how long each took.
async fn sign_in_again(
    service: &Service,
    times: u32,
    address: &str,
    cookie: &str,
) -> Vec<(u16, Duration)> {
    let mut answers = Vec::new();
    for _ in 0..times {
        let begun = Instant::now();
        let answer = sign_in(service, ADA, address, cookie).await;
        answers.push((answer.expect("an answer comes").status, begun.elapsed()));
    }
    answers
}

/// So many sites that comparing one password from each takes longer than any request waits.
#[tokio::test]
async fn wrong_passwords_from_many_sites_keep_nobody_waiting_who_is_known() {
    const SITES: u32 = 400;
    let _turn = attack::turn().await;
    let service = given!(with_account().await);
    let first = sign_in(&service, ADA, "2001:db8:9000::1", "").await;
    let cookies = first.expect("an answer comes");
    let values = cookies.headers.iter().filter(|it| it.0 == "set-cookie");
    let values = values.filter_map(|it| it.1.split(';').next());
    let device: String = values.filter(|it| it.contains("-device=")).collect();
    let refused = AtomicU32::new(0);
    let attack = (0..SITES).map(async |site| {
        for attempt in 0.. {
            let address = format!("2001:db8:{site:x}::1");
            if guess(&service, site, attempt, &address).await == Some(503) {
                refused.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let known = async {
        // Until some have waited in vain.
        while refused.load(Ordering::Relaxed) < 10 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        sign_in_again(&service, 3, "2001:db8:9001::1", &device).await
    };
    let answers = tokio::select! {
        answers = known => answers,
        _ = join_all(attack) => unreachable!("it goes on without end"),
    };
    let is_good = |(status, took): &(u16, Duration)| *status == 303 && took.as_secs() < 3;
    assert!(answers.iter().all(is_good), "{answers:?}");
}

/// Each address sends as many passwords as it may, for accounts that do not exist: all of them are compared.
#[tokio::test]
async fn wrong_passwords_from_many_addresses_keep_nobody_from_signing_in() {
    const ADDRESSES: u32 = 16;
    const ATTEMPTS: u32 = 5;
    let _turn = attack::turn().await;
    let service = given!(with_account().await);
    let compared = AtomicU32::new(ATTEMPTS);
    // More together than one core can compare.
    let attack = (0..20 * ADDRESSES).map(async |number| {
        for attempt in 0.. {
            let address = format!("192.0.2.{}", number % ADDRESSES);
            match guess(&service, number, attempt, &address).await {
                Some(422) => _ = compared.fetch_add(1, Ordering::Relaxed),
                _ => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    });
    let honest = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        sign_in_again(&service, ATTEMPTS, "192.0.2.100", "").await
    };
    let answers = tokio::select! {
        answers = honest => answers,
        _ = join_all(attack) => unreachable!("it goes on without end"),
    };
    // One of each queue goes first.
    let is_good = |(status, took): &(u16, Duration)| *status == 303 && took.as_secs() < 5;
    assert!(answers.iter().all(is_good), "{answers:?}");
    // Two counts remain for each password that is compared, or is next in its queue; and none for others.
    let kept = given!(counts_of_wrong_passwords(&service));
    let most = 2 * (compared.into_inner() + 2 * ADDRESSES);
    assert!(kept <= most, "{kept} are kept, and not {most}");
}

/// How many counts of wrong passwords are stored.
fn counts_of_wrong_passwords(service: &Service) -> Result<u32, Skip> {
    let count = "SELECT count(*) FROM wrong_password";
    let database = service.own_database()?;
    let Some(path) = database.strip_prefix("sqlite:") else {
        let counted = test_support::postgres::ask(database, count);
        return Ok(counted.trim().parse().expect("a number"));
    };
    let file = rusqlite::Connection::open(path).expect("it is there");
    let counted = file.query_row(count, [], |row| row.get(0));
    Ok(counted.expect("it is counted"))
}
