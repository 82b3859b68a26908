//! `/teams/{team}/settings/audit`, also as CSV.

use crate::browser::{Browser, server};
use crate::team::{PASSWORD, signed_in, team};

/// Creates a key with this name.
async fn make_key(browser: &mut Browser<'_>, team: &str, name: &str) {
    let keys = format!("/teams/{team}/settings/integrations/api-keys");
    let fields = [
        ("name", name),
        ("mode", "test"),
        ("scope", "read-only"),
        ("expires_in", ""),
    ];
    assert_eq!(browser.post(&keys, &fields).await.status(), 303);
}

#[tokio::test]
async fn what_was_done_is_shown_with_who_and_from_where_and_no_sign_in() {
    let Some(service) = server() else { return };
    let ours = team(&service, "Acme");
    let path = format!("/teams/{ours}/settings/audit");
    let mut browser = signed_in(&service, &ours, "owner").await;
    make_key(&mut browser, &ours, "Web <b>shop").await;
    let page = browser.get(&path).await;
    page.expect(200, "Create API key")
        .expect(200, "Web &#60;b&#62;shop")
        .expect(200, "127.0.0.1")
        .expect(200, "The operator")
        .expect(200, "Add member");
    let text = page.text();
    assert!(
        text.find("Create API key") < text.find("Add member"),
        "{text}"
    );
    assert!(!text.contains("Sign in"), "{text}");
    let newest = browser.get(&format!("{path}.csv")).await.text();
    let newest = newest.lines().nth(1).expect("an event");
    let id = newest.split(',').next().expect("an id");
    let rest = browser.get(&format!("{path}?after={id}")).await;
    rest.expect(200, "Add member").expect(200, "Newest");
    assert!(!rest.text().contains("Create API key"));
    let odd = browser.get(&format!("{path}?after=x")).await;
    assert_eq!(odd.status(), 404);
}

#[tokio::test]
async fn who_is_called_like_the_operator_looks_different() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "owner").await;
    let name = [("name", "The operator")];
    assert_eq!(browser.post("/account/name", &name).await.status(), 303);
    make_key(&mut browser, &team, "Shop").await;
    let page = browser.get(&format!("/teams/{team}/settings/audit")).await;
    page.expect(200, "<td>The operator</td>")
        .expect(200, "<td><span class=\"tag\">The operator</span></td>");
}

#[tokio::test]
async fn the_csv_has_every_event_and_no_formula() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "owner").await;
    make_key(
        &mut browser,
        &team,
        "=HYPERLINK(\"https://b.example\",\"a\")",
    )
    .await;
    let path = format!("/teams/{team}/settings/audit.csv");
    let file = browser.get(&path).await;
    assert_eq!(file.status(), 200);
    let header = |name| file.0.header(name);
    assert_eq!(header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(header("cache-control"), Some("no-store"));
    let text = file.text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[0],
        "id,at,action,byId,by,onId,on,detail,clientAddress,userAgent"
    );
    assert!(lines[1].contains(",create-api-key,"), "{text}");
    assert!(lines[1].contains(",\"'=HYPERLINK("), "{text}");
    assert!(lines[3].contains(",create-team,,The operator,"), "{text}");
    assert_eq!(lines.len(), 4, "{text}");
}

#[tokio::test]
async fn a_user_who_is_deleted_is_a_former_user_and_nothing_else() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut gone = signed_in(&service, &team, "admin").await;
    make_key(&mut gone, &team, "Shop").await;
    let owner = crate::team::member(&service, &team, "owner").await;
    assert_eq!(gone.post("/account/delete", &[]).await.status(), 303);
    let mut browser = Browser::new(&service);
    browser.sign_in(&owner, PASSWORD).await;
    let page = browser.get(&format!("/teams/{team}/settings/audit")).await;
    page.expect(200, "A former user");
    for kept in ["admin@example.com", "127.0.0.1"] {
        assert!(!page.text().contains(kept), "{kept}: {}", page.text());
    }
}
