//! Passkeys on the pages: the test sends what a script would send, using its own passkey.

use test_support::passkey::Passkey;
use test_support::service::Service;

use crate::browser::{Browser, ORIGIN, Shown, link_path, server, server_with};
use crate::devices::{app, is_alive};
use crate::team::{PASSWORD, age_sign_ins, person};

const ADA: &str = "ada@example.com";

/// The options of a page for a passkey, if it has any.
fn options(page: &Shown) -> Option<String> {
    let text = page.text();
    let begun = text.split("data-options=\"").nth(1)?;
    let escaped = begun.split('"').next()?;
    Some(escaped.replace("&#34;", "\"").replace("&#38;", "&"))
}

async fn signed_in(service: &Service) -> Browser<'_> {
    person(service, ADA).await;
    let mut browser = Browser::new(service);
    browser.sign_in(ADA, PASSWORD).await;
    browser
}

/// The form of a page for adding a passkey, filled in with a new one.
async fn made(browser: &mut Browser<'_>) -> (Passkey, [(&'static str, String); 3]) {
    let page = browser.get("/account/passkeys").await;
    let options = options(&page).expect("it asks for one");
    let (passkey, credential) = Passkey::make(&options, ORIGIN);
    let challenge = page.hidden("challenge").remove(0);
    let fields = [
        ("name", "My phone".to_owned()),
        ("challenge", challenge),
        ("passkey", credential),
    ];
    (passkey, fields)
}

async fn add(browser: &mut Browser<'_>) -> Passkey {
    let (passkey, fields) = made(browser).await;
    let page = browser
        .submit("/account/passkeys", &borrowed(&fields))
        .await;
    page.expect(200, "You can sign in by the new passkey");
    page.expect(200, "My phone").expect(200, "never used");
    passkey
}

fn borrowed<'a, const N: usize>(fields: &'a [(&'a str, String); N]) -> [(&'a str, &'a str); N] {
    fields
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()))
}

/// The fields that a browser sends after its passkey has signed the page's challenge.
fn signed(page: &Shown, passkey: &Passkey, prefix: &str) -> [(String, String); 2] {
    let options = options(page).expect("it asks for a passkey");
    let name = format!("{prefix}challenge");
    let challenge = page.hidden(&name).remove(0);
    let signed = passkey.sign(&options);
    [(name, challenge), (format!("{prefix}passkey"), signed)]
}

fn pairs(fields: &[(String, String)]) -> Vec<(&str, &str)> {
    let pairs = fields.iter().map(|(name, value)| (&name[..], &value[..]));
    pairs.collect()
}

#[tokio::test]
async fn a_passkey_is_added_signs_in_confirms_and_is_removed() {
    let Some(service) = server() else { return };
    let mut browser = signed_in(&service).await;
    let passkey = add(&mut browser).await;

    let mut other = Browser::new(&service);
    let page = other.get("/sign-in?next=/account/devices").await;
    page.expect(200, "Sign in with a passkey");
    let mut fields = signed(&page, &passkey, "").to_vec();
    fields.push(("next".into(), "/account/devices".into()));
    let answer = other.post("/sign-in/passkey", &pairs(&fields)).await;
    assert_eq!(
        (answer.status(), &answer.location()[..]),
        (303, "/account/devices")
    );
    other.get("/account").await.expect(200, "last used");
    // The same answer does not sign in a second time.
    let mut again = Browser::new(&service);
    again.cookies.insert(
        "invoicing-8080-passkey".into(),
        other.cookies["invoicing-8080-passkey"].clone(),
    );
    let refused = again.post("/sign-in/passkey", &pairs(&fields)).await;
    refused.expect(422, "This passkey is not accepted here");
    assert!(!again.cookies.contains_key("invoicing-8080"));

    age_sign_ins(&service);
    let id = other.get("/account").await.hidden("id").remove(0);
    let waiting = [("id", &id[..])];
    let asked = other.post("/account/remove-passkey", &waiting).await;
    asked.expect(403, "Confirm with a passkey");
    let signed = signed(&asked, &passkey, "confirm_");
    let mut fields = pairs(&signed);
    fields.extend(waiting);
    let page = other.submit("/account/remove-passkey", &fields).await;
    page.expect(200, "The passkey is removed")
        .expect(200, "You have none");
    let gone = browser.get("/account").await;
    assert_eq!(gone.status(), 303, "the other browser is signed out");
}

