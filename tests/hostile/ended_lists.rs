//! A list that waits for its team's other lists is refused when its caller has lost the right to it meanwhile.
//!
//! A team's long pages are made one after the other, or a few at once where there are many cores. So with some dozens of
//! them under way the last ones wait much longer than it takes to revoke a key, or to remove a member.

use std::time::Duration;

use futures::future::join_all;
use rusqlite::Connection;
use test_support::caller::Request;
use test_support::deployment::Skip;
use test_support::given;
use test_support::service::{Service, Team};
use tokio::task::JoinHandle;

use crate::attack;
use crate::full_page;
use crate::people::{ORIGIN, change_rows, form, signed_in_as};

/// Fewer than one team may have under way, and enough to wait for.
const LISTS: usize = 50;

/// As many as may wait for the passwords of one account.
const FORMS: usize = 8;

/// How often forms are sent, each time by another user, until one is answered after its user has lost the right: on a busy
/// machine, all may be answered before.
const ROUNDS: usize = 8;

/// Asks for many pages at once. Returns their statuses, some time later.
fn asked(service: &Service, page: &Request, count: usize) -> Vec<JoinHandle<u16>> {
    let ask = |_| {
        let (caller, page) = (service.caller.clone(), page.clone());
        tokio::spawn(async move {
            let answer = caller.send_unchecked(page).await;
            answer.expect("an answer comes").status
        })
    };
    (0..count).map(ask).collect()
}

/// How many of these answers had each of two statuses; there must not be another.
async fn counted(asked: Vec<JoinHandle<u16>>, statuses: [u16; 2]) -> [usize; 2] {
    let answers = join_all(asked).await;
    let answers: Vec<_> = answers
        .into_iter()
        .map(|it| it.expect("a status"))
        .collect();
    let counted = statuses.map(|one| answers.iter().filter(|it| **it == one).count());
    assert_eq!(counted.iter().sum::<usize>(), answers.len(), "{answers:?}");
    counted
}

/// A full team, and the id and cookie of a user who is in it.
async fn full_team(role: &str) -> Result<(Service, Team, String, String), Skip> {
    let (service, team) = full_page::start(&[("INVOICING_ORIGIN", ORIGIN)]).await?;
    let (user, cookie) = signed_in_as(&service, "ada@example.com").await?;
    let user = user.to_string();
    join(&service, &team, &user, role)?;
    Ok((service, team, user, cookie))
}

fn join(service: &Service, team: &Team, user: &str, role: &str) -> Result<(), Skip> {
    let add = [
        "member", "add", "--team", &team.id, "--user", user, "--role", role,
    ];
    service.command(&add).map(drop)
}

