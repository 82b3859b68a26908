//! What one person piles up without end, as fast as a rate limit allows: to show or count a few of it takes no longer for that,
//! and ends when its user wants it to.
//!
//! A page that read all of it took everybody else's time: with 200,000 events, which somebody who is signed in makes in half an
//! hour, eight requests for `/account` at a time had everybody wait for a second.

use std::time::{Duration, Instant};

use test_support::caller::Request;
use test_support::deployment::Skip;
use test_support::given;
use test_support::service::Service;
use uuid::Uuid;

use crate::attack::{Connection, Target, answers};
use crate::people::{ORIGIN, Piled, form, has_done, pile_up, signed_in, signed_in_as};
use crate::process::Process;
use crate::scale::sized;
use crate::{BINARY, attack};

/// Of each kind there are some from the beginning, more than a page shows.
const FEW: u32 = 1_000;

/// How much longer a page may take beside a pile: what a busy machine may add, and much less than to read it.
const LONGER: Duration = Duration::from_millis(25);

/// As many rows of a kind are told of a user.
const TOLD: u32 = 10_000;

/// How much more memory the server may take for that, in MiB: of what is told, some pieces, and what the allocator keeps.
const TOLD_MIB: f64 = 24.0;

/// Somebody who is signed in, and the owner of a team.
struct Somebody {
    service: Service,
    user: Uuid,
    team: Uuid,
    cookie: String,
}

impl Somebody {
    async fn new() -> Result<Somebody, Skip> {
        let service = Service::own(BINARY, &[("INVOICING_ORIGIN", ORIGIN)])?;
        let team = service.new_team()?.id;
        let (user, cookie) = signed_in(&service).await?;
        let id = user.to_string();
        service.command(&[
            "member", "add", "--team", &team, "--user", &id, "--role", "owner",
        ])?;
        let uri = "com.example.app:/signed-in";
        service.command(&[
            "oauth-client",
            "create",
            "--id",
            "app",
            "--name",
            "App",
            "--redirect-uri",
            uri,
        ])?;
        Ok(Somebody {
            team: team.parse().expect("an id"),
            service,
            user,
            cookie,
        })
    }

    /// Keys that have ended, by their time and by being revoked.
    fn pile_up_keys(&self, count: u32) -> Result<(), Skip> {
        let columns =
            "api_key (id, team_id, digest, mode, scope, created_at, expires_at, revoked_at)";
        let ids = [Piled::New, Piled::Id(&self.team), Piled::Digest];
        for ends in ["2, NULL", "NULL, 2"] {
            let rest = format!("'test', 'read-only', 1, {ends}");
            pile_up(&self.service, columns, count / 2, &ids, &rest)?;
        }
        Ok(())
    }

    /// Products with as much text as there may be.
    fn pile_up_large_products(&self, count: u32) -> Result<(), Skip> {
        let columns = "product (id, team_id, mode, status, name, unit_price, currency, description, created_at, updated_at)";
        let ids = [Piled::New, Piled::Id(&self.team)];
        let description = "\u{1d11e}".repeat(2_000);
        let rest = format!("'live', 'active', 'Lamp', '1', 'EUR', '{description}', 1, 1");
        pile_up(&self.service, columns, count, &ids, &rest)
    }

    /// The cookie of one more member of the team.
    async fn new_viewer(&self, number: u32) -> Result<String, Skip> {
        let email = format!("viewer-{number}@example.com");
        let (user, cookie) = signed_in_as(&self.service, &email).await?;
        let (team, user) = (self.team.to_string(), user.to_string());
        self.service.command(&[
            "member", "add", "--team", &team, "--user", &user, "--role", "viewer",
        ])?;
        Ok(cookie)
    }

    /// Sign-ins before the time that the page of the account shows.
    fn pile_up_sign_ins(&self, count: u32) -> Result<(), Skip> {
        let columns = "audit_event (actor, id, action, created_at)";
        let long_ago = now() - 100 * 86_400_000;
        // The first id of that millisecond, and others behind it: those of a UUIDv7.
        let id = match self.service.own_database()?.starts_with("sqlite:") {
            true => format!("CAST(x'{long_ago:012x}' || randomblob(10) AS BLOB)"),
            false => format!(
                "('{}' || substr(gen_random_uuid()::text, 14))::uuid",
                Uuid::from_u128(long_ago << 80).to_string().split_at(13).0
            ),
        };
        let rest = format!("{id}, 'sign-in', {long_ago}");
        pile_up(
            &self.service,
            columns,
            count,
            &[Piled::Id(&self.user)],
            &rest,
        )
    }

    /// Sessions of browsers that are alive.
    fn pile_up_browsers(&self, count: u32) -> Result<(), Skip> {
        let columns =
            "browser_session (id, user_id, digest, created_at, signed_in_at, last_used_at)";
        let ids = [Piled::New, Piled::Id(&self.user), Piled::Digest];
        let now = now();
        pile_up(
            &self.service,
            columns,
            count,
            &ids,
            &format!("{now}, {now}, {now}"),
        )
    }

