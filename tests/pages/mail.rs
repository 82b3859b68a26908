//! The mail of the service: invitations, links to reset a password, and links to a new email.

use std::any::Any;

use test_support::mail::{Mail, MailServer, Manner};
use test_support::postgres::{Locked, ask, until_lock_waits};
use test_support::service::Service;

use crate::browser::{Browser, ORIGIN, server, server_with};
use crate::team::{PASSWORD, age_sign_ins, person, signed_in, team};

const ADA: &str = "ada@example.com";

/// A password that differs from the usual one.
const OTHER: &str = "quarry violin marble seven";

/// A server that sends mail, and the mail server that it uses.
fn mailing(manner: Manner) -> Option<(Service, MailServer)> {
    let mail = MailServer::start(manner);
    let settings = [
        ("INVOICING_SMTP_URL", mail.url()),
        (
            "INVOICING_MAIL_FROM",
            "Invoices <invoices@example.com>".to_owned(),
        ),
    ];
    let settings = settings
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    Some((server_with(&settings)?, mail))
}

/// The path of the link in the letter.
fn link(mail: &Mail) -> String {
    mail.link(ORIGIN)
        .unwrap_or_else(|| panic!("{}", mail.text()))
}

#[tokio::test]
async fn an_invitation_is_mailed_and_its_link_is_in_no_page() {
    let Some((service, mail)) = mailing(Manner::Takes) else {
        return;
    };
    let team = team(&service, "Acmé\u{200b}");
    let mut owner = signed_in(&service, &team, "owner").await;
    let path = format!("/teams/{team}/settings/members");
    let fields = [("email", "bo@example.com"), ("role", "member")];
    let page = owner.submit(&path, &fields).await;
    page.expect(200, "is on its way by mail")
        .expect(200, "bo@example.com");
    assert!(!page.text().contains("/invitation/"), "{}", page.text());
    assert_eq!(owner.cookies.len(), 2, "{:?}", owner.cookies);

    let letter = mail.next().await;
    assert_eq!(letter.from, "invoices@example.com");
    assert_eq!(letter.to, ["bo@example.com"]);
    assert_eq!(
        letter.header("auto-submitted").as_deref(),
        Some("auto-generated")
    );
    assert!(
        letter
            .header("message-id")
            .unwrap()
            .ends_with("@localhost>")
    );
    assert!(letter.header("date").is_some());
    let text = letter.text();
    assert!(
        text.contains("owner@example.com invites you to the team Acmé, as member."),
        "{text}"
    );
    let mut bo = Browser::new(&service);
    let new = [("name", "Bo"), ("password", PASSWORD)];
    bo.submit(&link(&letter), &new)
        .await
        .expect(200, "There is no product yet");
}

#[tokio::test]
async fn an_invitation_to_what_is_no_address_comes_back() {
    let Some((service, mail)) = mailing(Manner::Takes) else {
        return;
    };
    let team = team(&service, "Acme");
    let mut owner = signed_in(&service, &team, "owner").await;
    let path = format!("/teams/{team}/settings/members");
    for email in [
        "bo@exa_mple.com,eve@example.com",
        "\"><img/src=x>@example.com",
        "<bo@example.com>",
    ] {
        let fields = [("email", email), ("role", "member")];
        let refused = owner.post(&path, &fields).await;
        refused.expect(422, "id=\"email-complaint\"");
    }
    // Anything sent before would arrive before.
    let fields = [("email", "bo@example.com"), ("role", "member")];
    assert_eq!(owner.post(&path, &fields).await.status(), 303);
    assert_eq!(mail.next().await.to, ["bo@example.com"]);
    assert_eq!(mail.waiting().await, None);
}

#[tokio::test]
async fn a_forgotten_password_is_set_anew_by_a_link_that_is_mailed() {
    let Some((service, mail)) = mailing(Manner::Takes) else {
        return;
    };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    browser.get("/sign-in").await.expect(200, "href=\"/reset\"");
    browser.get("/reset").await.expect(200, "Send the link");
    let refused = browser.post("/reset", &[("email", "ada")]).await;
    refused
        .expect(422, "id=\"email-complaint\"")
        .expect(422, "value=\"ada\"");

    // To the stored address, however it was typed.
    let page = browser
        .submit("/reset", &[("email", " ADA@Example.com ")])
        .await;
    page.expect(200, "If there is an account with this email");
    let letter = mail.next().await;
    assert_eq!(letter.to, [ADA]);
    let first = link(&letter);
    browser.submit("/reset", &[("email", ADA)]).await;
    let second = link(&mail.next().await);
    browser.get(&first).await.expect(404, "no such page");
    browser.get(&second).await.expect(200, "Set a new password");
    let set = [("password", OTHER)];
    assert_eq!(browser.post(&second, &set).await.status(), 303);
    browser.get(&second).await.expect(404, "no such page");
    Browser::new(&service).sign_in(ADA, OTHER).await;
}

