//! `/account`.

use serde_json::Value;

use crate::browser::{Browser, server};
use crate::team::{PASSWORD, age_sign_ins, member, signed_in, team};

const NEW_PASSWORD: &str = "velvet onion staircase moon";

#[tokio::test]
async fn a_password_is_changed_with_the_current_one_and_ends_other_browsers() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut one = signed_in(&service, &team, "viewer").await;
    let mut two = Browser::new(&service);
    two.sign_in("viewer@example.com", PASSWORD).await;
    let change = |current: &'static str, new: &'static str| {
        [("current_password", current), ("password", new)]
    };
    let path = "/account/password";
    let wrong = one.post(path, &change("wrong wrong", NEW_PASSWORD)).await;
    wrong.expect(422, "id=\"current_password-complaint\">It is wrong");
    let weak = one.post(path, &change(PASSWORD, "short")).await;
    weak.expect(422, "id=\"password-complaint\"");
    for page in [&wrong, &weak] {
        assert!(!page.text().contains(PASSWORD) && !page.text().contains(NEW_PASSWORD));
    }
    let log = service.log();
    let refused = log.lines().find(|it| it.contains("wrong_password"));
    assert!(refused.is_some_and(|it| it.contains(path)), "{log}");
    // The proof gave the session a new cookie, with which it continues.
    let done = one.submit(path, &change(PASSWORD, NEW_PASSWORD)).await;
    done.expect(200, "Your password is changed");
    assert_eq!(two.get("/account").await.status(), 303);
    let fields = [("email", "viewer@example.com"), ("password", PASSWORD)];
    let old = two.post("/sign-in", &fields).await;
    assert_eq!(old.status(), 422);
    two.sign_in("viewer@example.com", NEW_PASSWORD).await;
}

#[tokio::test]
async fn the_page_shows_a_name_to_change_teams_and_sign_ins() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let page = browser.get("/account").await;
    page.expect(200, "member@example.com")
        .expect(200, "Acme")
        .expect(200, "from 127.0.0.1");
    let page = browser
        .submit("/account/name", &[("name", "Grace <i>")])
        .await;
    page.expect(200, "value=\"Grace &#60;i&#62;\"");
    let refused = browser.post("/account/name", &[("name", " ")]).await;
    refused.expect(422, "id=\"name-complaint\"");
}

#[tokio::test]
async fn refused_sign_ins_are_shown_to_the_user_alone() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut ada = signed_in(&service, &team, "owner").await;
    let mut ben = signed_in(&service, &team, "admin").await;
    let page = ada.get("/account").await;
    page.expect(200, "Wrong passwords for your account appear here");
    let fields = [("email", "owner@example.com"), ("password", "wrong")];
    for _ in 0..2 {
        let refused = Browser::new(&service).post("/sign-in", &fields).await;
        assert_eq!(refused.status(), 422);
    }
    ada.get("/account")
        .await
        .expect(200, "<strong>2 times</strong>");
    let export = ada.get("/account/export").await.text();
    let stored: Value = serde_json::from_str(&export).expect("JSON");
    let refused = &stored["refusedSignIns"][0];
    assert_eq!(
        (&refused["count"], &refused["clientAddress"]),
        (&2.into(), &"127.0.0.1".into())
    );
    assert_eq!(stored["moreRefusedSignIns"], false);
    let page = ben.get("/account").await;
    page.expect(200, "Wrong passwords for your account appear here");
    let audit = ben.get(&format!("/teams/{team}/settings/audit")).await;
    audit.expect(200, "Audit");
    assert!(!audit.text().contains("efused"), "{}", audit.text());
}

#[tokio::test]
async fn the_export_has_what_is_stored_and_no_secret() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let export = browser.get("/account/export").await;
    assert_eq!(export.0.header("content-type"), Some("application/json"));
    assert_eq!(export.0.header("cache-control"), Some("no-store"));
    let stored: Value = serde_json::from_str(&export.text()).expect("JSON");
    assert_eq!(stored["user"]["email"], "member@example.com");
    assert_eq!(stored["teams"][0]["role"], "member");
    assert_eq!(stored["browsers"].as_array().map(Vec::len), Some(1));
    let done = stored["done"].as_array().expect("a list");
    assert!(done.iter().any(|it| it["action"] == "sign-in"));
    let cookie = browser.cookies.values().next().expect("a cookie");
    assert!(!export.text().contains(cookie) && !export.text().contains("argon2"));
}

#[tokio::test]
async fn an_account_is_deleted_after_a_fresh_proof_and_is_gone() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    member(&service, &team, "owner").await;
    let mut browser = signed_in(&service, &team, "admin").await;
    browser
        .get("/account/delete")
        .await
        .expect(200, "can be undone");
    age_sign_ins(&service);
    let asked = browser.post("/account/delete", &[]).await;
    asked.expect(403, "Confirm that it is you");
    browser.get("/account").await.expect(200, "Account");
    let fields = [("confirm_password", PASSWORD)];
    let gone = browser.submit("/account/delete", &fields).await;
    gone.expect(200, "Sign in");
    // Except for the one of a user who might sign in with a passkey.
    let left: Vec<_> = browser.cookies.keys().collect();
    assert_eq!(left, ["invoicing-8080-passkey"]);
    let fields = [("email", "admin@example.com"), ("password", PASSWORD)];
    let refused = browser.post("/sign-in", &fields).await;
    assert_eq!(refused.status(), 422);
}
