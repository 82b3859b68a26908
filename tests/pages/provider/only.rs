//! A server without passwords.

use super::stub::{Provider, somebody};
use super::{by_provider, sign_in};
use crate::browser::{Browser, ORIGIN, link_path};
use crate::team::{PASSWORD, age_sign_ins, team};

const ADA: &str = "ada@example.com";
const OFF: [(&str, &str); 1] = [("INVOICING_PASSWORD_SIGN_IN", "off")];

#[tokio::test]
async fn nobody_types_or_sets_a_password_where_they_are_off() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&OFF) else {
        return;
    };
    let command = |words: &[&str]| service.command(words).expect("an own server");
    let set_up = link_path(&service, &["setup-link"]);
    let team = team(&service, "Acme");
    let set_up_page = Browser::new(&service).get(&set_up).await;
    set_up_page.expect(200, "Passwords are switched off");
    let fields = [("name", "Ada"), ("email", ADA), ("password", PASSWORD)];
    let refused = Browser::new(&service).post(&set_up, &fields).await;
    refused.expect(403, "Passwords are switched off");

    command(&["user", "create", "--email", ADA, "--name", "Ada"]);
    command(&[
        "member", "add", "--team", &team, "--user", ADA, "--role", "owner",
    ]);
    let mut browser = Browser::new(&service);
    let page = browser.get("/sign-in").await;
    page.expect(200, "Sign in with Example ID");
    assert!(!page.text().contains("password"), "{}", page.text());
    let fields = [("email", ADA), ("password", PASSWORD)];
    let refused = browser.post("/sign-in", &fields).await;
    refused.expect(403, "Passwords are switched off");

    let forgotten = browser.get("/reset").await;
    forgotten.expect(200, "Passwords are switched off");
    let refused = browser.post("/reset", &[("email", ADA)]).await;
    refused.expect(403, "Passwords are switched off");
    let reset = link_path(&service, &["user", "reset-link", ADA]);
    browser
        .get(&reset)
        .await
        .expect(200, "Passwords are switched off");
    let refused = browser.post(&reset, &[("password", PASSWORD)]).await;
    refused.expect(403, "Passwords are switched off");

    sign_in(&mut browser, &provider, &somebody("1").email(ADA)).await;
    let page = browser.get("/account").await;
    page.expect(200, "Account");
    assert!(!page.text().contains("new-password"), "{}", page.text());
    page.expect(200, "Ask whoever runs this server to change it");
    let fields = [("current_password", PASSWORD), ("password", PASSWORD)];
    let refused = browser.post("/account/password", &fields).await;
    refused.expect(403, "Passwords are switched off");

    let members = format!("/teams/{team}/settings/members");
    let fields = [("email", "bo@example.com"), ("role", "member")];
    let page = browser.submit(&members, &fields).await;
    let text = page.text();
    let link = text.split(&format!("<code id=\"made\">{ORIGIN}")).nth(1);
    let link = link.and_then(|it| it.split('<').next()).expect("a link");
    let mut bo = Browser::new(&service);
    let page = bo.get(link).await;
    page.expect(200, "Join with Example ID");
    assert!(!page.text().contains("new-password"), "{}", page.text());
    let fields = [("name", "Bo"), ("password", PASSWORD)];
    let refused = bo.post(link, &fields).await;
    refused.expect(403, "Passwords are switched off");
    let path = format!("{link}/provider");
    let token = somebody("2").email("bo@example.com");
    let done = by_provider(&mut bo, &provider, &path, &token).await;
    assert_eq!(done.location(), "/");

    age_sign_ins(&service);
    let asked = browser.post("/account/delete", &[]).await;
    asked.expect(403, "Confirm with Example ID");
    let typed = [("confirm_password", PASSWORD)];
    let refused = browser.post("/account/delete", &typed).await;
    refused.expect(403, "Passwords are switched off");
}

/// A password that cannot be typed does not count as a way to sign in.
#[tokio::test]
async fn a_user_whose_password_is_switched_off_is_found_by_email() {
    let provider = Provider::start().await;
    let Some(mut service) = provider.server(&[]) else {
        return;
    };
    crate::team::person(&service, ADA).await;
    service.restart_with(&OFF);
    let mut browser = Browser::new(&service);
    let done = sign_in(&mut browser, &provider, &somebody("1").email(ADA)).await;
    assert_eq!(done.status(), 303, "{}", done.text());
    let ids = browser.get("/account").await.hidden("id");
    let refused = browser.post("/account/unlink", &[("id", &ids[0])]).await;
    refused.expect(422, "it is your last way to sign in");
}
