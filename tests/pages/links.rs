//! `/teams/{team}/links`.

use test_support::service::Service;

use crate::browser::{Browser, server};
use crate::team::{PASSWORD, age_sign_ins, member, signed_in, team};

/// Creates a link of the member to a file of the team. Returns its id.
fn link(service: &Service, team: &str, email: &str, file: &str) -> String {
    let create = ["file", "create", "--team", team, "--name", file];
    let file = service.command(&create).expect("an own server");
    let file = file["id"].as_str().expect("an id");
    let create = [
        "link",
        "create",
        "--file",
        file,
        "--user",
        email,
        "--expires-in",
        "7d",
        "--name",
        "For the auditor",
    ];
    let link = service.command(&create).expect("an own server");
    link["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn links_are_listed_newest_first_and_one_is_revoked() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "member").await;
    let path = format!("/teams/{team}/links");
    browser.get(&path).await.expect(200, "Nothing is shared");
    let older = link(&service, &team, "member@example.com", "older.pdf");
    let newer = link(&service, &team, "member@example.com", "newer <b>.pdf");
    let page = browser.get(&path).await;
    page.expect(200, "newer &#60;b&#62;.pdf")
        .expect(200, "For the auditor")
        .expect(200, "member@example.com");
    assert_eq!(page.hidden("id"), [newer.as_str(), &older]);
    // A page that starts after the newest leads back to it.
    let page = browser.get(&format!("{path}?after={newer}")).await;
    assert_eq!(page.hidden("id"), [older.as_str()]);
    page.expect(200, &format!("<a href=\"{path}\">Newest</a>"));
    browser
        .get(&format!("{path}?after=x"))
        .await
        .expect(404, "no such page");

    age_sign_ins(&service);
    let revoke = format!("{path}/revoke");
    let fields = [("id", newer.as_str())];
    let asked = browser.post(&revoke, &fields).await;
    asked.expect(403, "Confirm that it is you");
    let fields = [fields[0], ("confirm_password", PASSWORD)];
    let page = browser.submit(&revoke, &fields).await;
    assert_eq!(page.hidden("id"), [older.as_str()]);
}

#[tokio::test]
async fn a_viewer_sees_links_and_revokes_none() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let owner = member(&service, &team, "owner").await;
    let id = link(&service, &team, &owner, "a.pdf");
    let mut viewer = signed_in(&service, &team, "viewer").await;
    let path = format!("/teams/{team}/links");
    let page = viewer.get(&path).await;
    page.expect(200, "a.pdf");
    assert!(page.hidden("id").is_empty());
    let refused = viewer.post(&format!("{path}/revoke"), &[("id", &id)]).await;
    assert_eq!(refused.status(), 403);
    let mut browser = Browser::new(&service);
    browser.sign_in(&owner, PASSWORD).await;
    assert_eq!(browser.get(&path).await.hidden("id"), [id]);
}

#[tokio::test]
async fn a_link_of_another_team_is_not_there() {
    let Some(service) = server() else { return };
    let (ours, theirs) = (team(&service, "Acme"), team(&service, "Other"));
    let other = member(&service, &theirs, "owner").await;
    let id = link(&service, &theirs, &other, "a.pdf");
    let mut browser = signed_in(&service, &ours, "admin").await;
    for team in [&ours, &theirs] {
        let revoke = format!("/teams/{team}/links/revoke");
        let answer = browser.post(&revoke, &[("id", &id)]).await;
        answer.expect(404, "no such page");
    }
}
