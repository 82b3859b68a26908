//! The consent page, and what its form authorizes.

use super::*;

#[tokio::test]
async fn a_page_always_says_for_which_app_to_where_and_as_whom() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    for (uri, shown) in [
        (URI, "the app on this device <code>com.example.app</code>"),
        (
            "http://127.0.0.1:53121/signed-in",
            "<code>127.0.0.1:53121</code>",
        ),
        (
            "https://app.example.com/cb?tenant=1",
            "<code>app.example.com</code>",
        ),
    ] {
        let asked = target(&[("redirect_uri", uri)]);
        for _ in 0..2 {
            // Once approved, it is shown as before.
            let page = (browser.get(&asked).await).text();
            for part in [
                shown,
                "&#60;App&#62;",
                "<code>app</code>",
                ADA,
                "&#60;App&#62;",
            ] {
                assert!(page.contains(part), "{part} in {page}");
            }
            approve(&mut browser, &asked).await;
        }
    }
    let page = browser.get(&target(&[])).await;
    let (request, user) = (field(&page, "request"), field(&page, "user"));
    let cancelled = browser
        .post(PATH, &answered(&request, &user, "cancel"))
        .await;
    let told = told(&location(&cancelled));
    assert_eq!(
        (&told["error"][..], &told["state"][..], &told["iss"][..]),
        ("access_denied", "s", ORIGIN)
    );
    assert!(!told.contains_key("code"));
}

#[tokio::test]
async fn a_form_counts_for_the_user_that_it_shows_and_from_a_page_of_ours() {
    let Some(service) = with_an_app() else { return };
    let mut ada = browser_of(&service, ADA).await;
    let mut eve = browser_of(&service, EVE).await;
    let page = ada.get(&target(&[])).await;
    let (request, user) = (field(&page, "request"), field(&page, "user"));
    let approval = answered(&request, &user, "approve");
    let anew = format!("{PATH}?{request}");
    assert_eq!(location(&eve.post(PATH, &approval).await), anew);
    assert_eq!(
        location(&Browser::new(&service).post(PATH, &approval).await),
        anew
    );
    for (user, answer) in [("", "approve"), (&user, ""), ("x", "approve")] {
        let answer = ada.post(PATH, &answered(&request, user, answer)).await;
        assert_eq!(location(&answer), anew);
    }
    for site in ["cross-site", "same-site", "none"] {
        let form = form(PATH, &approval).header("sec-fetch-site", site);
        assert_eq!(ada.send(form).await.status(), 403, "{site}");
    }
    assert_eq!(ada.send(form(PATH, &approval)).await.status(), 403);
    let other = form(PATH, &approval).header("origin", "https://evil.example");
    assert_eq!(ada.send(other).await.status(), 403);
    assert!(location(&ada.post(PATH, &approval).await).starts_with(URI));

    // After a switch to another account, the page is shown for that one.
    let another = attribute(&page, "<p><a href=\"");
    let page = ada.get(&another).await;
    let back = sign_in(&mut ada, EVE, &page).await;
    assert!((ada.get(&back).await).text().contains(EVE));
    assert_eq!(location(&ada.post(PATH, &approval).await), anew);
    ada.post("/sign-out", &[]).await;
    assert_eq!(location(&ada.post(PATH, &approval).await), anew);
}

#[tokio::test]
async fn a_new_sign_in_is_asked_for_once_and_done_by_signing_in() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    let asked = target(&[("prompt", "login"), ("login_hint", ADA)]);
    let to_sign_in = location(&browser.get(&asked).await);
    let page = browser.get(&to_sign_in).await;
    assert_eq!(page.status(), 200);
    assert_eq!(attribute(&page, "maxlength=\"254\" value=\""), ADA);
    let back = field(&page, "next");
    // Coming back without a new sign-in leads to the same question, also through the form.
    let request = back.split_once('?').unwrap().1;
    assert!(location(&browser.get(&back).await).starts_with("/sign-in?anew=1&"));
    let user = field(&browser.get(&target(&[])).await, "user");
    let answer = browser
        .post(PATH, &answered(request, &user, "approve"))
        .await;
    assert_eq!(location(&answer), back);
    assert_eq!(sign_in(&mut browser, ADA, &page).await, back);
    assert!(approve(&mut browser, &back).await.starts_with(URI));
    // If no user is signed in, one sign-in is enough.
    let mut nobody = Browser::new(&service);
    let to_sign_in = location(&nobody.get(&asked).await);
    assert!(to_sign_in.starts_with("/sign-in?anew=1&"), "{to_sign_in}");
    let page = nobody.get(&to_sign_in).await;
    let back = sign_in(&mut nobody, ADA, &page).await;
    assert!(approve(&mut nobody, &back).await.starts_with(URI));
    for ignored in ["none", "consent", "x"] {
        let page = browser.get(&target(&[("prompt", ignored)])).await;
        assert_eq!(page.status(), 200, "{ignored}");
    }
}

#[tokio::test]
async fn the_page_that_asks_alone_is_without_form_action() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    let policy = |answer: Shown| {
        answer
            .0
            .header("content-security-policy")
            .unwrap()
            .to_owned()
    };
    let asking = policy(browser.get(&target(&[])).await);
    let usual = policy(browser.get("/account/devices").await);
    assert!(!asking.contains("form-action"), "{asking}");
    assert_eq!(usual.replace("form-action 'self'; ", ""), asking);
    assert!(usual.contains("form-action 'self'") && asking.contains("frame-ancestors 'none'"));
    for path in ["/", "/sign-in?anew=1", PATH] {
        assert_eq!(policy(browser.get(path).await), usual, "{path}");
    }
    let answer = browser.get(&target(&[("response_type", "x")])).await;
    assert_eq!(answer.0.header("cache-control"), Some("no-store"));
    assert_eq!(policy(answer), usual);
}

#[tokio::test]
async fn an_app_that_is_deleted_meanwhile_gets_nothing_by_the_page_that_asked() {
    let Some(service) = with_an_app() else { return };
    let mut browser = browser_of(&service, ADA).await;
    let page = browser.get(&target(&[])).await;
    let (request, user) = (field(&page, "request"), field(&page, "user"));
    command(&service, &["oauth-client", "delete", "app"]);
    let approval = answered(&request, &user, "approve");
    assert_eq!(browser.post(PATH, &approval).await.status(), 400);
    assert_eq!(browser.get(&target(&[])).await.status(), 400);
}
