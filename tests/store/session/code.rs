//! Authorization codes.

use invoicing::domain::Error;
use invoicing::domain::id::UserId;
use invoicing::domain::oauth_client::ClientId;
use invoicing::domain::secret::Secret;

use super::*;

/// S4 and S5.
#[tokio::test]
async fn a_code_begins_a_session() {
    let mobile = Mobile::new().await;
    let tokens = mobile.sign_in().await;
    assert_eq!((tokens.expires_in, tokens.user_id), (3600, mobile.user.id));
    assert_ne!(tokens.access_token.reveal(), tokens.refresh_token.reveal());
    assert!(mobile.is_alive(&tokens).await);
}

/// S1 and S3.
#[tokio::test]
async fn a_second_use_ends_the_session_of_the_first() {
    let mobile = Mobile::new().await;
    let (code, bystander) = (mobile.code().await, mobile.sign_in().await);
    let tokens = mobile
        .exchange_token(Exchange::of(&code).into())
        .await
        .unwrap();
    assert_reused(mobile.exchange_token(Exchange::of(&code).into()).await);
    assert!(!mobile.is_alive(&tokens).await);
    assert_invalid_grant(
        mobile
            .exchange_token(refresh(&tokens.refresh_token, "app", None))
            .await,
    );
    assert!(mobile.is_alive(&bystander).await);
}

/// S3: whatever else is presented with it, and however late.
#[tokio::test]
async fn a_second_use_counts_with_any_verifier_client_or_age() {
    for (client_id, code_verifier, seconds) in [
        ("app", "wrong", 0),
        ("other", VERIFIER, 0),
        ("nobody", VERIFIER, 0),
        ("app", VERIFIER, 3000),
    ] {
        let mobile = Mobile::new().await;
        let code = mobile.code().await;
        let tokens = mobile
            .exchange_token(Exchange::of(&code).into())
            .await
            .unwrap();
        mobile.pass(seconds);
        mobile.delete_expired().await.unwrap();
        assert!(mobile.is_alive(&tokens).await);
        let again = Exchange {
            client_id,
            code_verifier,
            ..Exchange::of(&code)
        };
        assert_reused(mobile.exchange_token(again.into()).await);
        assert!(
            !mobile.is_alive(&tokens).await,
            "{client_id} {code_verifier} {seconds}"
        );
    }
}

/// S3: even after refreshes, and when the session's first tokens have long been replaced.
#[tokio::test]
async fn a_second_use_ends_a_session_that_was_refreshed() {
    let mobile = Mobile::new().await;
    let code = mobile.code().await;
    let first = mobile
        .exchange_token(Exchange::of(&code).into())
        .await
        .unwrap();
    mobile.pass(20 * 24 * 3600);
    mobile.delete_expired().await.unwrap();
    let second = mobile
        .exchange_token(refresh(&first.refresh_token, "app", None))
        .await
        .unwrap();
    assert_reused(mobile.exchange_token(Exchange::of(&code).into()).await);
    assert!(!mobile.is_alive(&second).await);
}

/// Exactly one of two simultaneous uses of a code is the first, and the other ends the session that it
/// started.
#[tokio::test]
async fn at_most_one_of_two_simultaneous_uses_is_granted_and_its_session_ends() {
    let mobile = Mobile::new().await;
    let code = mobile.code().await;
    let (one, two) = tokio::join!(
        mobile.exchange_token(Exchange::of(&code).into()),
        mobile.exchange_token(Exchange::of(&code).into()),
    );
    let (tokens, refused) = if one.is_ok() { (one, two) } else { (two, one) };
    assert_reused(refused);
    assert!(!mobile.is_alive(&tokens.unwrap()).await);
}

/// S1: 60 seconds.
#[tokio::test]
async fn a_code_works_for_60_seconds() {
    for (seconds, works) in [(59, true), (60, false)] {
        let mobile = Mobile::new().await;
        let code = mobile.code().await;
        mobile.pass(seconds);
        let result = mobile.exchange_token(Exchange::of(&code).into()).await;
        assert_eq!(result.is_ok(), works, "after {seconds} s");
    }
}

/// S2, S11 and S12, for a code.
#[tokio::test]
async fn a_refused_exchange_spends_nothing() {
    let mobile = Mobile::new().await;
    let code = mobile.code().await;
    let right = Exchange::of(&code);
    for wrong in [
        Exchange {
            client_id: "other",
            ..right.clone()
        },
        Exchange {
            redirect_uri: "https://example.com/cb",
            ..right.clone()
        },
        Exchange {
            redirect_uri: "com.example.app:/signed-in/",
            ..right.clone()
        },
        Exchange {
            redirect_uri: "com.example.app:/Signed-in",
            ..right.clone()
        },
        Exchange {
            code_verifier: "eBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
            ..right.clone()
        },
    ] {
        assert_invalid_grant(mobile.exchange_token(wrong.into()).await);
    }
    assert_invalid_client(
        mobile
            .exchange_token(
                Exchange {
                    client_id: "nobody",
                    ..right.clone()
                }
                .into(),
            )
            .await,
    );
    assert!(mobile.exchange_token(right.into()).await.is_ok());
}

