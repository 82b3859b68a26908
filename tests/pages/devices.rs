//! `/account/devices`.

use test_support::caller::Request;
use test_support::service::Service;

use crate::browser::{Browser, server};
use crate::team::{PASSWORD, person};

const ADA: &str = "ada@example.com";

/// Signs in a device of this user with the command line. Returns its access token.
pub async fn app(service: &Service, user: &str, client: &str) -> String {
    use test_support::service::{CODE_CHALLENGE, CODE_VERIFIER};
    let uri = "com.example.app:/signed-in";
    let create = [
        "oauth-client",
        "create",
        "--id",
        client,
        "--name",
        "App",
        "--redirect-uri",
        uri,
    ];
    service.command(&create).expect("an own server");
    let challenge = format!("--code-challenge={CODE_CHALLENGE}");
    let issue = [
        "auth-code",
        "issue",
        "--user",
        user,
        "--client",
        client,
        "--redirect-uri",
        uri,
        &challenge,
    ];
    let issued = service.command(&issue).expect("an own server");
    let grant = serde_json::json!({
        "grant_type": "authorization_code", "code": issued["code"], "code_verifier": CODE_VERIFIER,
        "redirect_uri": uri, "client_id": client, "user_agent": format!("{client}/1"),
    });
    let tokens = service.exchange(&grant).await.expect_status(200).json();
    tokens["access_token"].as_str().expect("a token").to_owned()
}

pub async fn is_alive(service: &Service, token: &str) -> bool {
    let path = format!("/api/mobile/items/file/{}/links", uuid::Uuid::nil());
    let request = Request::new("GET", path)
        .bearer(token)
        .header("x-team-id", uuid::Uuid::nil().to_string());
    service.caller.send(request).await.status() != 401
}

#[tokio::test]
async fn an_app_that_is_signed_out_here_is_out_at_once() {
    let Some(service) = server() else { return };
    let user = person(&service, ADA).await;
    let (one, other) = (
        app(&service, &user, "one").await,
        app(&service, &user, "two").await,
    );
    let mut browser = Browser::new(&service);
    browser.sign_in(ADA, PASSWORD).await;
    let page = browser.get("/account/devices").await;
    page.expect(200, "one/1").expect(200, "two/1");
    // The newest comes first.
    let ids = page.hidden("id");
    let page = browser
        .submit("/account/devices/end-session", &[("id", &ids[0])])
        .await;
    assert!(!page.text().contains("two/1"), "{}", page.text());
    assert!(!is_alive(&service, &other).await);
    assert!(is_alive(&service, &one).await);
}

#[tokio::test]
async fn all_others_are_signed_out_and_this_browser_is_not() {
    let Some(service) = server() else { return };
    let user = person(&service, ADA).await;
    let token = app(&service, &user, "one").await;
    let (mut this, mut other) = (Browser::new(&service), Browser::new(&service));
    this.sign_in(ADA, PASSWORD).await;
    other.sign_in(ADA, PASSWORD).await;
    let page = this
        .submit("/account/devices/end-other-sessions", &[])
        .await;
    page.expect(200, "No app is signed in");
    assert_eq!(other.get("/account/devices").await.status(), 303);
    assert!(!is_alive(&service, &token).await);
}

#[tokio::test]
async fn nobody_ends_what_is_somebody_elses() {
    let Some(service) = server() else { return };
    let user = person(&service, ADA).await;
    let token = app(&service, &user, "one").await;
    person(&service, "ben@example.com").await;
    let (mut ada, mut ben) = (Browser::new(&service), Browser::new(&service));
    ada.sign_in(ADA, PASSWORD).await;
    ben.sign_in("ben@example.com", PASSWORD).await;
    let mut second = Browser::new(&service);
    second.sign_in(ADA, PASSWORD).await;
    // Another browser, then the app.
    for id in ada.get("/account/devices").await.hidden("id") {
        for kind in ["end-session", "end-browser-session"] {
            let path = format!("/account/devices/{kind}");
            let answer = ben.post(&path, &[("id", &id)]).await;
            answer.expect(404, "no such page");
        }
    }
    assert!(is_alive(&service, &token).await);
    second.get("/account/devices").await.expect(200, "Devices");
}
