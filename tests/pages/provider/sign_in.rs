//! Which identities are let in, and the state that is bound to the browser that went there.

use serde_json::json;
use test_support::caller::Request;

use super::stub::{Manner, Provider, query, somebody};
use super::{by_provider, come_back, follow, is_nobody, sign_in, user};
use crate::browser::{Browser, COOKIE, Shown};
use crate::team::{PASSWORD, person, signed_in, team};

const ADA: &str = "ada@example.com";
const COOKIE_OF_PROVIDER: &str = "invoicing-8080-provider";

#[tokio::test]
async fn a_user_is_found_once_by_a_proven_email_and_then_by_the_identity() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, "Ada@Example.com");
    let mut browser = Browser::new(&service);
    let page = browser.get("/sign-in?next=/account").await;
    page.expect(200, "Sign in with Example ID")
        .expect(200, "href=\"/sign-in/provider?next=%2Faccount\"");
    let path = "/sign-in/provider?next=%2Faccount";
    let done = by_provider(&mut browser, &provider, path, &somebody("1").email(ADA)).await;
    assert_eq!((done.status(), done.location()), (303, "/account".into()));
    assert!(
        !browser.cookies.contains_key(COOKIE_OF_PROVIDER),
        "{done:?}"
    );
    let page = browser.get("/account").await;
    page.expect(200, "You sign in as Ada@Example.com")
        .expect(200, "<strong>ada@example.com</strong>")
        .expect(200, "by provider");

    // From now on the email there may be unset, or belong to another identity.
    let mut other = Browser::new(&service);
    sign_in(&mut other, &provider, &somebody("1")).await;
    other.get("/account").await.expect(200, "Ada@Example.com");
    let mut other = Browser::new(&service);
    let refused = sign_in(&mut other, &provider, &somebody("2").email(ADA)).await;
    refused.expect(403, "This account is not linked to anybody here");
    is_nobody(&other);
}

#[tokio::test]
async fn a_request_to_the_provider_carries_the_trace_on_where_traces_are_told() {
    // Nothing listens there, and nothing waits for it.
    let told = [("INVOICING_OTLP_ENDPOINT", "http://127.0.0.1:9")];
    for settings in [&told[..], &[]] {
        let provider = Provider::start().await;
        let Some(service) = provider.server(settings) else {
            return;
        };
        user(&service, ADA);
        let mut browser = Browser::new(&service);
        sign_in(&mut browser, &provider, &somebody("1").email(ADA)).await;
        browser.get("/account").await.expect(200, ADA);
        let trace = provider.trace();
        assert_eq!(trace.is_some(), !settings.is_empty());
        let well_formed = |trace: &String| {
            let parts: Vec<_> = trace.split('-').map(str::len).collect();
            parts == [2, 32, 16, 2] && trace.starts_with("00-") && trace.ends_with("-01")
        };
        assert!(trace.iter().all(well_formed), "{trace:?}");
    }
}

#[tokio::test]
async fn an_email_that_is_not_proven_finds_nobody() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    let proven = somebody("1").email(ADA);
    for (case, token) in [
        ("false", proven.clone().with("email_verified", json!(false))),
        (
            "a text",
            proven.clone().with("email_verified", json!("true")),
        ),
        ("absent", proven.clone().with("email_verified", json!(null))),
        ("no email", proven.clone().with("email", json!(null))),
        ("another", somebody("1").email("bo@example.com")),
    ] {
        let mut browser = Browser::new(&service);
        let refused = sign_in(&mut browser, &provider, &token).await;
        assert_eq!(refused.status(), 403, "{case}: {}", refused.text());
        is_nobody(&browser);
    }
    // A user with a linked identity need not prove an email.
    let mut browser = Browser::new(&service);
    sign_in(&mut browser, &provider, &proven).await;
    let mut browser = Browser::new(&service);
    let token = proven.with("email_verified", json!("true"));
    let done = sign_in(&mut browser, &provider, &token).await;
    assert_eq!(done.status(), 303, "{}", done.text());
}

/// An attempted take-over.
#[tokio::test]
async fn a_user_with_a_password_is_not_found_by_email() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    let refused = sign_in(&mut browser, &provider, &somebody("1").email(ADA)).await;
    refused.expect(403, "and link the other one under Account");
    is_nobody(&browser);
}

#[tokio::test]
async fn who_typed_too_many_wrong_passwords_signs_in_by_the_provider() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    let mut browser = Browser::new(&service);
    for _ in 0..11 {
        let fields = [("email", ADA), ("password", "wrong wrong wrong")];
        browser.post("/sign-in", &fields).await;
    }
    let fields = [("email", ADA), ("password", PASSWORD)];
    let held = browser.post("/sign-in", &fields).await;
    held.expect(422, "too many wrong passwords");
    let done = sign_in(&mut browser, &provider, &somebody("1").email(ADA)).await;
    assert_eq!(done.status(), 303, "{}", done.text());
}

