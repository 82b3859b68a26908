//! Linking, unlinking and confirming.

use serde_json::json;

use super::stub::{Manner, Provider, now, query, somebody};
use super::{by_provider, come_back, follow, is_nobody, sign_in, user};
use crate::browser::{Browser, link_path};
use crate::team::{PASSWORD, age_sign_ins, person};

const ADA: &str = "ada@example.com";
const BEN: &str = "ben@example.com";

#[tokio::test]
async fn who_is_signed_in_links_an_identity_and_signs_in_by_it() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    browser.sign_in(ADA, PASSWORD).await;
    let page = browser.get("/account").await;
    page.expect(200, "href=\"/account/link\"")
        .expect(200, "None is linked to your account");
    let done = by_provider(&mut browser, &provider, "/account/link", &somebody("1")).await;
    assert_eq!(done.location(), "/account?done=linked");
    let page = browser.get(&done.location()).await;
    page.expect(200, "<strong>1</strong>");
    // Twice has the same effect as once.
    let done = by_provider(&mut browser, &provider, "/account/link", &somebody("1")).await;
    assert_eq!(done.status(), 303);
    assert_eq!(browser.get("/account").await.hidden("id").len(), 1);
    let mut other = Browser::new(&service);
    sign_in(&mut other, &provider, &somebody("1")).await;
    other.get("/account").await.expect(200, ADA);

    // It belongs to one user.
    person(&service, BEN).await;
    let mut ben = Browser::new(&service);
    ben.sign_in(BEN, PASSWORD).await;
    let taken = by_provider(&mut ben, &provider, "/account/link", &somebody("1")).await;
    taken.expect(403, "Another user has this");
}

#[tokio::test]
async fn to_link_needs_a_fresh_sign_in_a_link_of_ours_and_the_same_session() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    let nobody = follow(&mut browser, "/account/link").await;
    assert!(nobody.location().starts_with("/sign-in?"), "{nobody:?}");
    browser.sign_in(ADA, PASSWORD).await;
    let elsewhere = come_back(&mut browser, "/account/link").await;
    elsewhere.expect(403, "did not come from our page");
    browser
        .get("/account/link")
        .await
        .expect(403, "did not come");

    age_sign_ins(&service);
    let asked = follow(&mut browser, "/account/link").await;
    assert_eq!(asked.location(), "/confirm?next=%2Faccount");
    let page = browser.get(&asked.location()).await;
    page.expect(403, "action=\"/confirm\"");
    let next = ("next", "/account");
    let wrong = [next, ("confirm_password", "wrong")];
    browser
        .post("/confirm", &wrong)
        .await
        .expect(403, "is wrong");
    let right = [next, ("confirm_password", PASSWORD)];
    let page = browser.submit("/confirm", &right).await;
    page.expect(200, "Account");

    // A flow that was started in a session must come back in it, or it links nothing.
    let left = follow(&mut browser, "/account/link").await;
    let back = provider.comes_back(&left.location(), &somebody("1"));
    browser.post("/sign-out", &[]).await;
    let over = "This sign-in is over";
    come_back(&mut browser, &back).await.expect(400, over);
    browser.sign_in(ADA, PASSWORD).await;
    let left = follow(&mut browser, "/account/link").await;
    let back = provider.comes_back(&left.location(), &somebody("1"));
    browser.sign_in(ADA, PASSWORD).await;
    come_back(&mut browser, &back).await.expect(400, over);
    browser.get("/account").await.expect(200, "None is linked");
}

#[tokio::test]
async fn a_way_to_sign_in_links_nothing_and_one_to_link_signs_nobody_in() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    browser.sign_in(ADA, PASSWORD).await;
    let refused = sign_in(&mut browser, &provider, &somebody("1")).await;
    refused.expect(403, "not linked to anybody here");
    browser.get("/account").await.expect(200, "None is linked");
    let left = follow(&mut browser, "/account/link").await;
    let back = provider.comes_back(&left.location(), &somebody("1"));
    browser.cookies.remove(crate::browser::COOKIE);
    come_back(&mut browser, &back).await.expect(400, "is over");
    is_nobody(&browser);
}

#[tokio::test]
async fn an_identity_is_unlinked_unless_it_is_the_last_way_to_sign_in() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    let mut browser = Browser::new(&service);
    sign_in(&mut browser, &provider, &somebody("1").email(ADA)).await;
    let ids = browser.get("/account").await.hidden("id");
    let unlink = |id: &str| [("id", id.to_owned())];
    let fields = unlink(&ids[0]);
    let fields = fields
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let refused = browser.post("/account/unlink", &fields).await;
    refused.expect(422, "it is your last way to sign in");

    by_provider(&mut browser, &provider, "/account/link", &somebody("2")).await;
    age_sign_ins(&service);
    let asked = browser.post("/account/unlink", &fields).await;
    asked.expect(403, "Confirm with Example ID");
    assert!(
        !asked.text().contains("confirm_password"),
        "who has none types none"
    );
    let confirm = "/confirm/provider?next=%2Faccount";
    let done = by_provider(&mut browser, &provider, confirm, &somebody("2")).await;
    assert_eq!(done.location(), "/account");
    let mut by_it = Browser::new(&service);
    sign_in(&mut by_it, &provider, &somebody("1")).await;
    let page = browser.submit("/account/unlink", &fields).await;
    page.expect(200, "Nobody signs in to your account by it any more");
    // A browser that had signed in with it is signed out.
    let out = by_it.get("/account").await;
    assert!(out.location().starts_with("/sign-in"), "{out:?}");
    let mut other = Browser::new(&service);
    sign_in(&mut other, &provider, &somebody("1"))
        .await
        .expect(403, "not linked to anybody here");
    let gone = browser.post("/account/unlink", &fields).await;
    gone.expect(404, "no such page");
}

