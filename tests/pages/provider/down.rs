//! A provider that does not answer, or not in an understandable way.

use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use test_support::caller::Request;
use tokio::time::timeout;

use super::stub::{Manner, Provider, query, somebody};
use super::{come_back, come_back_from, is_nobody, sign_in_from, user};
use crate::browser::{Browser, Shown, server_with};
use crate::team::{PASSWORD, person};

const ADA: &str = "ada@example.com";

#[tokio::test]
async fn a_provider_that_is_not_there_holds_nothing_else_up() {
    let settings = [
        ("INVOICING_OIDC_ISSUER", "http://127.0.0.1:1"),
        ("INVOICING_OIDC_CLIENT_ID", "a"),
        ("INVOICING_OIDC_CLIENT_SECRET", "b"),
    ];
    let Some(service) = server_with(&settings) else {
        return;
    };
    person(&service, ADA).await;
    let mut browser = Browser::new(&service);
    let told = browser.get("/sign-in/provider").await;
    // It is named after its host, unless a name is given.
    told.expect(503, "127.0.0.1 does not answer");
    is_nobody(&browser);
    browser.sign_in(ADA, PASSWORD).await;
    browser.get("/account").await.expect(200, "Account");
}

#[tokio::test]
async fn what_does_not_come_or_does_not_end_is_given_up() {
    for manner in [Manner::Silent, Manner::Endless, Manner::Redirecting] {
        let provider = Provider::behaving(manner).await;
        let Some(service) = provider.server(&[]) else {
            return;
        };
        let mut browser = Browser::new(&service);
        let begun = Instant::now();
        let told = browser.get("/sign-in/provider").await;
        told.expect(503, "Example ID does not answer");
        assert!(begun.elapsed() < Duration::from_secs(20), "{manner:?}");
        browser.get("/sign-in").await.expect(200, "Sign in");
    }
}

#[tokio::test]
async fn who_comes_back_while_it_is_silent_is_told_and_nothing_is_changed() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[("INVOICING_TRUSTED_PROXIES", "127.0.0.1/32")]) else {
        return;
    };
    user(&service, ADA);
    // Each at a network of its own, as their codes are counted.
    for (number, manner) in [
        Manner::Silent,
        Manner::Endless,
        Manner::Redirecting,
        Manner::BadGateway,
        Manner::Empty,
        Manner::Limiting,
    ]
    .into_iter()
    .enumerate()
    {
        provider.behaves(Manner::Well);
        let mut browser = Browser::new(&service);
        let left = browser.get("/sign-in/provider").await;
        let back = provider.comes_back(&left.location(), &somebody("1").email(ADA));
        provider.behaves(manner);
        let told = come_back_from(&format!("192.0.{number}.1"), &mut browser, &back).await;
        told.expect(503, "Example ID does not answer");
        is_nobody(&browser);
    }
}

/// Nothing else is held up by them.
#[tokio::test]
async fn few_wait_for_a_provider_that_is_silent_and_the_next_is_told_at_once() {
    let provider = Provider::behaving(Manner::Silent).await;
    // A sixteenth of these may wait: four.
    let Some(service) = provider.server(&[("INVOICING_MAX_CONCURRENT_REQUESTS", "64")]) else {
        return;
    };
    person(&service, ADA).await;
    let leave = async || Browser::new(&service).get("/sign-in/provider").await;
    let mut waiting: FuturesUnordered<_> = (0..5).map(|_| leave()).collect();
    let told = timeout(Duration::from_secs(3), waiting.next()).await;
    let told = told.expect("one is told at once").expect("five");
    told.expect(503, "Too many people sign in with Example ID");
    let next = timeout(Duration::from_millis(500), waiting.next()).await;
    assert!(next.is_err(), "the others wait: {next:?}");
    let mut browser = Browser::new(&service);
    let signed_in = timeout(Duration::from_secs(4), browser.sign_in(ADA, PASSWORD));
    signed_in.await.expect("nothing else waits");
}

