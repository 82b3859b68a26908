//! Sign-in with an OpenID provider.
//!
//! [`stub`] is a provider that behaves as a test wants. [`sign_in`] tests who is let in, [`token`] bad tokens from a
//! provider, [`account`] linking, unlinking and confirming, [`down`] a provider that does not answer, and [`only`] a
//! server without passwords.

mod account;
mod down;
mod only;
mod sign_in;
mod stub;
mod token;

use test_support::caller::Request;
use test_support::service::Service;

use crate::browser::{Browser, Shown};
use stub::{Provider, Token};

/// Creates a user with the command line, without any way to sign in.
fn user(service: &Service, email: &str) {
    let create = ["user", "create", "--email", email, "--name", email];
    service.command(&create).expect("an own server");
}

/// Follows a link on a page of ours.
async fn follow(browser: &mut Browser<'_>, path: &str) -> Shown {
    let request = Request::new("GET", path).header("sec-fetch-site", "same-origin");
    browser.send(request).await
}

/// Comes back from the provider's site.
async fn come_back(browser: &mut Browser<'_>, path: &str) -> Shown {
    let request = Request::new("GET", path).header("sec-fetch-site", "cross-site");
    browser.send(request).await
}

/// Goes to the provider through a link, signs in there, and comes back.
async fn by_provider(
    browser: &mut Browser<'_>,
    provider: &Provider,
    path: &str,
    token: &Token,
) -> Shown {
    let left = follow(browser, path).await;
    assert_eq!(left.status(), 303, "{left:?}");
    let back = provider.comes_back(&left.location(), token);
    come_back(browser, &back).await
}

/// The same, for signing in.
async fn sign_in(browser: &mut Browser<'_>, provider: &Provider, token: &Token) -> Shown {
    by_provider(browser, provider, "/sign-in/provider", token).await
}

/// Comes back for a client at this address.
async fn come_back_from(address: &str, browser: &mut Browser<'_>, path: &str) -> Shown {
    let back = Request::new("GET", path).header("sec-fetch-site", "cross-site");
    browser.send(back.header("x-forwarded-for", address)).await
}

/// Signs in, for a client at this address once it comes back.
async fn sign_in_from(
    address: &str,
    browser: &mut Browser<'_>,
    provider: &Provider,
    token: &Token,
) -> Shown {
    let left = follow(browser, "/sign-in/provider").await;
    let back = provider.comes_back(&left.location(), token);
    come_back_from(address, browser, &back).await
}

/// Asserts that no user is signed in.
#[track_caller]
fn is_nobody(browser: &Browser<'_>) {
    let signed_in = browser.cookies.contains_key(crate::browser::COOKIE);
    assert!(!signed_in, "{:?}", browser.cookies);
}