/// Neither the answer reveals it, nor a letter to another address.
#[tokio::test]
async fn whoever_asks_for_a_reset_does_not_learn_who_has_an_account() {
    let Some((service, mail)) = mailing(Manner::Takes) else {
        return;
    };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    let mut answers = Vec::new();
    for email in ["nobody@example.com", ADA, ADA, ADA, ADA] {
        let answer = browser.post("/reset", &[("email", email)]).await;
        let page = browser.get(&answer.location()).await;
        let without_date = |it: &crate::browser::Shown| {
            let mut headers = it.0.headers.clone();
            headers.retain(|(name, _)| name != "date" && name != "x-request-id");
            (it.status(), headers, it.text())
        };
        answers.push((without_date(&answer), without_date(&page)));
    }
    assert!(answers.iter().all(|it| *it == answers[0]), "{answers:#?}");
    person(&service, "ben@example.com").await;
    browser
        .post("/reset", &[("email", "ben@example.com")])
        .await;
    // Three an hour for Ada, and none for the unknown address.
    let mut to = Vec::new();
    for _ in 0..4 {
        to.extend(mail.next().await.to);
    }
    to.sort();
    assert_eq!(to, [ADA, ADA, ADA, "ben@example.com"]);
    assert_eq!(mail.waiting().await, None);
}

/// Keeps others from writing, in PostgreSQL from reading, too, so that the time of the answer reveals nothing either.
fn locked(service: &Service) -> Box<dyn Any> {
    let database = service.own_database().expect("an own server");
    let Some(path) = database.strip_prefix("sqlite:") else {
        return Box::new(Locked::all(database));
    };
    let file = rusqlite::Connection::open(path).expect("it is there");
    file.execute_batch("BEGIN IMMEDIATE")
        .expect("nobody writes");
    Box::new(file)
}

#[tokio::test]
async fn whoever_asks_for_a_reset_does_not_wait_for_the_database() {
    let Some((service, _mail)) = mailing(Manner::Takes) else {
        return;
    };
    person(&service, ADA).await;
    let _locked = locked(&service);
    let mut browser = Browser::new(&service);
    for email in [ADA, "nobody@example.com"] {
        let answer = browser.post("/reset", &[("email", email)]).await;
        assert_eq!(answer.status(), 303, "{answer:?}");
    }
    // A request that needs the database is refused: 503.
    let sign_in = [("email", ADA), ("password", PASSWORD)];
    let refused = browser.post("/sign-in", &sign_in).await;
    assert_eq!(refused.status(), 503, "{refused:?}");
}

/// P17: a take-over by the owner of a mailbox that a user has just left. SQLite has one writer, so a look-up cannot be
/// overtaken there.
#[tokio::test]
async fn a_reset_never_goes_to_an_email_that_was_left_meanwhile() {
    let Some((service, mail)) = mailing(Manner::Takes) else {
        return;
    };
    person(&service, ADA).await;
    let database = service.own_database().expect("an own server");
    let (old, new) = (ADA, "ada@example.org");
    let change = format!("UPDATE \"user\" SET email = '{new}' WHERE email = '{old}'");
    let mut browser = Browser::new(&service);
    if database.starts_with("sqlite:") {
        browser.submit("/reset", &[("email", old)]).await;
        assert_eq!(mail.next().await.to, [old]);
        return;
    }
    let moving = Locked::by(database, &change);
    browser.submit("/reset", &[("email", old)]).await;
    until_lock_waits(database, 1).await;
    moving.commit();
    // Anything sent before would arrive before.
    while ask(
        database,
        &format!("SELECT email FROM \"user\" WHERE email = '{new}'"),
    ) != new
    {
        tokio::task::yield_now().await;
    }
    browser.submit("/reset", &[("email", new)]).await;
    assert_eq!(mail.next().await.to, [new]);
    assert_eq!(mail.waiting().await, None);
    assert_eq!(ask(database, "SELECT sum(count) FROM mail_count"), "1");
}

#[tokio::test]
async fn without_mail_the_page_says_who_can_help() {
    let Some(service) = server() else { return };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    let page = browser.get("/reset").await;
    page.expect(200, "Ask whoever runs this server");
    assert!(!page.text().contains("<form"), "{}", page.text());
    let asked = browser.post("/reset", &[("email", ADA)]).await;
    asked.expect(404, "no such page");
    let page = browser.get("/sign-in").await;
    assert!(!page.text().contains("href=\"/reset\""), "{}", page.text());
    browser.sign_in(ADA, PASSWORD).await;
    let page = browser.get("/account").await;
    assert!(
        !page.text().contains("action=\"/account/email\""),
        "{}",
        page.text()
    );
    let asked = browser
        .post("/account/email", &[("email", "ada@example.org")])
        .await;
    asked.expect(404, "no such page");
}

