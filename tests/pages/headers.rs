//! The headers of every page (docs/decisions.md, W28, V1, V2).

use crate::browser::{Browser, server, server_with};
use crate::team::{PASSWORD, person};

const PAGES: [&str; 4] = ["/", "/sign-in", "/account/devices", "/setup/x"];

#[tokio::test]
async fn nothing_runs_that_is_not_ours_and_nobody_keeps_a_page() {
    let Some(service) = server() else { return };
    for path in PAGES {
        let page = Browser::new(&service).get(path).await.0;
        let policy = page.header("content-security-policy").unwrap_or_default();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(page.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(page.header("referrer-policy"), Some("same-origin"));
        assert_eq!(page.header("strict-transport-security"), None);
        let text = String::from_utf8(page.body).expect("pages are UTF-8");
        assert!(
            !text.contains("style=\"") && !text.contains("onclick"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn behind_tls_the_cookie_is_bound_to_the_host() {
    let Some(service) = server_with(&[("INVOICING_ORIGIN", "https://invoices.example")]) else {
        return;
    };
    person(&service, "ada@example.com").await;
    let mut browser = Browser::new(&service);
    let fields = [("email", "ada@example.com"), ("password", PASSWORD)];
    let answer = browser.post("/sign-in", &fields).await.0;
    let cookies: Vec<_> = answer
        .headers
        .iter()
        .filter(|(name, _)| name == "set-cookie")
        .collect();
    assert_eq!(cookies.len(), 2, "{cookies:?}");
    for (_, cookie) in cookies {
        assert!(cookie.starts_with("__Host-invoicing"), "{cookie}");
        for attribute in ["; Secure", "; HttpOnly", "; SameSite=Lax", "; Path=/"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
    }
    let hsts = answer.header("strict-transport-security");
    assert_eq!(hsts, Some("max-age=31536000"));
    // A cookie under the name of the other kind is ignored.
    let session = browser
        .cookies
        .remove("__Host-invoicing")
        .expect("it is set");
    browser.cookies.insert("invoicing-443".into(), session);
    assert_eq!(browser.get("/account/devices").await.status(), 303);
}

#[tokio::test]
async fn what_pages_load_is_kept_by_its_tag_and_small() {
    let Some(service) = server() else { return };
    let mut all = Browser::new(&service).get("/sign-in").await.0.body.len();
    for path in [
        "/assets/style.css",
        "/assets/page.js",
        "/assets/passkey.js",
        "/assets/icon.svg",
    ] {
        let file = Browser::new(&service).get(path).await.0;
        assert_eq!(file.status, 200, "{path}");
        assert_eq!(file.header("cache-control"), Some("no-cache"), "{path}");
        assert!(file.header("etag").is_some(), "{path}");
        all += file.body.len();
    }
    assert!(all < 60_000, "{all}");
}

#[tokio::test]
async fn a_page_that_is_refused_says_when_to_come_back() {
    let settings = [
        ("INVOICING_TOKEN_RATE_LIMIT_PER_SECOND", "1"),
        ("INVOICING_TOKEN_RATE_LIMIT_BURST", "1"),
    ];
    let Some(service) = server_with(&settings) else {
        return;
    };
    let mut browser = Browser::new(&service);
    let mut refused = browser.get("/sign-in").await;
    while refused.status() == 200 {
        refused = browser.get("/sign-in").await;
    }
    refused.expect(429, "Too many requests");
    assert!(refused.0.header("retry-after").is_some(), "{refused:?}");
    assert!(refused.0.header("ratelimit").is_some(), "{refused:?}");
}

#[tokio::test]
async fn all_browsers_of_a_user_have_one_limit_and_each_a_little_of_its_own() {
    let settings = [
        ("INVOICING_RATE_LIMIT_PER_SECOND", "1"),
        ("INVOICING_RATE_LIMIT_BURST", "60"),
    ];
    let Some(service) = server_with(&settings) else {
        return;
    };
    person(&service, "ada@example.com").await;
    let (mut first, mut second) = (Browser::new(&service), Browser::new(&service));
    for browser in [&mut first, &mut second] {
        browser.sign_in("ada@example.com", PASSWORD).await;
    }
    while first.get("/account").await.status() != 429 {}
    let devices = second.get("/account/devices").await;
    devices.expect(200, "/account/devices/end-other-sessions");
    let refused = |status| status == 429;
    let mut later = Vec::new();
    while !later.last().copied().is_some_and(refused) && later.len() < 60 {
        later.push(second.get("/account").await.status());
    }
    assert!((10..60).contains(&later.len()), "{later:?}");
    // Another user has a separate limit.
    person(&service, "ben@example.com").await;
    second.cookies.clear();
    second.sign_in("ben@example.com", PASSWORD).await;
    second.get("/account").await.expect(200, "ben@example.com");
}