#[tokio::test]
async fn a_way_back_belongs_to_one_browser_and_is_good_once() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    let ada = somebody("1").email(ADA);
    let mut browser = Browser::new(&service);
    let left = browser.get("/sign-in/provider").await;
    let back = provider.comes_back(&left.location(), &ada);
    let cookie = left.0.header("set-cookie").expect("a cookie").to_owned();
    assert!(
        cookie.contains("Max-Age=600; Path=/; HttpOnly; SameSite=Lax"),
        "{cookie}"
    );
    let asked = query(&left.location());
    assert!(!cookie.contains(&asked["state"]) && !cookie.contains(&asked["nonce"]));

    let over = "This sign-in is over";
    let mut without = Browser::new(&service);
    come_back(&mut without, &back).await.expect(400, over);
    let mut other = Browser::new(&service);
    other.get("/sign-in/provider").await;
    come_back(&mut other, &back).await.expect(400, over);
    let other_state = back.replace("state=", "state=x");
    come_back(&mut browser, &other_state)
        .await
        .expect(400, over);
    let no_state = back.split("&state").next().expect("a path");
    come_back(&mut browser, no_state).await.expect(400, over);
    // HEAD changes nothing, and spends nothing.
    let head = browser.send(Request::new("HEAD", &back)).await;
    assert_eq!(head.status(), 400);
    is_nobody(&browser);

    let sealed = browser.cookies[COOKIE_OF_PROVIDER].clone();
    assert_eq!(come_back(&mut browser, &back).await.status(), 303);
    assert!(browser.cookies.contains_key(COOKIE));
    // The cookie is removed; a browser that kept it finds that the code is spent.
    let mut again = Browser::new(&service);
    come_back(&mut again, &back).await.expect(400, over);
    again.cookies.insert(COOKIE_OF_PROVIDER.into(), sealed);
    let spent = come_back(&mut again, &back).await;
    spent.expect(403, "Example ID has not proven who you are");
    is_nobody(&again);
}

#[tokio::test]
async fn who_goes_back_at_the_provider_is_told_and_nothing_is_changed() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    let mut browser = Browser::new(&service);
    let left = browser.get("/sign-in/provider").await;
    let state = &query(&left.location())["state"];
    let back = format!("/sign-in/callback?error=access_denied&state={state}");
    let told = come_back(&mut browser, &back).await;
    told.expect(403, "You did not sign in there");
    assert!(browser.cookies.is_empty(), "{told:?}");
}

#[tokio::test]
async fn a_code_of_another_provider_is_not_sent_to_this_one() {
    let provider = Provider::behaving(Manner::Promising).await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    let iss = |issuer: &str| format!("&iss={}", issuer.replace(':', "%3A").replace('/', "%2F"));
    for (case, iss, status) in [
        ("none", String::new(), 403),
        ("another", iss("https://evil.example"), 403),
        ("a longer one", iss(&format!("{}/", provider.issuer)), 403),
        ("this", iss(&provider.issuer), 303),
    ] {
        let mut browser = Browser::new(&service);
        let left = browser.get("/sign-in/provider").await;
        let back = provider.comes_back(&left.location(), &somebody("1").email(ADA));
        let done = come_back(&mut browser, &format!("{back}{iss}")).await;
        assert_eq!(done.status(), status, "{case}");
    }
}

#[tokio::test]
async fn a_provider_that_takes_the_secret_in_the_body_gets_it_there() {
    let provider = Provider::behaving(Manner::SecretInBody).await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    let mut browser = Browser::new(&service);
    let done = sign_in(&mut browser, &provider, &somebody("1").email(ADA)).await;
    assert_eq!(done.status(), 303, "{}", done.text());
}

#[tokio::test]
async fn nobody_is_led_to_another_server_from_there() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    for next in [
        "https%3A%2F%2Fevil.example%2F",
        "%2F%2Fevil.example",
        "%2F%5Cevil.example",
        "%2Fx%0D%0Aset-cookie%3A+a%3Db",
    ] {
        let mut browser = Browser::new(&service);
        let path = format!("/sign-in/provider?next={next}");
        let token = somebody("1").email(ADA);
        let done = by_provider(&mut browser, &provider, &path, &token).await;
        assert_eq!(
            (done.status(), done.location()),
            (303, "/".into()),
            "{next}"
        );
    }
}

