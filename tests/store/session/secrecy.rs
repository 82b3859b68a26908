//! "Only hashes of tokens, codes and keys are stored."

use super::super::engine::PAIR_KEYS;
use super::*;

/// S15, also during a grace: what a thief of the database's files finds, including the log of
/// changes.
#[tokio::test]
async fn no_token_code_or_verifier_is_in_the_database_files() {
    let mobile = Mobile::new().await;
    let code = mobile.code().await;
    let request = Exchange::of(&code).install(Some("phone"));
    let first = mobile.exchange_token(request.into()).await.unwrap();
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    let again = mobile.refresh(&first.refresh_token).await.unwrap();
    assert_eq!(pair(&second), pair(&again));

    // The search finds what is stored, so what it does not find is not stored.
    assert!(mobile.service.database().keeps(b"ada@example.com"));
    assert!(mobile.service.database().keeps(code.digest().as_bytes()));
    assert!(
        mobile
            .service
            .database().keeps(first.refresh_token.digest().as_bytes())
    );

    for secret in [
        &code,
        &first.access_token,
        &first.refresh_token,
        &second.access_token,
        &second.refresh_token,
    ] {
        let text = secret.reveal();
        assert!(!mobile.service.database().keeps(text.as_bytes()));
        assert!(!mobile.service.database().keeps(&URL_SAFE_NO_PAD.decode(text).unwrap()));
    }
    assert!(!mobile.service.database().keeps(VERIFIER.as_bytes()));
}

/// S16: a pair has no eight bytes in common with the one before.
#[tokio::test]
async fn a_pair_shares_nothing_with_the_token_that_it_succeeds() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    for (one, two) in [
        (&first.refresh_token, &second.refresh_token),
        (&first.access_token, &second.access_token),
        (&second.access_token, &second.refresh_token),
    ] {
        let mut parts = one.reveal().as_bytes().windows(8);
        let two = two.reveal();
        assert!(!parts.any(|part| two.as_bytes().windows(8).any(|other| other == part)));
    }
}

/// S18.
#[tokio::test]
async fn the_sealed_pair_is_erased_when_the_grace_ends() {
    let mobile = Mobile::new().await;
    let sealed = || {
        mobile
            .service
            .database().rows("refresh_token WHERE successor IS NOT NULL")
    };

    let first = mobile.sign_in().await;
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    assert_eq!(sealed(), 1);
    let third = mobile.refresh(&second.refresh_token).await.unwrap();
    assert_eq!(sealed(), 1, "the first was erased when the second was used");

    mobile.pass(29);
    mobile.erase_successors().await.unwrap();
    assert_eq!(sealed(), 1);
    mobile.pass(1);
    mobile.erase_successors().await.unwrap();
    assert_eq!(sealed(), 0);
    assert!(mobile.refresh(&third.refresh_token).await.is_ok());
}

/// S18: more than unlinked. Once the log is checkpointed, no byte of it is left on disk.
#[tokio::test]
async fn an_erased_pair_leaves_nothing_in_the_files() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    mobile.refresh(&first.refresh_token).await.unwrap();
    let select = "SELECT successor FROM refresh_token WHERE successor IS NOT NULL";
    let sealed: Vec<u8> = mobile.service.database().bytes(select);
    assert!(mobile.service.database().keeps(&sealed));

    mobile.pass(30);
    mobile.erase_successors().await.unwrap();
    for part in sealed.chunks_exact(8) {
        assert!(!mobile.service.database().keeps(part));
    }
    // A key is used for ten seconds.
    mobile.pass(10);
    mobile.erase_successors().await.unwrap();
    assert_eq!(mobile.service.database().rows(PAIR_KEYS), 0);
}

/// S18: when the 30 seconds are over, and also when the session ends.
#[tokio::test]
async fn the_sealed_pair_is_erased_when_the_session_ends() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    mobile.refresh(&first.refresh_token).await.unwrap();
    let session = mobile.list_sessions(Some(mobile.user.id), Default::default()).await.unwrap()[0].id;
    mobile.revoke_session(session).await.unwrap();
    assert_eq!(
        mobile
            .service
            .database().rows("refresh_token WHERE successor IS NOT NULL"),
        0
    );
}

/// The debug output of requests and answers, which a log could contain: no secret.
#[tokio::test]
async fn nothing_secret_is_printed() {
    let mobile = Mobile::new().await;
    let code = mobile.code().await;
    let request = TokenRequest::from(Exchange::of(&code));
    let asked = format!("{request:?}");
    let tokens = mobile.exchange_token(request).await.unwrap();
    let refresh = refresh(&tokens.refresh_token, "app", None);
    let printed = format!("{asked} {refresh:?} {tokens:?}");
    for secret in [
        code.reveal(),
        VERIFIER,
        tokens.access_token.reveal(),
        tokens.refresh_token.reveal(),
    ] {
        assert!(!printed.contains(secret), "{printed}");
    }
    assert!(printed.contains("Secret(..)"));
}