/// A user who comes back while too many wait loses nothing: the page is reloaded.
#[tokio::test]
async fn who_comes_back_while_too_many_wait_comes_back_again() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[("INVOICING_MAX_CONCURRENT_REQUESTS", "16")]) else {
        return;
    };
    user(&service, ADA);
    let ada = somebody("1").email(ADA);
    let mut browsers = [Browser::new(&service), Browser::new(&service)];
    let mut back = Vec::new();
    for browser in &mut browsers {
        let left = browser.get("/sign-in/provider").await;
        back.push(provider.comes_back(&left.location(), &ada));
    }
    provider.behaves(Manner::Silent);
    let [one, two] = &mut browsers;
    let (first, second) = tokio::join!(come_back(one, &back[0]), come_back(two, &back[1]));
    let full = "Too many people sign in with Example ID just now";
    let is_full = [&first, &second].map(|it| it.text().contains(full));
    assert!(is_full[0] != is_full[1], "{first:?} {second:?}");
    // The other one was told that the provider is silent, and gave its slot back.
    provider.behaves(Manner::Well);
    let (refused, back) = match is_full[0] {
        true => (one, &back[0]),
        false => (two, &back[1]),
    };
    is_nobody(refused);
    let done = come_back(refused, back).await;
    assert_eq!(done.status(), 303, "{done:?}");
    refused.get("/account").await.expect(200, ADA);
}

#[tokio::test]
async fn who_waits_with_others_of_a_site_is_sent_away_for_somebody_of_another() {
    let provider = Provider::start().await;
    // Room for two.
    let settings = [
        ("INVOICING_MAX_CONCURRENT_REQUESTS", "32"),
        ("INVOICING_TRUSTED_PROXIES", "127.0.0.1/32"),
    ];
    let Some(service) = provider.server(&settings) else {
        return;
    };
    let mut browsers = [(); 3].map(|()| Browser::new(&service));
    let mut back = Vec::new();
    for browser in &mut browsers {
        let left = browser.get("/sign-in/provider").await;
        back.push(provider.comes_back(&left.location(), &somebody("1").email(ADA)));
    }
    provider.behaves(Manner::Silent);
    let [one, two, three] = &mut browsers;
    let elsewhere = async {
        while provider.silenced() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        come_back_from("198.51.100.1", three, &back[2]).await
    };
    let all = async {
        tokio::join!(
            come_back_from("192.0.2.1", one, &back[0]),
            come_back_from("192.0.2.2", two, &back[1]),
            elsewhere,
        )
    };
    let all = timeout(Duration::from_secs(60), all).await;
    let (first, second, third) = all.expect("all are answered");
    let full = "Too many people sign in with Example ID just now";
    let is_sent_away = [&first, &second].map(|it| it.text().contains(full));
    assert!(is_sent_away[0] != is_sent_away[1], "{first:?} {second:?}");
    let sent_away = if is_sent_away[0] { first } else { second };
    // The provider may have taken the code by now, so the page is not to be loaded again.
    sent_away.expect(503, "Try again in a moment");
    third.expect(503, "Example ID does not answer");
}

/// P29: whoever signed in with this browser before waits apart from strangers, and has codes apart from those of the network.
#[tokio::test]
async fn a_returning_browser_does_not_share_what_strangers_use_up() {
    let provider = Provider::start().await;
    // Room for one stranger.
    let settings = [
        ("INVOICING_MAX_CONCURRENT_REQUESTS", "16"),
        ("INVOICING_TRUSTED_PROXIES", "127.0.0.1/32"),
    ];
    let Some(service) = provider.server(&settings) else {
        return;
    };
    user(&service, ADA);
    let [ada, unknown, stranger, other] = &mut [(); 4].map(|()| Browser::new(&service));
    let signed_in = signs_in_from(&provider, "203.0.113.1", ada, "1", ADA).await;
    assert_eq!(signed_in.status(), 303, "{signed_in:?}");
    // The provider knows many who are not users here: they are strangers.
    let nobody = signs_in_from(&provider, "198.51.100.1", unknown, "2", "eve@example.com").await;
    assert_eq!(nobody.status(), 403, "{nobody:?}");
    for attempt in 0..6 {
        let left = stranger.get("/sign-in/provider").await;
        let state = query(&left.location())["state"].clone();
        let back = format!("/sign-in/callback?code=made-up&state={state}");
        let told = come_back_from("203.0.113.1", stranger, &back).await;
        assert_eq!(told.status(), if attempt < 5 { 403 } else { 503 });
    }
    ada.get("/account").await.expect(200, ADA);
    let again = signs_in_from(&provider, "203.0.113.1", ada, "1", ADA).await;
    assert_eq!(again.status(), 303, "{again:?}");

    provider.behaves(Manner::Silent);
    let others = async {
        while provider.silenced() < 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let unknown = signs_in_from(&provider, "198.51.100.1", unknown, "2", ADA).await;
        (
            unknown,
            signs_in_from(&provider, "203.0.113.1", ada, "1", ADA).await,
        )
    };
    let other = signs_in_from(&provider, "192.0.2.1", other, "3", ADA);
    let all = timeout(Duration::from_secs(60), async {
        tokio::join!(other, others)
    })
    .await;
    let (other, (unknown, ada)) = all.expect("all are answered");
    other.expect(503, "Example ID does not answer");
    unknown.expect(503, "Too many people sign in with Example ID just now");
    ada.expect(503, "Example ID does not answer");
}

