//! What the browser of a deactivated user shows, and does not show to others (docs/decisions.md,
//! X62).

use crate::browser::{Browser, server};
use crate::team::{PASSWORD, person, signed_in, team};

const ADA: &str = "ada@example.com";
const TOLD: &str = "This account is deactivated. Ask an administrator.";

#[tokio::test]
async fn only_who_knows_the_password_is_told_and_everybody_else_reads_what_they_always_did() {
    let Some(service) = server() else { return };
    person(&service, ADA).await;
    service
        .command(&["user", "deactivate", ADA])
        .expect("a user");
    let mut browser = Browser::new(&service);
    let mut said = Vec::new();
    for (email, password) in [(ADA, "wrong"), ("nobody@example.com", PASSWORD)] {
        let refused = browser
            .post("/sign-in", &[("email", email), ("password", password)])
            .await;
        refused.expect(422, "The email or the password is wrong.");
        assert!(
            !refused.text().contains("deactivated"),
            "{}",
            refused.text()
        );
        said.push(refused.status());
    }
    let told = browser
        .post("/sign-in", &[("email", ADA), ("password", PASSWORD)])
        .await;
    told.expect(422, TOLD);
    service.command(&["user", "activate", ADA]).expect("a user");
    browser.sign_in(ADA, PASSWORD).await;
    browser.get("/account").await.expect(200, ADA);
}

#[tokio::test]
async fn a_browser_is_signed_out_with_the_next_request() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "owner").await;
    browser
        .get("/account")
        .await
        .expect(200, "owner@example.com");
    service
        .command(&["user", "deactivate", "owner@example.com"])
        .expect("a user");
    for path in ["/account", &format!("/teams/{team}/products")] {
        let sent = browser.get(path).await;
        assert_eq!(sent.status(), 303, "{path}");
        assert!(sent.location().starts_with("/sign-in"), "{path}");
    }
    service
        .command(&["user", "activate", "owner@example.com"])
        .expect("a user");
    assert_eq!(browser.get("/account").await.status(), 303);
}

#[tokio::test]
async fn the_pages_of_a_deleted_team_are_not_there() {
    let Some(service) = server() else { return };
    let (acme, _) = (team(&service, "Acme"), team(&service, "Globex"));
    let mut browser = signed_in(&service, &acme, "owner").await;
    service
        .command(&["team", "delete", &acme, "--confirm", "Acme"])
        .expect("a team");
    for page in [
        "products",
        "links",
        "settings/members",
        "settings/audit",
        "settings/integrations/api-keys",
    ] {
        let gone = browser.get(&format!("/teams/{acme}/{page}")).await;
        gone.expect(404, "There is no such page");
    }
}