/// S2: the challenge itself is not a verifier, as it would be with the method `plain`.
#[tokio::test]
async fn the_challenge_is_no_verifier() {
    let mobile = Mobile::new().await;
    let code = mobile.code().await;
    let code_verifier = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    assert_eq!(challenge(VERIFIER), code_verifier.parse().unwrap());
    let plain = Exchange {
        code_verifier,
        ..Exchange::of(&code)
    };
    assert_invalid_grant(mobile.exchange_token(plain.into()).await);
}

/// S12: an unknown code or token, of any form.
#[tokio::test]
async fn an_unknown_code_or_token_is_invalid_grant() {
    let mobile = Mobile::new().await;
    let issued = mobile.code().await;
    let altered = format!("{}!", &issued.reveal()[..42]);
    for text in ["x", &altered, &"é".repeat(512), "' OR 1=1 --"] {
        let unknown = Secret::from_text(text);
        assert_invalid_grant(mobile.exchange_token(Exchange::of(&unknown).into()).await);
        assert_invalid_grant(mobile.exchange_token(refresh(&unknown, "app", None)).await);
        assert_invalid_client(
            mobile
                .exchange_token(refresh(&unknown, "nobody", None))
                .await,
        );
    }
}

/// A code is not a refresh token, a refresh token is not a code, and neither gives access.
#[tokio::test]
async fn secrets_of_one_kind_are_unknown_as_another() {
    let mobile = Mobile::new().await;
    let (code, tokens) = (mobile.code().await, mobile.sign_in().await);
    assert_invalid_grant(mobile.refresh(&code).await);
    assert_invalid_grant(mobile.refresh(&tokens.access_token).await);
    assert_invalid_grant(
        mobile
            .exchange_token(Exchange::of(&tokens.refresh_token).into())
            .await,
    );
    for secret in [&code, &tokens.refresh_token] {
        let result = mobile.authenticate_access_token(secret).await;
        assert!(matches!(result, Err(Error::InvalidToken)));
    }
    assert!(mobile.refresh(&tokens.refresh_token).await.is_ok());
}

/// A code is issued only for what exists: a user, a client, and one of its redirect URIs, matched exactly.
#[tokio::test]
async fn a_code_is_issued_for_a_known_user_client_and_redirect_uri_only() {
    let mobile = Mobile::new().await;
    let (nobody, known) = (UserId(uuid::Uuid::nil()), mobile.user.id);
    let issue = |user, client, uri| mobile.issue_auth_code(user, client, uri, challenge(VERIFIER));
    let (app, unknown) = (ClientId::new("app"), ClientId::new("nobody"));

    assert!(matches!(
        issue(nobody, &app, REDIRECT_URI).await,
        Err(Error::Missing { noun: "user", .. })
    ));
    assert!(matches!(
        issue(known, &unknown, REDIRECT_URI).await,
        Err(Error::Missing {
            noun: "OAuth client",
            ..
        })
    ));
    assert!(matches!(
        issue(known, &app, "com.example.app:/Signed-in").await,
        Err(Error::Refused(_))
    ));
    assert_eq!(
        issue(known, &app, REDIRECT_URI).await.unwrap().expires_in,
        60
    );
}

/// A3 and A4: an app that listens on any free port.
#[tokio::test]
async fn a_code_is_for_the_port_that_it_was_sent_to() {
    let mobile = Mobile::new().await;
    let registered = "http://127.0.0.1/cb";
    let desktop = ClientId::new("desktop");
    let uris = [registered.to_owned()];
    let made = mobile.create_oauth_client(desktop.as_str(), "An app", &uris);
    made.await.unwrap();
    let sent = "http://127.0.0.1:53121/cb";
    let issue = |uri| {
        let challenge = challenge(VERIFIER);
        mobile.issue_auth_code(mobile.user.id, &desktop, uri, challenge)
    };
    let refused = issue("http://127.0.0.1:53121/other").await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    let code = issue(sent).await.unwrap().code;
    let exchange = |redirect_uri| Exchange {
        redirect_uri,
        client_id: "desktop",
        ..Exchange::of(&code)
    };
    for other in [registered, "http://127.0.0.1:53122/cb"] {
        assert_invalid_grant(mobile.exchange_token(exchange(other).into()).await);
    }
    mobile.exchange_token(exchange(sent).into()).await.unwrap();
}
