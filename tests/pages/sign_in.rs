//! `/sign-in` and `/sign-out`.

use test_support::caller::Request;

use crate::browser::{Browser, COOKIE, form, link_path, server};
use crate::team::{PASSWORD, person};

const ADA: &str = "ada@example.com";

#[tokio::test]
async fn who_signs_in_comes_to_the_page_that_was_asked_for() {
    let Some(service) = server() else { return };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    let sent = browser.get("/account/devices?x=1").await;
    assert_eq!(sent.status(), 303);
    assert_eq!(
        sent.location(),
        "/sign-in?next=%2Faccount%2Fdevices%3Fx%3D1"
    );
    let page = browser.get(&sent.location()).await;
    // With a password, and with a passkey.
    assert_eq!(page.hidden("next"), ["/account/devices?x=1"; 2]);
    let fields = [
        ("email", ADA),
        ("password", PASSWORD),
        ("next", "/account/devices?x=1"),
    ];
    let devices = browser.submit("/sign-in", &fields).await;
    devices.expect(200, "Where you are signed in");
    // A user who is signed in need not sign in again.
    let again = browser.get("/sign-in?next=/account/devices").await;
    assert_eq!(again.location(), "/account/devices");
}

#[tokio::test]
async fn nobody_is_led_to_another_server() {
    let Some(service) = server() else { return };
    person(&service, ADA).await;
    for next in [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "/x\r\nset-cookie: a=b",
    ] {
        let mut browser = Browser::new(&service);
        let fields = [("email", ADA), ("password", PASSWORD), ("next", next)];
        let answer = browser.post("/sign-in", &fields).await;
        assert_eq!(
            (answer.status(), answer.location()),
            (303, "/".to_owned()),
            "{next:?}"
        );
        assert!(!browser.cookies.contains_key("a"), "{next:?}");
    }
}

#[tokio::test]
async fn an_unknown_account_is_answered_like_a_wrong_password() {
    let Some(service) = server() else { return };
    person(&service, ADA).await;
    let mut answers = Vec::new();
    for email in [ADA, "bob@example.com"] {
        let mut browser = Browser::new(&service);
        let fields = [("email", email), ("password", "wrong wrong wrong")];
        let answer = browser.post("/sign-in", &fields).await;
        answer.expect(422, "The email or the password is wrong");
        let cookies: Vec<_> = browser.cookies.keys().collect();
        assert_eq!(cookies, ["invoicing-8080-passkey"]);
        // Each page has a different challenge.
        let text = answer.text().replace(email, "EMAIL");
        let lines = text.lines().filter(|it| !it.contains("challenge"));
        answers.push(lines.collect::<Vec<_>>().join("\n"));
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn ten_wrong_passwords_hold_an_address_but_not_a_browser_that_signed_in_before() {
    let Some(service) = server() else { return };
    person(&service, ADA).await;
    let mut known = Browser::new(&service);
    known.sign_in(ADA, PASSWORD).await;
    for email in [ADA, "bob@example.com"] {
        let mut browser = Browser::new(&service);
        let fields = [("email", email), ("password", "wrong wrong wrong")];
        for _ in 0..10 {
            let answer = browser.post("/sign-in", &fields).await;
            answer.expect(422, "is wrong");
        }
        let answer = browser.post("/sign-in", &fields).await;
        answer.expect(422, "too many wrong passwords");
        let right = [("email", email), ("password", PASSWORD)];
        let answer = browser.post("/sign-in", &right).await;
        answer.expect(422, "too many wrong passwords");
    }
    known.post("/sign-out", &[]).await;
    known.sign_in(ADA, PASSWORD).await;
}

#[tokio::test]
async fn a_right_password_starts_the_count_anew() {
    let Some(service) = server() else { return };
    person(&service, ADA).await;
    for _ in 0..2 {
        let mut browser = Browser::new(&service);
        let fields = [("email", ADA), ("password", "wrong wrong wrong")];
        for _ in 0..9 {
            browser
                .post("/sign-in", &fields)
                .await
                .expect(422, "is wrong");
        }
        browser.sign_in(ADA, PASSWORD).await;
    }
}

#[tokio::test]
async fn a_session_begins_with_a_cookie_of_its_own_and_ends_the_one_before() {
    let Some(service) = server() else { return };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    let planted = "x".repeat(43);
    browser.cookies.insert(COOKIE.into(), planted.clone());
    browser.sign_in(ADA, PASSWORD).await;
    let first = browser.cookies[COOKIE].clone();
    assert_ne!(first, planted);
    browser.sign_in(ADA, PASSWORD).await;
    assert_ne!(browser.cookies[COOKIE], first);
    let mut thief = Browser::new(&service);
    thief.cookies.insert(COOKIE.into(), first);
    assert_eq!(thief.get("/account/devices").await.status(), 303);
}

#[tokio::test]
async fn to_sign_out_ends_the_session_and_takes_the_cookie() {
    let Some(service) = server() else { return };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    browser.sign_in(ADA, PASSWORD).await;
    let cookie = browser.cookies[COOKIE].clone();
    let answer = browser.post("/sign-out", &[]).await;
    assert_eq!(answer.location(), "/sign-in");
    assert!(!browser.cookies.contains_key(COOKIE));
    browser.cookies.insert(COOKIE.into(), cookie);
    assert_eq!(browser.get("/account/devices").await.status(), 303);
}

#[tokio::test]
async fn a_form_from_elsewhere_changes_nothing() {
    let Some(service) = server() else { return };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    browser.sign_in(ADA, PASSWORD).await;
    let from = |lines: &[(&str, &str)]| {
        let request = form("/sign-out", &[]);
        lines.iter().fold(request, |request, (name, value)| {
            request.header(name, value)
        })
    };
    for lines in [
        &[][..],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "none")],
        &[("origin", "null")],
        &[("origin", "http://localhost:8081")],
        &[("origin", "http://evil.example")],
    ] {
        let answer = browser.send(from(lines)).await;
        answer.expect(403, "did not come from our page");
        browser.get("/account/devices").await.expect(200, "Devices");
    }
    let answer = browser
        .send(from(&[("origin", crate::browser::ORIGIN)]))
        .await;
    assert_eq!(answer.status(), 303);
}