#[tokio::test]
async fn an_invitation_is_accepted_by_who_proves_its_email_and_nobody_else() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    let team = team(&service, "Acme");
    let mut owner = signed_in(&service, &team, "owner").await;
    let members = format!("/teams/{team}/settings/members");
    let fields = [("email", "Bo@example.com"), ("role", "member")];
    let page = owner.submit(&members, &fields).await;
    let text = page.text();
    let link = text.split("<code id=\"made\">http://localhost:8080").nth(1);
    let link = link.and_then(|it| it.split('<').next()).expect("a link");
    let path = format!("{link}/provider");

    let mut bo = Browser::new(&service);
    let page = bo.get(link).await;
    page.expect(200, "Join with Example ID")
        .expect(200, &format!("href=\"{path}\""));
    // Another site cannot lead a user into a team.
    bo.get(&path)
        .await
        .expect(403, "did not come from our page");
    for token in [
        somebody("2").email("eve@example.com"),
        somebody("2"),
        somebody("2")
            .email("bo@example.com")
            .with("email_verified", json!(false)),
    ] {
        let refused = by_provider(&mut bo, &provider, &path, &token).await;
        refused.expect(403, "Bo@example.com is invited");
        is_nobody(&bo);
    }
    // Without the link, the email does not create a user.
    let token = somebody("1")
        .email("bo@example.com")
        .with("name", json!("Bo Diddley"));
    sign_in(&mut bo, &provider, &token)
        .await
        .expect(403, "not linked to anybody here");

    let done = by_provider(&mut bo, &provider, &path, &token).await;
    assert_eq!((done.status(), done.location()), (303, "/".into()));
    bo.get("/account")
        .await
        .expect(200, "<span class=\"tag\">member</span>")
        .expect(200, "value=\"Bo Diddley\"");
    bo.get(link).await.expect(404, "no such page");
    assert_eq!(follow(&mut bo, &path).await.location(), link);
}

/// Otherwise, a user signed in there with the wrong account would keep coming back with that one.
#[tokio::test]
async fn who_is_not_known_is_asked_there_again_who_they_are() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    let mut browser = Browser::new(&service);
    let path = "/sign-in/provider?next=%2Faccount";
    let refused = by_provider(&mut browser, &provider, path, &somebody("1")).await;
    refused.expect(403, "This account is not linked to anybody here");
    let href = |page: &Shown, before: &str| {
        let text = page.text();
        let (links, _) = text.split_once(before).expect("a link");
        let link = links.rsplit("href=\"").next().expect("a link");
        link.split('"')
            .next()
            .map(|it| it.replace("&#38;", "&").replace("&amp;", "&"))
    };
    let on = href(&refused, ">Go on").expect("an address");
    let page = browser.get(&on).await;
    let again = href(&page, ">Sign in with Example ID").expect("an address");
    let left = follow(&mut browser, &again).await;
    assert_eq!(query(&left.location())["prompt"], "login", "{again}");

    let team = team(&service, "Acme");
    let mut owner = signed_in(&service, &team, "owner").await;
    let members = format!("/teams/{team}/settings/members");
    let fields = [("email", "bo@example.com"), ("role", "member")];
    let page = owner.submit(&members, &fields).await;
    let text = page.text();
    let link = text.split("<code id=\"made\">http://localhost:8080").nth(1);
    let link = link.and_then(|it| it.split('<').next()).expect("a link");
    let path = format!("{link}/provider");
    let eve = somebody("2").email("eve@example.com");
    let refused = by_provider(&mut browser, &provider, &path, &eve).await;
    let on = href(&refused, ">Go on").expect("an address");
    let again = href(&browser.get(&on).await, ">Join with").expect("an address");
    let left = follow(&mut browser, &again).await;
    assert_eq!(query(&left.location())["prompt"], "login", "{again}");

    // A user who has signed in meanwhile stays signed in, and is told.
    let bo = somebody("3").email("bo@example.com");
    let back = provider.comes_back(&left.location(), &bo);
    person(&service, ADA).await;
    browser.sign_in(ADA, PASSWORD).await;
    let told = come_back(&mut browser, &back).await;
    assert_eq!(told.location(), link);
    let page = browser.get(link).await;
    page.expect(403, "signed in as somebody else");
    assert_eq!(follow(&mut browser, &path).await.location(), link);
}

#[tokio::test]
async fn who_is_deleted_is_known_by_the_provider_no_more() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    let mut browser = Browser::new(&service);
    sign_in(&mut browser, &provider, &somebody("subject-1").email(ADA)).await;
    let export = browser.get("/account/export").await;
    export.expect(200, "\"subject\": \"subject-1\"");
    browser.submit("/account/delete", &[]).await;
    let refused = sign_in(&mut browser, &provider, &somebody("subject-1")).await;
    refused.expect(403, "This account is not linked to anybody here");
}

#[tokio::test]
async fn who_is_deactivated_is_told_so_and_stays_nobody() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    service
        .command(&["user", "deactivate", ADA])
        .expect("a user");
    let mut browser = Browser::new(&service);
    let refused = sign_in(&mut browser, &provider, &somebody("1").email(ADA)).await;
    refused.expect(403, "This account is deactivated. Ask an administrator.");
    is_nobody(&browser);
    service.command(&["user", "activate", ADA]).expect("a user");
    sign_in(&mut browser, &provider, &somebody("1").email(ADA)).await;
    browser.get("/account").await.expect(200, ADA);
}
