//! Which requests are answered, to whom, and how apps discover the endpoints.

use super::*;

/// Asserts that a page explains the problem, and does not redirect.
fn assert_stopped(answer: &Shown, what: &str) {
    assert_eq!(
        (answer.status(), answer.0.header("location")),
        (400, None),
        "{what}"
    );
    let policy = answer.0.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action 'self'"), "{policy}");
}

#[tokio::test]
async fn nothing_is_sent_anywhere_if_it_is_not_certain_where_to() {
    let Some(service) = with_an_app() else { return };
    let (mut nobody, mut ada) = (Browser::new(&service), browser_of(&service, ADA).await);
    let user = field(&ada.get(&target(&[])).await, "user");
    let uris = [
        "",
        "https://evil.example/",
        "//evil.example/",
        "javascript:alert(1)",
        "com.example.app:/signed-in/../x",
        "com.example.app:/signed-in#",
        "COM.example.app:/signed-in",
        "http://127.0.0.1:80@evil.example/signed-in",
        "http://127.0.0.1.evil.example/signed-in",
        "http://localhost/signed-in",
        "https://app.example.com/cb",
        "https://app.example.com/cb?tenant=1&x",
        "com.example.app:/signed-in\r\nset-cookie: a=b",
    ];
    let uris = uris.map(|uri| target(&[("redirect_uri", uri)]));
    let clients = ["", "other", "APP", "app\0", "ä"].map(|id| target(&[("client_id", id)]));
    let twice = [
        "redirect_uri=com.example.app%3A%2Fsigned-in",
        "client_id=app",
    ]
    .map(|again| format!("{}&{again}", target(&[])));
    for target in uris.iter().chain(&clients).chain(&twice) {
        for browser in [&mut nobody, &mut ada] {
            assert_stopped(&browser.get(target).await, target);
            let request = target.split_once('?').unwrap().1;
            for answer in ["approve", "cancel", "x"] {
                let answer = browser.post(PATH, &answered(request, &user, answer)).await;
                assert_stopped(&answer, target);
            }
        }
    }
    assert_stopped(&nobody.get(PATH).await, "nothing");
}

#[tokio::test]
async fn every_other_mistake_is_told_to_the_app_before_anybody_signs_in() {
    let Some(service) = with_an_app() else { return };
    let (mut nobody, mut ada) = (Browser::new(&service), browser_of(&service, ADA).await);
    let long = "x".repeat(2_049);
    for (name, value, error) in [
        ("response_type", "", "invalid_request"),
        ("response_type", "token", "unsupported_response_type"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", "short", "invalid_request"),
        ("code_challenge_method", "", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("state", &long, "invalid_request"),
    ] {
        let asked = target(&[(name, value)]);
        let request = asked.split_once('?').unwrap().1;
        let form = answered(request, "x", "approve");
        for answer in [
            nobody.get(&asked).await,
            ada.get(&asked).await,
            nobody.post(PATH, &form).await,
            ada.post(PATH, &form).await,
        ] {
            let location = location(&answer);
            assert!(
                location.starts_with(&format!("{URI}?error={error}&")),
                "{location}"
            );
            let mut told = told(&location);
            assert!(told.remove("error_description").is_some());
            assert_eq!(told["iss"], ORIGIN);
            assert_eq!(
                told.get("state").map_or("", |it| it),
                if name == "state" { "" } else { "s" }
            );
        }
    }
    for (name, _) in &GOOD[3..] {
        let twice = format!("{}&{name}=x", target(&[]));
        let told = told(&location(&nobody.get(&twice).await));
        assert_eq!(told["error"], "invalid_request", "{name}");
    }
    // If everything is right, the sign-in page comes first.
    let location = location(&nobody.get(&target(&[])).await);
    assert!(location.starts_with("/sign-in?next="), "{location}");
}

#[tokio::test]
async fn what_a_state_says_goes_nowhere_but_to_the_app() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    for state in [
        "\r\nset-cookie: a=b\r\n\r\n<script>",
        "\"><script>alert(1)</script>",
        "a b+c&iss=https://evil.example&code=x#y%0d",
        "\0ä\u{202e}",
    ] {
        let asked = target(&[("state", state), ("login_hint", state)]);
        let page = browser.get(&asked).await;
        assert!(!page.text().contains("<script>"));
        let sent_to = approve(&mut browser, &asked).await;
        let told = told(&sent_to);
        assert_eq!((&told["state"][..], &told["iss"][..]), (state, ORIGIN));
        let anew = format!("/sign-in?anew=1&{}", query(&[("email", state)]));
        assert!(!(browser.get(&anew).await).text().contains("<script>"));
    }
}

#[tokio::test]
async fn the_endpoints_are_described_where_there_are_pages() {
    let Some(service) = server() else { return };
    let mut browser = Browser::new(&service);
    let answer = browser.get(METADATA).await;
    assert_eq!(answer.0.header("content-type"), Some("application/json"));
    let expected = json!({
        "issuer": ORIGIN,
        "authorization_endpoint": format!("{ORIGIN}{PATH}"),
        "token_endpoint": format!("{ORIGIN}/api/auth/mobile/token"),
        "revocation_endpoint": format!("{ORIGIN}/api/auth/mobile/revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    });
    assert_eq!(answer.0.json(), expected);
    let has_it =
        Request::new("GET", METADATA).header("if-none-match", answer.0.header("etag").unwrap());
    assert_eq!(browser.send(has_it).await.status(), 304);
    let elsewhere = [("INVOICING_PUBLIC_URL", "http://a.example/x")];
    let without = Service::own(BINARY, &elsewhere).expect("as the other");
    for path in [METADATA.to_owned(), target(&[])] {
        assert_eq!(
            Browser::new(&without).get(&path).await.status(),
            404,
            "{path}"
        );
    }
}