#[tokio::test]
async fn a_password_is_compared_in_normal_form() {
    let Some(service) = server() else { return };
    let create = ["user", "create", "--email", ADA, "--name", "Ada"];
    service.command(&create).expect("an own server");
    let link = link_path(&service, &["user", "reset-link", ADA]);
    let composed = "lanterne d'été au château";
    let mut browser = Browser::new(&service);
    let answer = browser.post(&link, &[("password", composed)]).await;
    assert_eq!(answer.status(), 303, "{answer:?}");
    let decomposed = "lanterne d'e\u{301}te\u{301} au cha\u{302}teau";
    Browser::new(&service).sign_in(ADA, decomposed).await;
}

#[tokio::test]
async fn where_people_would_type_passwords_in_clear_there_are_no_pages() {
    let settings = [("INVOICING_ORIGIN", "http://invoices.example")];
    let Some(service) = crate::browser::server_with(&settings) else {
        return;
    };
    let mut browser = Browser::new(&service);
    assert_eq!(browser.get("/sign-in").await.status(), 404);
    let root = browser.send(Request::new("GET", "/")).await;
    assert_eq!(root.location(), "/docs/catalog");
}

#[tokio::test]
async fn who_was_signed_out_meanwhile_comes_back_to_the_page_of_the_form() {
    let Some(service) = server() else { return };
    let mut browser = Browser::new(&service);
    for (path, page) in [
        ("/account/devices/end-session", "%2Faccount%2Fdevices"),
        ("/account/name", "%2Faccount"),
        (
            "/teams/x/settings/integrations/api-keys",
            "%2Fteams%2Fx%2Fsettings%2Fintegrations%2Fapi-keys",
        ),
    ] {
        let answer = browser.post(path, &[]).await;
        assert_eq!(answer.location(), format!("/sign-in?next={page}"));
    }
}

#[tokio::test]
async fn what_is_no_email_is_answered_like_a_wrong_password() {
    let Some(service) = server() else { return };
    for email in ["", "ada", "a\u{0}b@example.com", &"x".repeat(10_000)] {
        let fields = [("email", email), ("password", PASSWORD)];
        let answer = Browser::new(&service).post("/sign-in", &fields).await;
        answer.expect(422, "The email or the password is wrong");
    }
}