/// Does what a form of a page does.
async fn change(service: &Service, path: &str, text: &str, cookie: &str) {
    let change = form(path, text).header("cookie", cookie);
    let answer = service.caller.send_unchecked(change).await;
    assert_eq!(answer.expect("an answer comes").status, 303, "{path}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_waits_is_refused_once_its_key_is_revoked() {
    let _turn = attack::turn().await;
    let (service, team, _, cookie) = given!(full_team("owner").await);
    let create = [
        "api-key",
        "create",
        "--team",
        &team.id,
        "--mode",
        "live",
        "--scope",
        "read-only",
    ];
    let made = given!(service.command(&create));
    let text = |name: &str| made[name].as_str().expect("text");
    let list = Request::new("GET", "/api/v1/products?limit=100")
        .bearer(text("key"))
        .header("accept-encoding", "gzip");
    let lists = asked(&service, &list, LISTS);
    // Sent by a browser, since a command takes as long as all of the lists.
    let revoke = format!("/teams/{}/settings/integrations/api-keys/revoke", team.id);
    change(&service, &revoke, &format!("id={}", text("id")), &cookie).await;
    let [_, refused] = counted(lists, [200, 401]).await;
    assert!(refused > 0, "all lists were answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_waits_is_refused_once_its_reader_is_removed_or_signed_out() {
    let _turn = attack::turn().await;
    let (service, team, user, cookie) = given!(full_team("viewer").await);
    let page = Request::new("GET", format!("/teams/{}/products", team.id))
        .header("cookie", &cookie)
        .header("accept-encoding", "gzip");

    let pages = asked(&service, &page, LISTS);
    let remove = ["member", "remove", "--team", &team.id, "--user", &user];
    given!(service.command(&remove));
    let [_, refused] = counted(pages, [200, 404]).await;
    assert!(refused > 0, "a removed member got all pages");

    given!(join(&service, &team, &user, "viewer"));
    let pages = asked(&service, &page, LISTS);
    change(&service, "/sign-out", "", &cookie).await;
    let [_, refused] = counted(pages, [200, 303]).await;
    assert!(refused > 0, "who had signed out got all pages");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_managers_that_waits_is_refused_once_its_reader_is_none() {
    let _turn = attack::turn().await;
    let (service, team, user, cookie) = given!(full_team("admin").await);
    let (owner, of_owner) = given!(signed_in_as(&service, "bob@example.com").await);
    given!(join(&service, &team, &owner.to_string(), "owner"));
    let get = |path: String| Request::new("GET", path).header("cookie", &cookie);
    let products = get(format!("/teams/{}/products", team.id)).header("accept-encoding", "gzip");
    let members = format!("/teams/{}/settings/members", team.id);
    // The others wait behind these.
    let mut products = asked(&service, &products, LISTS * 3 / 4);
    let pages = asked(&service, &get(members.clone()), LISTS / 4);
    // Once one is made, most are under way.
    assert_eq!(products.remove(0).await.expect("a status"), 200);
    let role = format!("id={user}&role=viewer");
    change(&service, &format!("{members}/role"), &role, &of_owner).await;
    let [shown, refused] = counted(pages, [200, 403]).await;
    assert!(refused > shown, "a viewer got {shown} pages of managers");
    let [shown, _] = counted(products, [200, 503]).await;
    assert!(shown > 0);
}

/// Each form waits for its password to be compared, after the session was looked up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_that_waits_for_its_password_is_refused_once_its_session_has_ended() {
    let _turn = attack::turn().await;
    let (service, _) = given!(full_page::start(&[("INVOICING_ORIGIN", ORIGIN)]).await);
    for round in 0..ROUNDS {
        let email = format!("user{round}@example.com");
        let (_, cookie) = given!(signed_in_as(&service, &email).await);
        let wrong = "current_password=no-such-password-here&password=harbour-lamp-violet-27";
        let wrong = form("/account/password", wrong).header("cookie", &cookie);
        let mut forms = asked(&service, &wrong, FORMS);
        // Once one is answered, all others wait.
        assert_eq!(forms.remove(0).await.expect("a status"), 422);
        change(&service, "/sign-out", "", &cookie).await;
        let [_, refused] = counted(forms, [422, 303]).await;
        if refused > 0 {
            return;
        }
    }
    panic!("who had signed out got all pages");
}

/// As a list of the members does, which is the answer to an invitation with a wrong address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invitation_that_waits_for_a_password_shows_no_members_to_who_has_lost_the_role() {
    let _turn = attack::turn().await;
    let (service, team) = given!(full_page::start(&[("INVOICING_ORIGIN", ORIGIN)]).await);
    let (owner, of_owner) = given!(signed_in_as(&service, "bob@example.com").await);
    given!(join(&service, &team, &owner.to_string(), "owner"));
    let members = format!("/teams/{}/settings/members", team.id);
    for round in 0..ROUNDS {
        let email = format!("user{round}@example.com");
        let (user, cookie) = given!(signed_in_as(&service, &email).await);
        let user = user.to_string();
        given!(join(&service, &team, &user, "admin"));
        // So that the password is asked for.
        let age = "UPDATE browser_session SET signed_in_at = signed_in_at - 3600000 \
                   WHERE user_id <> (SELECT id FROM \"user\" WHERE email = 'bob@example.com')";
        given!(change_rows(&service, age));
        let wrong = "email=none&role=admin&confirm_password=lantern+harbour+tulip+nine";
        let wrong = form(&members, wrong).header("cookie", &cookie);
        let mut forms = asked(&service, &wrong, FORMS);
        assert_eq!(forms.remove(0).await.expect("a status"), 422);
        let role = format!("id={user}&role=viewer");
        change(&service, &format!("{members}/role"), &role, &of_owner).await;
        let [_, refused] = counted(forms, [422, 403]).await;
        if refused > 0 {
            return;
        }
    }
    panic!("a viewer was shown the members");
}

/// Uploads a file to import, and returns where its plan is.
async fn upload(service: &Service, team: &Team, csv: &str, cookie: &str) -> String {
    let body = format!(
        "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\n{csv}\r\n--edge--\r\n"
    );
    let upload = Request::new("POST", format!("/teams/{}/products/import", team.id))
        .text(body)
        .without_header("content-type")
        .header("content-type", "multipart/form-data; boundary=edge")
        .header("sec-fetch-site", "same-origin")
        .header("cookie", cookie);
    let answer = service.caller.send_unchecked(upload).await;
    let answer = answer.expect("an answer comes");
    assert_eq!(answer.status, 303, "{answer:?}");
    answer.header("location").expect("the plan").to_owned()
}

/// It waits for the imports of its team.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_plan_that_waits_is_refused_once_its_session_has_ended() {
    let _turn = attack::turn().await;
    let (service, team, _, cookie) = given!(full_team("member").await);
    let (other, of_other) = given!(signed_in_as(&service, "bob@example.com").await);
    given!(join(&service, &team, &other.to_string(), "member"));
    let plan = upload(
        &service,
        &team,
        "name,unitPrice,currency\nA,1,EUR\n",
        &cookie,
    )
    .await;
    let plan = Request::new("GET", plan).header("cookie", &cookie);
    let import = upload(
        &service,
        &team,
        "name,unitPrice,currency\nB,1,EUR\n",
        &of_other,
    )
    .await;
    // The import waits for this, with its turn; and nobody sees that the session has ended before it is committed.
    let database = given!(service.own_database());
    let Some(path) = database.strip_prefix("sqlite:") else {
        return; // The tests have no connection to PostgreSQL that stays open.
    };
    let ends = Connection::open(path).expect("it is there");
    let end = "BEGIN IMMEDIATE; DELETE FROM browser_session WHERE user_id IN (
        SELECT id FROM \"user\" WHERE email = 'ada@example.com')";
    ends.execute_batch(end).expect("it is changed");
    let import = asked(&service, &form(&import, "").header("cookie", &of_other), 1);
    // Nothing can be seen of its turn but that a plan does not come at once.
    let waits = loop {
        let mut shown = asked(&service, &plan, 1).remove(0);
        match tokio::time::timeout(Duration::from_millis(300), &mut shown).await {
            Ok(status) => assert_eq!(status.expect("a status"), 200),
            Err(_) => break shown,
        }
        assert!(!import[0].is_finished(), "it did not wait");
    };
    ends.execute_batch("COMMIT").expect("it is changed");
    assert_eq!(waits.await.expect("a status"), 303);
    counted(import, [303, 0]).await;
}
