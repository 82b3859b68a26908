//! Requests that are not what they seem: pages in frames, forms from elsewhere, planted cookies, false hosts. Also a
//! search for secrets where they must not be.

use test_support::caller::Request;
use test_support::service::Service;

use crate::attacks::{ADA, ada, is_harmless, mailing, team_of_ada};
use crate::browser::{Browser, COOKIE, ORIGIN, form, link_path, server, upload};
use crate::matrix::{self, ROWS};
use crate::team::{PASSWORD, person, signed_in, team};

#[tokio::test]
async fn no_page_is_shown_in_a_frame_or_with_scripts_of_others() {
    let Some(service) = mailing() else { return };
    person(&service, ADA).await;
    let team = team_of_ada(&service, "Acme");
    let mut signed_in = ada(&service).await;
    for row in ROWS.iter().filter(|it| it.method == "GET") {
        let path = row.path.replace("{team}", &team).replace("{token}", "x");
        for shown in [
            signed_in.get(&path).await,
            Browser::new(&service).get(&path).await,
        ] {
            let policy = shown
                .0
                .header("content-security-policy")
                .unwrap_or_default();
            for rule in [
                "default-src 'none'",
                "script-src 'self'",
                "frame-ancestors 'none'",
            ] {
                assert!(policy.contains(rule), "{path}: {shown:?}");
            }
        }
    }
}

/// The other forms are in `matrix.rs`.
#[tokio::test]
async fn no_form_that_needs_no_role_is_taken_from_elsewhere() {
    let Some(service) = mailing() else { return };
    person(&service, ADA).await;
    let team = team_of_ada(&service, "Acme");
    let mut signed_in = ada(&service).await;
    let pages = |path: &&str| !path.starts_with("/api/");
    let forms = matrix::ELSEWHERE
        .iter()
        .filter(|(method, _)| *method == "POST");
    let forms: Vec<_> = forms.map(|(_, path)| *path).filter(pages).collect();
    assert!(forms.len() > 6, "{forms:?}");
    for path in forms {
        let path = path.replace("{team}", &team).replace("{token}", "x");
        for (name, value) in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "none"),
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("accept", "text/html"),
        ] {
            for request in [
                form(&path, &[("password", PASSWORD)]),
                upload(&path, &[], b"sku,name\n"),
            ] {
                let refused = signed_in.send(request.header(name, value)).await;
                refused.expect(403, "did not come from our page");
            }
        }
    }
    signed_in.get("/account").await.expect(200, ADA);
}

/// An attacker who can plant a cookie in a browser does not know the session that starts there.
#[tokio::test]
async fn a_session_that_begins_by_a_link_has_a_cookie_that_nobody_knew() {
    let Some(service) = server() else { return };
    let set_up = link_path(&service, &["setup-link"]);
    let fields = [
        ("team", "Acme"),
        ("name", "Ada"),
        ("email", ADA),
        ("password", PASSWORD),
    ];
    let planted = "A".repeat(43);
    let begins = async |path: &str, fields: &[(&str, &str)]| {
        let mut browser = Browser::new(&service);
        browser.cookies.insert(COOKIE.to_owned(), planted.clone());
        let answer = browser.post(path, fields).await;
        assert_eq!(answer.status(), 303, "{path}: {answer:?}");
        assert_ne!(browser.cookies[COOKIE], planted, "{path}");
        browser.get("/account").await.expect(200, "You sign in as");
    };
    begins(&set_up, &fields).await;
    let invite = [
        "user",
        "invite",
        "--team",
        "Acme",
        "--email",
        "bo@example.com",
        "--role",
        "member",
    ];
    let invitation = link_path(&service, &invite);
    begins(&invitation, &[("name", "Bo"), ("password", PASSWORD)]).await;
    let reset = link_path(&service, &["user", "reset-link", ADA]);
    begins(&reset, &[("password", PASSWORD)]).await;
}

/// The address of a link comes from the setting, whatever a request claims about its origin.
#[tokio::test]
async fn no_link_leads_where_a_request_says_that_it_was_sent() {
    let Some(service) = server() else { return };
    person(&service, ADA).await;
    let team = team_of_ada(&service, "Acme");
    let mut signed_in = ada(&service).await;
    let members = format!("/teams/{team}/settings/members");
    for (number, (name, value)) in [
        ("host", "evil.example"),
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-proto", "https"),
        ("forwarded", "host=evil.example;proto=https"),
        ("x-original-host", "evil.example"),
    ]
    .into_iter()
    .enumerate()
    {
        let email = format!("somebody-{number}@example.com");
        let fields = [("email", email.as_str()), ("role", "viewer")];
        let request = form(&members, &fields).header("sec-fetch-site", "same-origin");
        let answer = signed_in.send(request.header(name, value)).await;
        is_harmless(name, &answer);
        let page = signed_in.follow(&answer).await;
        assert!(shown(&page.text()).starts_with(ORIGIN), "{name}: {page:?}");
        let request = Request::new("GET", "/account").header(name, value);
        let led = Browser::new(&service).send(request).await;
        assert!(led.location().starts_with("/sign-in?"), "{name}: {led:?}");
    }
}