#[tokio::test]
async fn a_challenge_is_for_the_browser_that_has_the_page() {
    let Some(service) = server() else { return };
    let mut browser = signed_in(&service).await;
    let passkey = add(&mut browser).await;
    let page = browser.get("/sign-in?anew=1").await;
    let fields = signed(&page, &passkey, "");
    let elsewhere = Browser::new(&service)
        .post("/sign-in/passkey", &pairs(&fields))
        .await;
    elsewhere.expect(422, "This passkey is not accepted here");
    // It may be tried again at once, with a new challenge.
    assert!(options(&elsewhere).is_some());
    // Two pages of one browser are both valid.
    let mut other = Browser::new(&service);
    let one = other.get("/sign-in").await;
    other.get("/sign-in").await;
    let fields = signed(&one, &passkey, "");
    let answer = other.post("/sign-in/passkey", &pairs(&fields)).await;
    assert_eq!(answer.status(), 303, "{answer:?}");
}

#[tokio::test]
async fn a_passkey_is_added_after_a_fresh_sign_in_only() {
    let Some(service) = server() else { return };
    let mut browser = signed_in(&service).await;
    let (_, fields) = made(&mut browser).await;
    age_sign_ins(&service);
    // The page was open for too long: all of the form waits.
    let asked = browser.post("/account/passkeys", &borrowed(&fields)).await;
    asked.expect(403, "Confirm that it is you");
    assert!(
        !asked.text().contains("Confirm with a passkey"),
        "there is none"
    );
    browser.get("/account").await.expect(200, "You have none");
    let mut confirmed = borrowed(&fields).to_vec();
    confirmed.push(("confirm_password", PASSWORD));
    let page = browser.submit("/account/passkeys", &confirmed).await;
    page.expect(200, "My phone");
    // A page that is opened too late has no options for a device.
    age_sign_ins(&service);
    let page = browser.get("/account/passkeys").await;
    assert_eq!(options(&page), None);
    let asked = browser.post("/account/passkeys", &[]).await;
    asked.expect(403, "Confirm with a passkey");
    let fields = [("confirm_password", PASSWORD)];
    let page = browser.submit("/account/passkeys", &fields).await;
    assert!(options(&page).is_some(), "{page:?}");
}

#[tokio::test]
async fn a_refused_name_or_passkey_comes_back_with_the_complaint() {
    let Some(service) = server() else { return };
    let mut browser = signed_in(&service).await;
    let (_, mut fields) = made(&mut browser).await;
    fields[0].1 = "x".repeat(101);
    let refused = browser.post("/account/passkeys", &borrowed(&fields)).await;
    refused.expect(422, "is longer than 100 characters");
    fields[0].1 = "Kept <b>".into();
    fields[2].1 = "{}".into();
    let refused = browser.post("/account/passkeys", &borrowed(&fields)).await;
    refused.expect(422, "This passkey is not accepted here");
    refused.expect(422, "value=\"Kept &#60;b&#62;\"");
}

/// In this case, its script sends the form without an answer.
#[tokio::test]
async fn a_page_that_was_open_for_too_long_keeps_the_name() {
    let Some(service) = server() else { return };
    let mut browser = signed_in(&service).await;
    let page = browser.post("/account/passkeys", &[("name", "Kept")]).await;
    page.expect(422, "open for too long")
        .expect(422, "value=\"Kept\"");
    assert!(options(&page).is_some());
}

#[tokio::test]
async fn whoever_has_twenty_passkeys_is_asked_for_no_more() {
    let Some(service) = server() else { return };
    let mut browser = signed_in(&service).await;
    for _ in 0..20 {
        add(&mut browser).await;
    }
    let page = browser.get("/account/passkeys").await;
    page.expect(200, "you have 20 passkeys; remove one first");
    assert_eq!(options(&page), None);
    assert!(!page.text().contains("Go on"), "{page:?}");
}

