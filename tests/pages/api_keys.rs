//! `/teams/{team}/settings/integrations/api-keys`.

use std::time::Duration;

use test_support::caller::Request;
use test_support::service::Service;

use crate::browser::{Browser, Shown, server};
use crate::team::{PASSWORD, add_member, age_sign_ins, signed_in, team};

fn path(team: &str) -> String {
    format!("/teams/{team}/settings/integrations/api-keys")
}

fn wanted(mode: &'static str) -> [(&'static str, &'static str); 4] {
    [
        ("name", "Web shop"),
        ("mode", mode),
        ("scope", "read-write"),
        ("expires_in", "90d"),
    ]
}

/// The key that a page shows, if any.
fn key(page: &Shown) -> Option<String> {
    let text = page.text();
    let (_, rest) = text.split_once("<code id=\"made\">")?;
    rest.split('<').next().map(str::to_owned)
}

async fn lists(service: &Service, key: &str) -> u16 {
    let request = Request::new("GET", "/api/v1/products").bearer(key);
    service.caller.send(request).await.status()
}

#[tokio::test]
async fn a_key_is_shown_once_works_and_is_revoked() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "owner").await;
    let path = path(&team);
    browser.get(&path).await.expect(200, "There is no key yet");
    let page = browser.submit(&path, &wanted("live")).await;
    page.expect(200, "Web shop")
        .expect(200, "it is not shown again");
    let made = key(&page).expect("it is shown");
    assert_eq!(lists(&service, &made).await, 200);
    let again = browser.get(&path).await;
    assert_eq!(key(&again), None);
    assert!(!again.text().contains(&made));

    let ids = again.hidden("id");
    let page = browser
        .submit(&format!("{path}/revoke"), &[("id", &ids[0])])
        .await;
    page.expect(200, "Revoked");
    assert_eq!(lists(&service, &made).await, 401);
}

#[tokio::test]
async fn a_key_shows_where_it_was_last_used_from() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "admin").await;
    let path = path(&team);
    let page = browser.submit(&path, &wanted("live")).await;
    assert!(!page.text().contains("from 127.0.0.1"));
    assert_eq!(
        lists(&service, &key(&page).expect("it is shown")).await,
        200
    );
    // It is written some seconds later.
    let shown = async {
        while !browser.get(&path).await.text().contains("from 127.0.0.1") {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let shown = tokio::time::timeout(Duration::from_secs(60), shown).await;
    shown.expect("the address is shown");
}

#[tokio::test]
async fn a_key_is_rotated_and_the_old_one_works_on_for_the_overlap() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "admin").await;
    let path = path(&team);
    let page = browser.submit(&path, &wanted("live")).await;
    let old = key(&page).expect("it is shown");
    let ids = page.hidden("id");
    let rotate = format!("{path}/rotate");
    let fields = [("id", ids[0].as_str()), ("overlap", "1h")];
    let page = browser.submit(&rotate, &fields).await;
    page.expect(200, "Replaced, valid until it expires");
    let new = key(&page).expect("it is shown");
    assert_ne!(old, new);
    assert_eq!(
        (lists(&service, &old).await, lists(&service, &new).await),
        (200, 200)
    );
    // Only once: the old key already has a successor.
    let again = browser.post(&rotate, &fields).await;
    again.expect(422, "was rotated before");

    let newest = browser.get(&path).await.hidden("id")[0].clone();
    let fields = [("id", newest.as_str()), ("overlap", "")];
    age_sign_ins(&service);
    let asked = browser.post(&rotate, &fields).await;
    asked.expect(403, "Confirm that it is you");
    let mut fields = fields.to_vec();
    fields.push(("confirm_password", PASSWORD));
    let page = browser.submit(&rotate, &fields).await;
    let last = key(&page).expect("it is shown");
    assert_eq!(
        (lists(&service, &new).await, lists(&service, &last).await),
        (401, 200)
    );
    let odd = browser
        .post(&rotate, &[("id", &newest), ("overlap", "soon")])
        .await;
    odd.expect(404, "no such page");
}

#[tokio::test]
async fn a_key_that_is_rotated_on_another_teams_path_is_shown_on_the_page_of_its_own_team() {
    let Some(service) = server() else { return };
    let (team, other) = (self::team(&service, "Acme"), self::team(&service, "Other"));
    let mut browser = signed_in(&service, &team, "owner").await;
    add_member(&service, &other, "owner@example.com", "owner");
    let page = browser.submit(&path(&team), &wanted("live")).await;
    let ids = page.hidden("id");
    let rotate = format!("{}/rotate", path(&other));
    let answer = browser
        .post(&rotate, &[("id", &ids[0]), ("overlap", "1h")])
        .await;
    assert_eq!(answer.location(), path(&team));
    assert_eq!(key(&browser.get(&path(&other)).await), None);
    let new = key(&browser.get(&path(&team)).await).expect("it is shown");
    assert_eq!(lists(&service, &new).await, 200);
}