/// Secrets of one user: they are in no line of the log, and nowhere in the database in the clear.
#[tokio::test]
async fn no_secret_is_in_the_log_or_in_the_database() {
    let Some(service) = server() else { return };
    let token = |path: &str| path.rsplit('/').next().expect("a token").to_owned();
    let set_up = link_path(&service, &["setup-link"]);
    let mut secrets = vec![
        ("set-up link", token(&set_up)),
        ("password", PASSWORD.into()),
    ];
    let mut browser = Browser::new(&service);
    let fields = [
        ("team", "Acme"),
        ("name", "Ada"),
        ("email", ADA),
        ("password", PASSWORD),
    ];
    let page = browser.submit(&set_up, &fields).await;
    let text = page.text();
    let (_, team) = text.split_once("/teams/").expect("a team");
    let team = team.split('/').next().unwrap_or_default().to_owned();
    let keys = format!("/teams/{team}/settings/integrations/api-keys");
    let key = [
        ("name", "Shop"),
        ("mode", "live"),
        ("scope", "read-only"),
        ("expires_in", ""),
    ];
    let page = browser.submit(&keys, &key).await.text();
    secrets.push(("key", shown(&page).to_owned()));
    let invite = [("email", "bo@example.com"), ("role", "member")];
    let members = format!("/teams/{team}/settings/members");
    let page = browser.submit(&members, &invite).await.text();
    let invitation = shown(&page)
        .strip_prefix(ORIGIN)
        .expect("a page")
        .to_owned();
    secrets.push(("invitation", token(&invitation)));
    let mut bo = Browser::new(&service);
    bo.submit(
        &invitation,
        &[("name", "Bo"), ("password", "another harbour tulip nine")],
    )
    .await;
    secrets.push(("password of Bo", "another harbour tulip nine".into()));
    let reset = link_path(&service, &["user", "reset-link", ADA]);
    secrets.push(("link of a reset", token(&reset)));
    browser.get(&reset).await;
    for cookie in browser.cookies.values().chain(bo.cookies.values()) {
        secrets.push(("cookie", cookie.clone()));
    }
    let wrong = [
        ("email", ADA),
        ("password", "a wrong one, typed by mistake"),
    ];
    browser.post("/sign-in", &wrong).await;
    secrets.push(("wrong password", wrong[1].1.into()));
    assert!(secrets.len() >= 9, "{secrets:?}");
    browser
        .get(&format!("/teams/{team}/settings/audit.csv"))
        .await;

    let log = service.log();
    assert!(
        log.contains("/setup/{token}"),
        "the requests are logged: {log}"
    );
    let database = everything_in(&service);
    let audited = String::from_utf8_lossy(&database).contains("create-api-key");
    assert!(audited, "what is stored is read");
    for (name, secret) in &secrets {
        assert!(secret.len() > 15, "{name}: {secret}");
        assert!(!log.contains(secret), "{name} is in the log: {log}");
        let found = database
            .windows(secret.len())
            .any(|it| it == secret.as_bytes());
        assert!(!found, "{name} is in the database: {secret}");
    }
}

/// The secret that a page shows once.
fn shown(page: &str) -> &str {
    let made = page.split("id=\"made\">").nth(1).expect("it is shown");
    made.split('<').next().unwrap_or_default()
}

/// All bytes of the database.
fn everything_in(service: &Service) -> Vec<u8> {
    let database = service.own_database().expect("an own server");
    let Some(path) = database.strip_prefix("sqlite:") else {
        let file = tempfile::NamedTempFile::new().expect("a file");
        test_support::postgres::dump(database, file.path());
        return std::fs::read(file.path()).expect("a dump");
    };
    let files = [path.to_owned(), format!("{path}-wal")];
    let all = files.map(|file| std::fs::read(file).unwrap_or_default());
    all.concat()
}

/// Otherwise that site learns whether its visitor may have the file: its window shows no page of ours then.
#[tokio::test]
async fn a_download_for_which_another_site_has_sent_the_user_is_refused() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    for (role, path) in [
        ("member", "/account/export".to_owned()),
        ("admin", format!("/teams/{team}/settings/audit.csv")),
        ("owner", format!("/teams/{team}/products/export.csv")),
    ] {
        let mut browser = signed_in(&service, &team, role).await;
        let mut ask = async |site: &str| {
            let request = Request::new("GET", &path).header("sec-fetch-site", site);
            browser.send(request).await.status()
        };
        assert_eq!(ask("cross-site").await, 403, "{path}");
        assert_eq!(ask("same-site").await, 403, "{path}");
        // None of them has taken the user's turn.
        assert_eq!(ask("same-origin").await, 200, "{path}");
        let mut typed = ask("none").await;
        for _ in 0..100 {
            // The download before may not have ended for the server.
            if typed == 503 {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                typed = ask("none").await;
            }
        }
        assert_eq!(typed, 200, "{path}");
    }
}
