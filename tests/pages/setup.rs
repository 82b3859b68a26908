//! `/setup/{token}`: from an empty database to the first owner.

use test_support::service::Service;

use crate::browser::{Browser, link_path, server};
use crate::team::{PASSWORD, team};

fn link(service: &Service) -> String {
    link_path(service, &["setup-link"])
}

fn fields(password: &str) -> [(&str, &str); 4] {
    [
        ("team", "Acme"),
        ("name", "Ada"),
        ("email", "ada@example.com"),
        ("password", password),
    ]
}

#[tokio::test]
async fn the_first_owner_is_made_and_signed_in() {
    let Some(service) = server() else { return };
    let link = link(&service);
    let mut browser = Browser::new(&service);
    browser.get(&link).await.expect(200, "name=\"team\"");
    let home = browser.submit(&link, &fields(PASSWORD)).await;
    home.expect(200, "Acme").expect(200, "Add the first one");

    // It is valid once.
    let again = Browser::new(&service).post(&link, &fields(PASSWORD)).await;
    again.expect(404, "no such page");
    browser.get(&link).await.expect(404, "no such page");
    Browser::new(&service)
        .sign_in("ADA@example.com", PASSWORD)
        .await;
}

#[tokio::test]
async fn to_look_at_the_link_does_not_spend_it_and_a_newer_one_replaces_it() {
    let Some(service) = server() else { return };
    let first = link(&service);
    let mut browser = Browser::new(&service);
    for _ in 0..2 {
        browser.get(&first).await.expect(200, "Set up");
    }
    let second = link(&service);
    browser.get(&first).await.expect(404, "no such page");
    browser.get(&second).await.expect(200, "Set up");
}

#[tokio::test]
async fn a_refused_form_comes_back_filled_in_with_the_complaint_at_its_field() {
    let Some(service) = server() else { return };
    let link = link(&service);
    let mut browser = Browser::new(&service);
    let refused = browser.post(&link, &fields("<tulip>")).await;
    refused.expect(422, "id=\"password-complaint\">It is too short");
    refused.expect(422, "value=\"Acme\"");
    refused.expect(422, "value=\"ada@example.com\"");
    assert!(!refused.text().contains("tulip"), "{}", refused.text());

    let wrong = [
        ("team", "Acme"),
        ("name", "\"><script>alert(1)</script>"),
        ("email", "nobody"),
        ("password", PASSWORD),
    ];
    let refused = browser.post(&link, &wrong).await;
    refused.expect(422, "id=\"email-complaint\"");
    assert!(
        !refused.text().contains("<script>alert"),
        "{}",
        refused.text()
    );
    browser.get(&link).await.expect(200, "Set up");
}

#[tokio::test]
async fn where_there_are_teams_the_first_owner_owns_them_and_names_none() {
    let Some(service) = server() else { return };
    team(&service, "First");
    team(&service, "Second");
    let link = link(&service);
    let mut browser = Browser::new(&service);
    let page = browser.get(&link).await;
    assert!(!page.text().contains("name=\"team\""), "{}", page.text());
    let home = browser.submit(&link, &fields(PASSWORD)[1..]).await;
    home.expect(200, "First").expect(200, "Second");
}

#[tokio::test]
async fn two_who_set_up_at_once_make_one_owner() {
    let Some(service) = server() else { return };
    let link = link(&service);
    let (mut one, mut other) = (Browser::new(&service), Browser::new(&service));
    let form = fields(PASSWORD);
    let (one, other) = tokio::join!(one.post(&link, &form), other.post(&link, &form));
    let mut statuses = [one.status(), other.status()];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 404]);
}

#[tokio::test]
async fn once_there_is_a_user_no_link_is_made() {
    let Some(service) = server() else { return };
    let link = link(&service);
    let create = ["user", "create", "--email", "b@example.com", "--name", "B"];
    service.command(&create).expect("an own server");
    let mut browser = Browser::new(&service);
    browser.get(&link).await.expect(404, "no such page");
    let refused = std::process::Command::new(crate::BINARY)
        .args(["setup-link", "--database"])
        .arg(service.own_database().expect("an own server"))
        .output()
        .expect("the binary can be run");
    assert_eq!(refused.status.code(), Some(1));
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("there is a user already"), "{why}");
}