#[tokio::test]
async fn a_live_key_needs_a_fresh_sign_in_and_what_waits_is_done_once_it_is_proven() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "admin").await;
    age_sign_ins(&service);
    let path = path(&team);
    let asked = browser.post(&path, &wanted("live")).await;
    asked.expect(403, "Confirm that it is you");
    assert_eq!(asked.hidden("name"), ["Web shop"]);
    browser.get(&path).await.expect(200, "There is no key yet");

    let with = |password: &'static str| {
        let mut fields = wanted("live").to_vec();
        fields.push(("confirm_password", password));
        fields
    };
    let wrong = browser.post(&path, &with("wrong wrong wrong")).await;
    wrong.expect(403, "is wrong");
    let before = browser.cookies.clone();
    let page = browser.submit(&path, &with(PASSWORD)).await;
    assert!(key(&page).is_some(), "{}", page.text());
    // The proof has given the session a new cookie.
    assert_ne!(browser.cookies, before);
    let mut old = Browser::new(&service);
    old.cookies = before;
    assert_eq!(old.get("/account/devices").await.status(), 303);

    // A test key opens nothing of value.
    age_sign_ins(&service);
    let page = browser.submit(&path, &wanted("test")).await;
    assert!(key(&page).is_some(), "{}", page.text());
}

#[tokio::test]
async fn a_key_of_another_team_is_not_there() {
    let Some(service) = server() else { return };
    let (ours, theirs) = (team(&service, "Acme"), team(&service, "Other"));
    let create = [
        "api-key",
        "create",
        "--team",
        &theirs,
        "--mode",
        "live",
        "--scope",
        "read-only",
    ];
    let created = service.command(&create).expect("an own server");
    let id = created["id"].as_str().expect("an id");
    let mut browser = signed_in(&service, &ours, "owner").await;
    for team in [&ours, &theirs] {
        let revoke = format!("{}/revoke", path(team));
        let answer = browser.post(&revoke, &[("id", id)]).await;
        answer.expect(404, "no such page");
    }
    let key = created["key"].as_str().expect("a key");
    assert_eq!(lists(&service, key).await, 200);
}

#[tokio::test]
async fn a_name_is_text_whatever_it_looks_like() {
    let Some(service) = server() else { return };
    let team = team(&service, "<b>&\"'</b>");
    let mut browser = signed_in(&service, &team, "owner").await;
    let path = path(&team);
    for name in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "'><svg/onload=alert(1)>",
        "{{7*7}}",
        "</title><script>alert(1)</script>",
    ] {
        let mut fields = wanted("test");
        fields[0].1 = name;
        let page = browser.submit(&path, &fields).await.text();
        for markup in ["<script>", "<img", "<svg", "<b>"] {
            assert!(!page.contains(markup), "{name}: {page}");
        }
    }
    let mut fields = wanted("test");
    fields[0].1 = "a\u{0}b";
    let refused = browser.post(&path, &fields).await;
    refused.expect(422, "id=\"name-complaint\">It has a control character");
}

#[tokio::test]
async fn whoever_has_proven_who_they_are_stays_signed_in_whatever_is_answered() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "admin").await;
    age_sign_ins(&service);
    let path = path(&team);
    let mut fields = wanted("live").to_vec();
    let long = "x".repeat(256);
    fields[0].1 = &long;
    fields.push(("confirm_password", PASSWORD));
    let refused = browser.post(&path, &fields).await;
    refused.expect(422, "id=\"name-complaint\">It is longer than");
    let revoke = format!("{path}/revoke");
    age_sign_ins(&service);
    let nothing = uuid::Uuid::nil().to_string();
    let fields = [("id", nothing.as_str()), ("confirm_password", PASSWORD)];
    browser
        .post(&revoke, &fields)
        .await
        .expect(404, "no such page");
    browser.get(&path).await.expect(200, "API keys");
}

#[tokio::test]
async fn a_new_key_is_shown_to_the_session_that_made_it_and_in_its_team_alone() {
    let Some(service) = server() else { return };
    let (other, team) = (team(&service, "Elsewhere"), team(&service, "Acme"));
    let mut ada = signed_in(&service, &team, "owner").await;
    let mut ben = signed_in(&service, &team, "admin").await;
    let path = path(&team);
    assert_eq!(ada.post(&path, &wanted("live")).await.status(), 303);
    let once = ada.cookies["invoicing-8080-once"].clone();
    ben.cookies.insert("invoicing-8080-once".into(), once);
    assert_eq!(key(&ben.get(&path).await), None);
    add_member(&service, &other, "owner@example.com", "owner");
    assert_eq!(key(&ada.get(&self::path(&other)).await), None);
    assert!(key(&ada.get(&path).await).is_some());
}
