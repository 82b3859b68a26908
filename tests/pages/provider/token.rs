//! Bad tokens from a provider.

use serde_json::{Value, json};

use super::stub::{Manner, Provider, Signed, Token, now, somebody};
use super::{is_nobody, sign_in, sign_in_from, user};
use crate::browser::Browser;

const ADA: &str = "ada@example.com";

fn ada() -> Token {
    somebody("1").email(ADA)
}

#[tokio::test]
async fn a_token_that_is_not_for_this_sign_in_lets_nobody_in() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[("INVOICING_TRUSTED_PROXIES", "127.0.0.1/32")]) else {
        return;
    };
    user(&service, ADA);
    let with = |name: &str, value: Value| ada().with(name, value);
    // Of so many codes at one of them, most would not be sent.
    let mut addresses = (0..).map(|block| format!("198.{block}.0.1"));
    for ((case, token), address) in [
        ("nonce of another", with("nonce", json!("x"))),
        ("no nonce", with("nonce", json!(null))),
        ("another issuer", with("iss", json!("https://evil.example"))),
        (
            "an issuer with a slash",
            with("iss", json!(format!("{}/", provider.issuer))),
        ),
        ("no issuer", with("iss", json!(null))),
        ("another audience", with("aud", json!("other"))),
        ("no audience", with("aud", json!(null))),
        (
            "an audience besides",
            with("aud", json!(["invoicing", "other"])),
        ),
        ("another party", with("azp", json!("other"))),
        ("expired", with("exp", json!(now() - 1))),
        ("no expiry", with("exp", json!(null))),
        ("made an hour ago", with("iat", json!(now() - 3_600))),
        ("made in an hour", with("iat", json!(now() + 3_600))),
        ("no time", with("iat", json!(null))),
        ("no subject", with("sub", json!(null))),
        ("an empty subject", with("sub", json!(""))),
        ("a long subject", with("sub", json!("x".repeat(256)))),
        ("not signed", ada().signed(Signed::Not)),
        ("forged", ada().signed(Signed::Forged)),
        ("an unknown key", ada().signed(Signed::Es256Next)),
        (
            "HS256 by the public key",
            ada().signed(Signed::HsOfPublicKey),
        ),
        (
            "HS256 by our secret",
            ada().signed(Signed::HsOfClientSecret),
        ),
    ]
    .into_iter()
    .zip(&mut addresses)
    {
        let mut browser = Browser::new(&service);
        let refused = sign_in_from(&address, &mut browser, &provider, &token).await;
        // Without a claim that is always required, it is not an ID token.
        let status = match case {
            "no issuer" | "no expiry" | "no time" | "no subject" => 503,
            _ => 403,
        };
        assert_eq!(refused.status(), status, "{case}: {}", refused.text());
        is_nobody(&browser);
    }
    for ((case, token), address) in [
        ("ES256", ada()),
        ("RS256", ada().signed(Signed::Rs256)),
        ("a list", ada().with("aud", json!(["invoicing"]))),
        ("this party", ada().with("azp", json!("invoicing"))),
        ("dated back", ada().with("iat", json!(now() - 300))),
        (
            "a time as text, as Auth0 writes it",
            ada().with("updated_at", json!("2025-12-23T10:59:07.841Z")),
        ),
        (
            "the longest subject",
            ada().with("sub", json!("x".repeat(255))),
        ),
    ]
    .into_iter()
    .zip(&mut addresses)
    {
        user(
            &service,
            &format!("{}@example.com", case.replace([' ', ','], "-")),
        );
        let email = format!("{}@example.com", case.replace([' ', ','], "-"));
        let token = match case {
            "the longest subject" => token.with("email", json!(email)),
            _ => token,
        };
        let mut browser = Browser::new(&service);
        let done = sign_in_from(&address, &mut browser, &provider, &token).await;
        assert_eq!(done.status(), 303, "{case}: {}", done.text());
    }
}

#[tokio::test]
async fn a_key_that_is_not_known_is_asked_for_once_a_minute() {
    let provider = Provider::start().await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    user(&service, ADA);
    let mut browser = Browser::new(&service);
    sign_in(&mut browser, &provider, &ada()).await;
    let asked = provider.asked();
    provider.changes_its_key();
    let next = ada().signed(Signed::Es256Next);
    let done = sign_in(&mut browser, &provider, &next).await;
    assert_eq!(done.status(), 303, "{}", done.text());
    assert_eq!(provider.asked(), asked + 1);
    for _ in 0..3 {
        let mut browser = Browser::new(&service);
        let refused = sign_in(&mut browser, &provider, &ada()).await;
        assert_eq!(refused.status(), 403);
    }
    assert_eq!(provider.asked(), asked + 1);
}

#[tokio::test]
async fn a_provider_that_says_it_is_another_is_not_used() {
    let provider = Provider::behaving(Manner::Impostor).await;
    let Some(service) = provider.server(&[]) else {
        return;
    };
    let mut browser = Browser::new(&service);
    let told = browser.get("/sign-in/provider").await;
    told.expect(503, "Example ID does not answer");
    is_nobody(&browser);
}