#[tokio::test]
async fn after_a_reset_the_identities_that_remain_are_shown() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    let mut browser = Browser::new(&service);
    sign_in(&mut browser, &provider, &somebody("1").email(ADA)).await;
    let link = link_path(&service, &["user", "reset-link", ADA]);
    let page = browser.submit(&link, &[("password", PASSWORD)]).await;
    page.expect(200, "What else lets somebody in as you is below")
        .expect(200, "<strong>ada@example.com</strong>");
}

#[tokio::test]
async fn to_confirm_the_provider_asks_anew_and_it_is_the_same_user() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    user(&service, BEN);
    let mut ben = Browser::new(&service);
    sign_in(&mut ben, &provider, &somebody("2").email(BEN)).await;
    let mut browser = Browser::new(&service);
    sign_in(&mut browser, &provider, &somebody("1").email(ADA)).await;
    age_sign_ins(&service);
    let asked = browser.post("/account/delete", &[]).await;
    asked.expect(403, "href=\"/confirm/provider?next=%2Faccount%2Fdelete\"");
    let path = "/confirm/provider?next=%2Faccount%2Fdelete";
    browser
        .get(path)
        .await
        .expect(403, "did not come from our page");

    for (case, token) in [
        ("another user", somebody("2")),
        ("nobody", somebody("3")),
        (
            "long ago",
            somebody("1").with("auth_time", json!(now() - 3_600)),
        ),
        ("not said", somebody("1").with("auth_time", json!(null))),
    ] {
        let refused = by_provider(&mut browser, &provider, path, &token).await;
        assert_eq!(refused.status(), 403, "{case}: {}", refused.text());
        browser
            .post("/account/delete", &[])
            .await
            .expect(403, "Confirm that it is you");
    }
    let left = follow(&mut browser, path).await;
    let asked = query(&left.location());
    assert_eq!(
        (asked["prompt"].as_str(), asked["max_age"].as_str()),
        ("login", "0")
    );
    let token = somebody("1").with("auth_time", json!(now()));
    let back = provider.comes_back(&left.location(), &token);
    let before = browser.cookies[crate::browser::COOKIE].clone();
    let done = come_back(&mut browser, &back).await;
    assert_eq!(done.location(), "/account/delete");
    assert_ne!(browser.cookies[crate::browser::COOKIE], before);
    let done = browser.post("/account/delete", &[]).await;
    assert_eq!(done.location(), "/sign-in");
    // Neither of the session, nor of anybody who has signed in here before.
    assert!(browser.cookies.is_empty(), "{:?}", browser.cookies);
}

/// V10: a provider that does not know when people signed in is trusted that they did so anew.
#[tokio::test]
async fn a_provider_that_knows_no_time_of_a_sign_in_confirms_by_signing_in_anew() {
    let provider = Provider::behaving(Manner::Reticent).await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    let ada = somebody("1").email(ADA).with("auth_time", json!(null));
    let mut browser = Browser::new(&service);
    sign_in(&mut browser, &provider, &ada).await;
    // The time is unknown, so it may be long ago.
    let asked = browser.post("/account/delete", &[]).await;
    asked.expect(403, "Confirm that it is you");
    let path = "/confirm/provider?next=%2Faccount%2Fdelete";
    let done = by_provider(&mut browser, &provider, path, &ada).await;
    assert_eq!(done.location(), "/account/delete");
    let done = browser.post("/account/delete", &[]).await;
    assert_eq!(done.location(), "/sign-in");
}

/// V9: a sign-in at the provider hours ago is not a fresh proof.
#[tokio::test]
async fn a_sign_in_that_was_long_ago_at_the_provider_is_none_of_just_now() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    let mut browser = Browser::new(&service);
    let token = somebody("1").email(ADA);
    let left = follow(&mut browser, "/sign-in/provider").await;
    let asked = query(&left.location());
    assert!(
        asked["max_age"] != "0" && !asked.contains_key("prompt"),
        "{asked:?}"
    );
    let token = token.with("auth_time", json!(now() - 3_600));
    let back = provider.comes_back(&left.location(), &token);
    assert_eq!(come_back(&mut browser, &back).await.status(), 303);
    let asked = browser.post("/account/delete", &[]).await;
    asked.expect(403, "Confirm that it is you");
    // A request to switch accounts asks the provider for a new sign-in, too.
    let left = follow(&mut browser, "/sign-in/provider?anew=1").await;
    assert_eq!(query(&left.location())["prompt"], "login");
}

/// An attempted take-over: a form of ours is followed by a page that silently links the account signed in at
/// the provider.
#[tokio::test]
async fn no_form_leads_on_to_the_provider() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    for next in [
        "/account/link",
        "/confirm/provider?next=/",
        "/sign-in/provider",
    ] {
        let fields = [("email", ADA), ("password", PASSWORD), ("next", next)];
        let done = browser.post("/sign-in", &fields).await;
        assert_eq!(done.location(), "/", "{next}");
        let fields = [("next", next), ("confirm_password", PASSWORD)];
        let done = browser.post("/confirm", &fields).await;
        assert_eq!(done.location(), "/", "{next}");
    }
}

#[tokio::test]
async fn another_site_signs_nobody_in_as_somebody_else() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    browser.sign_in(ADA, PASSWORD).await;
    let led = come_back(&mut browser, "/sign-in/provider?next=%2Faccount").await;
    assert_eq!(led.location(), "/account");
    let led = follow(&mut browser, "/sign-in/provider?next=%2Faccount").await;
    assert!(led.location().starts_with(&provider.issuer), "{led:?}");
}