#[tokio::test]
async fn a_copied_passkey_is_told_of_on_the_account() {
    let Some(service) = server() else { return };
    let mut browser = signed_in(&service).await;
    let mut passkey = add(&mut browser).await;
    for (count, status) in [(5, 303), (3, 422)] {
        passkey.count = count;
        let mut other = Browser::new(&service);
        let page = other.get("/sign-in").await;
        let fields = signed(&page, &passkey, "");
        let answer = other.post("/sign-in/passkey", &pairs(&fields)).await;
        assert_eq!(answer.status(), status, "{answer:?}");
    }
    let page = browser.get("/account").await;
    page.expect(200, "there seems to be a copy of it");
}

/// P33.
#[tokio::test]
async fn whoever_uses_a_passkey_very_often_is_told_to_wait() {
    let Some(service) = server() else { return };
    let mut browser = signed_in(&service).await;
    let passkey = add(&mut browser).await;
    let mut uses = 0;
    let refused = loop {
        let mut other = Browser::new(&service);
        let page = other.get("/sign-in").await;
        let fields = signed(&page, &passkey, "");
        let answer = other.post("/sign-in/passkey", &pairs(&fields)).await;
        if answer.status() != 303 {
            break answer;
        }
        uses += 1;
        assert!(uses < 200, "it is never refused");
    };
    refused.expect(422, "very often; try again in a minute");
    assert!(uses >= 100, "{uses}");
    // Other ways are as good as before.
    Browser::new(&service).sign_in(ADA, PASSWORD).await;
}

#[tokio::test]
async fn at_an_ip_address_no_passkey_is_offered() {
    let Some(service) = server_with(&[("INVOICING_ORIGIN", "http://127.0.0.1:8080")]) else {
        return;
    };
    let mut browser = Browser::new(&service);
    let page = browser.get("/sign-in").await;
    assert_eq!(options(&page), None);
    assert!(browser.cookies.is_empty(), "{:?}", browser.cookies);
    let fields = [("passkey", "{}"), ("challenge", "x")];
    let refused = browser.post("/sign-in/passkey", &fields).await;
    refused.expect(422, "This passkey is not accepted here");
}

#[tokio::test]
async fn a_changed_password_or_removed_passkey_offers_to_sign_out_the_apps() {
    let Some(service) = server() else { return };
    let user = person(&service, ADA).await;
    let token = app(&service, &user, "one").await;
    let mut browser = Browser::new(&service);
    browser.sign_in(ADA, PASSWORD).await;
    add(&mut browser).await;
    let id = browser.get("/account").await.hidden("id").remove(0);
    let page = browser
        .submit("/account/remove-passkey", &[("id", &id)])
        .await;
    page.expect(200, "Sign out the apps, too");
    let fields = [
        ("current_password", PASSWORD),
        ("password", "another harbour tulip nine"),
    ];
    let page = browser.submit("/account/password", &fields).await;
    page.expect(200, "Sign out the apps, too");
    assert!(is_alive(&service, &token).await);
    let page = browser
        .submit("/account/devices/end-app-sessions", &[])
        .await;
    page.expect(200, "No app is signed in");
    assert!(!is_alive(&service, &token).await);
    let page = browser.get("/account?done=password").await;
    assert!(!page.text().contains("Sign out the apps"), "{page:?}");
}

#[tokio::test]
async fn a_reset_shows_which_passkeys_remain() {
    let Some(service) = server() else { return };
    let mut browser = signed_in(&service).await;
    add(&mut browser).await;
    let link = link_path(&service, &["user", "reset-link", ADA]);
    let mut other = Browser::new(&service);
    let page = other.submit(&link, &[("password", PASSWORD)]).await;
    page.expect(200, "remove what you do not know")
        .expect(200, "My phone");
    assert_eq!(browser.get("/account").await.status(), 303);
}

#[tokio::test]
async fn an_export_tells_of_passkeys_and_of_no_key() {
    let Some(service) = server() else { return };
    let mut browser = signed_in(&service).await;
    add(&mut browser).await;
    let export = browser.get("/account/export").await;
    let export: serde_json::Value = serde_json::from_str(&export.text()).expect("JSON");
    let passkey = export["passkeys"][0].as_object().expect("one");
    let names: Vec<_> = passkey.keys().map(String::as_str).collect();
    assert_eq!(names, ["id", "name", "host", "createdAt", "lastUsedAt"]);
    assert_eq!(passkey["host"], "localhost");
}