#[tokio::test]
async fn a_new_email_counts_once_its_link_was_followed_and_the_old_one_is_told() {
    let Some((service, mail)) = mailing(Manner::Takes) else {
        return;
    };
    person(&service, ADA).await;
    let mut ada = Browser::new(&service);
    ada.sign_in(ADA, PASSWORD).await;
    let new = [("email", "ada@example.org")];
    let page = ada.submit("/account/email", &new).await;
    page.expect(200, "sent a link to your new email")
        .expect(200, "You sign in as ada@example.com");
    let letter = mail.next().await;
    assert_eq!(letter.to, ["ada@example.org"]);
    let link = link(&letter);

    // A typo in the address does not give its owner the account: the link alone is not enough.
    let mut nobody = Browser::new(&service);
    assert!(
        nobody
            .get(&link)
            .await
            .location()
            .starts_with("/sign-in?next=")
    );
    assert!(
        nobody
            .post(&link, &[])
            .await
            .location()
            .starts_with("/sign-in")
    );
    person(&service, "eve@example.com").await;
    nobody.sign_in("eve@example.com", PASSWORD).await;
    nobody.get(&link).await.expect(404, "no such page");
    nobody.post(&link, &[]).await.expect(404, "no such page");

    // A mail scanner that opens the link changes nothing.
    ada.get(&link).await.expect(200, "ada@example.org");
    ada.get("/account")
        .await
        .expect(200, "You sign in as ada@example.com");
    ada.submit(&link, &[])
        .await
        .expect(200, "You sign in as ada@example.org");
    ada.get(&link).await.expect(404, "no such page");
    let told = mail.next().await;
    assert_eq!(told.to, [ADA]);
    assert!(
        told.text().contains("another email from now on"),
        "{}",
        told.text()
    );
    Browser::new(&service)
        .sign_in("ada@example.org", PASSWORD)
        .await;
    let old = [("email", ADA), ("password", PASSWORD)];
    assert_eq!(
        Browser::new(&service).post("/sign-in", &old).await.status(),
        422
    );
}

#[tokio::test]
async fn a_new_email_needs_a_fresh_sign_in_and_one_of_somebody_else_is_not_told() {
    let Some((service, mail)) = mailing(Manner::Takes) else {
        return;
    };
    person(&service, ADA).await;
    person(&service, "ben@example.com").await;
    let mut ada = Browser::new(&service);
    ada.sign_in(ADA, PASSWORD).await;
    age_sign_ins(&service);
    let asked = ada
        .post("/account/email", &[("email", "ben@example.com")])
        .await;
    asked.expect(403, "Confirm that it is you");
    assert_eq!(asked.hidden("email"), ["ben@example.com"]);
    let fields = [("email", "Ben@example.com"), ("confirm_password", PASSWORD)];
    let page = ada.submit("/account/email", &fields).await;
    page.expect(200, "sent a link to your new email");
    let told = mail.next().await;
    assert_eq!(told.to, ["ben@example.com"], "as it is stored");
    assert_eq!(told.link(ORIGIN), None, "{}", told.text());
    assert!(
        told.text().contains("which is yours already"),
        "{}",
        told.text()
    );
    let same = ada.post("/account/email", &[("email", ADA)]).await;
    same.expect(422, "is yours already");
    let wrong = ada
        .post("/account/email", &[("email", "<x>@example.com")])
        .await;
    wrong.expect(422, "id=\"email-complaint\"");
}

/// A link is worth as much as a password, and addresses are private.
#[tokio::test]
async fn a_server_that_refuses_mail_harms_nobody_and_tells_nothing() {
    let Some((service, mail)) = mailing(Manner::RefusesForGood) else {
        return;
    };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    let page = browser.submit("/reset", &[("email", ADA)]).await;
    page.expect(200, "If there is an account with this email");
    while !service.log().contains("mail was given up") {
        tokio::task::yield_now().await;
    }
    // The log reports the failure, but neither the recipient nor the contents.
    let log = service.log().replace("/reset/{token}", "");
    assert!(!log.contains(ADA) && !log.contains("/reset/"), "{log}");
    mail.behave(Manner::Takes);
    browser.submit("/reset", &[("email", ADA)]).await;
    browser
        .get(&link(&mail.next().await))
        .await
        .expect(200, "Set a new password");
}