    /// Sessions of apps that are alive.
    fn pile_up_apps(&self, count: u32) -> Result<(), Skip> {
        self.pile_up_sessions(count, "NULL")
    }

    /// Sessions of apps that ended a moment ago, which the background task has yet to delete.
    fn pile_up_ended(&self, count: u32) -> Result<(), Skip> {
        // Ahead by a minute, so that they are there for as long as this lasts.
        self.pile_up_sessions(count, &(now() + 60_000).to_string())
    }

    fn pile_up_sessions(&self, count: u32, ended_at: &str) -> Result<(), Skip> {
        let columns =
            "session (id, user_id, client_id, created_at, last_used_at, expires_at, ended_at)";
        let (ids, now) = ([Piled::New, Piled::Id(&self.user)], now());
        let rest = format!("'app', {now}, {now}, {}, {ended_at}", now + 86_400_000);
        pile_up(&self.service, columns, count, &ids, &rest)
    }

    /// Share links of the team, on items of which no two are the same.
    fn pile_up_links(&self, count: u32) -> Result<(), Skip> {
        let columns = "share_link (id, team_id, item_id, secret, created_by, item_type, audience, can_view, \
             can_download, created_at, updated_at)";
        let ids = [
            Piled::New,
            Piled::Id(&self.team),
            Piled::New,
            Piled::Text,
            Piled::Id(&self.user),
        ];
        let rest = "'file', 'public', true, false, 1, 1";
        pile_up(&self.service, columns, count, &ids, rest)
    }

    /// Codes that were used, each of which stays as long as the session that began by it.
    fn pile_up_used_codes(&self, count: u32) -> Result<(), Skip> {
        self.pile_up_apps(1)?;
        let columns = "auth_code (digest, code_challenge, user_id, client_id, redirect_uri, expires_at, session_id)";
        let ids = [Piled::Digest, Piled::Digest, Piled::Id(&self.user)];
        let rest = "'app', 'com.example.app:/signed-in', 1, (SELECT id FROM session LIMIT 1)";
        pile_up(&self.service, columns, count, &ids, rest)
    }

    async fn send(&self, request: Request, status: u16) -> Duration {
        let begun = Instant::now();
        let answer = self
            .service
            .caller
            .send_unchecked(request.header("cookie", &self.cookie));
        let answer = answer.await.expect("an answer comes");
        assert_eq!(answer.status, status, "{answer:?}");
        begun.elapsed()
    }

    /// How long it takes until their export is answered so; none when it is not within a few seconds.
    async fn export_is(&self, status: u16) -> Option<Duration> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(5) {
            let export = Request::new("GET", "/account/export").header("cookie", &self.cookie);
            let answer = self.service.caller.send_unchecked(export).await;
            if answer.expect("an answer comes").status == status {
                return Some(begun.elapsed());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        None
    }

    /// The shortest of several times in which each page comes, and a key is made.
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

/// Milliseconds since 1970.
fn now() -> u128 {
    let now = std::time::UNIX_EPOCH.elapsed();
    now.expect("it is later").as_millis()
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
    // More of each kind than are told.
    given!(somebody.pile_up_keys(2 * TOLD));
    given!(somebody.pile_up_browsers(2 * TOLD));
    given!(somebody.pile_up_apps(2 * TOLD));
    given!(has_done(&somebody.service, &somebody.user, 2 * TOLD));
    // What it takes to answer at all.
    somebody
        .send(Request::new("GET", "/account/devices"), 200)
        .await;
    let memory = Process::of(&somebody.service).watch();
    somebody
        .send(Request::new("GET", "/account/export"), 200)
        .await;
    let growth = memory.growth();
    println!("memory grew by {growth:.0} MiB");
    assert!(growth <= TOLD_MIB, "memory grew by {growth:.0} MiB");
}

/// Each holds one piece, whatever the products have of text, and none is made that is not counted.
#[tokio::test]
async fn many_who_begin_a_download_at_once_take_the_memory_of_a_piece_each() {
    const MEMBERS: u32 = 24;
    let _turn = attack::turn().await;
    let somebody = given!(Somebody::new().await);
    given!(somebody.pile_up_large_products(2_000));
    let mut cookies = Vec::new();
    for number in 0..MEMBERS {
        cookies.push(given!(somebody.new_viewer(number).await));
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
    assert!(growth <= TOLD_MIB, "memory grew by {growth:.0} MiB");
}

#[tokio::test]
async fn whoever_breaks_off_what_is_told_of_them_begins_anew_soon() {
    let _turn = attack::turn().await;
    let somebody = given!(Somebody::new().await);
    // Twice what the system takes of an answer that nobody reads.
    given!(has_done(&somebody.service, &somebody.user, TOLD));
    given!(somebody.pile_up_keys(2 * TOLD));
    given!(somebody.pile_up_browsers(2 * TOLD));
    given!(somebody.pile_up_links(2 * TOLD));
    let target = Target::new(somebody.service.caller.base_url());
    let unread = answers::over_http1(&target, &attack::Request::export(&somebody.cookie), 1);
    // It has begun; otherwise it could be the one that is refused.
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

/// On SQLite, whatever one change takes is what everybody else waits for.
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