/// Signs in at the provider as this subject, and comes back for a client at this address.
async fn signs_in_from(
    provider: &Provider,
    address: &str,
    browser: &mut Browser<'_>,
    subject: &str,
    email: &str,
) -> Shown {
    let token = somebody(subject).email(email);
    sign_in_from(address, browser, provider, &token).await
}

/// P29: a provider that gets too many made-up codes from this client would refuse all of them.
#[tokio::test]
async fn codes_that_nobody_has_go_to_the_provider_a_few_times_and_good_ones_go_on() {
    let provider = Provider::start().await;
    let settings = [("INVOICING_TRUSTED_PROXIES", "127.0.0.1/32")];
    let Some(service) = provider.server(&settings) else {
        return;
    };
    user(&service, ADA);
    let mut stranger = Browser::new(&service);
    // What cannot be a code is not passed on.
    for code in ["", "%00", "%C3%A9", "a%0A"] {
        let left = stranger.get("/sign-in/provider").await;
        let state = query(&left.location())["state"].clone();
        let back = format!("/sign-in/callback?code={code}&state={state}");
        let told = come_back(&mut stranger, &back).await;
        told.expect(403, "You did not sign in there");
    }
    for attempt in 0..8 {
        let left = stranger.get("/sign-in/provider").await;
        let state = query(&left.location())["state"].clone();
        let code = if attempt % 2 == 0 { "made-up" } else { "odd" };
        let back = format!("/sign-in/callback?code={code}&state={state}");
        let told = come_back(&mut stranger, &back).await;
        assert_eq!(
            told.status(),
            if attempt < 5 { 403 } else { 503 },
            "{told:?}"
        );
    }
    assert_eq!(provider.invented(), 5);
    let mut elsewhere = Browser::new(&service);
    let left = elsewhere.get("/sign-in/provider").await;
    let back = provider.comes_back(&left.location(), &somebody("1").email(ADA));
    let back = Request::new("GET", &back).header("x-forwarded-for", "192.0.2.2");
    let done = elsewhere.send(back).await;
    assert_eq!(done.status(), 303, "{done:?}");
}

/// P29: or whoever has the provider refuse everybody could go on with that.
#[tokio::test]
async fn codes_at_which_the_provider_fails_or_has_enough_are_counted() {
    for manner in [Manner::BadGateway, Manner::Empty, Manner::Limiting] {
        let provider = Provider::start().await;
        let Some(service) = provider.server(&[]) else {
            return;
        };
        let mut stranger = Browser::new(&service);
        // It is known by now.
        stranger.get("/sign-in/provider").await;
        provider.behaves(manner);
        for attempt in 0..7 {
            let left = stranger.get("/sign-in/provider").await;
            let state = query(&left.location())["state"].clone();
            let back = format!("/sign-in/callback?code=made-up&state={state}");
            let told = come_back(&mut stranger, &back).await;
            let expected = match attempt < 5 {
                true => "Example ID does not answer",
                false => "Too many people sign in with Example ID just now",
            };
            told.expect(503, expected);
        }
    }
}

#[tokio::test]
async fn where_there_is_no_provider_nobody_is_led_to_one() {
    let Some(service) = server_with(&[]) else {
        return;
    };
    let mut browser = Browser::new(&service);
    let page = browser.get("/sign-in").await;
    assert!(
        !page.text().contains("/sign-in/provider"),
        "{}",
        page.text()
    );
    for path in ["/sign-in/provider", "/sign-in/callback?code=a&state=b"] {
        browser.get(path).await.expect(404, "no such page");
    }
}
