//! Refresh tokens, as long as no spent one is presented.

use super::*;

const DAY: u64 = 24 * 3600;

/// S7 and S8.
#[tokio::test]
async fn each_refresh_answers_a_new_pair() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    let third = mobile.refresh(&second.refresh_token).await.unwrap();
    let mut all: Vec<&str> = [&first, &second, &third]
        .into_iter()
        .flat_map(|tokens| [tokens.access_token.reveal(), tokens.refresh_token.reveal()])
        .collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 6);
    assert_eq!((third.expires_in, third.user_id), (3600, mobile.user.id));
}

/// S7: 30 days without use.
#[tokio::test]
async fn a_session_idle_for_30_days_is_over() {
    for (seconds, works) in [(30 * DAY - 1, true), (30 * DAY, false)] {
        let mobile = Mobile::new().await;
        let tokens = mobile.sign_in().await;
        mobile.pass(seconds);
        let result = mobile.refresh(&tokens.refresh_token).await;
        assert_eq!(result.is_ok(), works, "after {seconds} s");
    }
}

/// S7: 90 days in total, whatever the refreshes; the last access token ends with the session.
#[tokio::test]
async fn a_session_ends_after_90_days() {
    let mobile = Mobile::new().await;
    let mut tokens = mobile.sign_in().await;
    for _ in 0..3 {
        mobile.pass(29 * DAY);
        tokens = mobile.refresh(&tokens.refresh_token).await.unwrap();
    }
    mobile.pass(3 * DAY - 60);
    tokens = mobile.refresh(&tokens.refresh_token).await.unwrap();
    assert_eq!(tokens.expires_in, 60);
    mobile.pass(59);
    assert!(mobile.is_alive(&tokens).await);
    mobile.pass(1);
    assert!(!mobile.is_alive(&tokens).await);
    assert_invalid_grant(mobile.refresh(&tokens.refresh_token).await);
}

/// S12 and S11, for a token.
#[tokio::test]
async fn a_refused_refresh_spends_nothing() {
    let mobile = Mobile::new().await;
    let tokens = mobile.sign_in().await;
    let token = &tokens.refresh_token;
    for wrong in [
        refresh(token, "app", Some("tablet")),
        refresh(token, "app", Some("")),
        refresh(token, "app", None),
        refresh(token, "other", Some("phone")),
    ] {
        assert_invalid_grant(mobile.exchange_token(wrong).await);
    }
    assert_invalid_client(
        mobile
            .exchange_token(refresh(token, "nobody", Some("phone")))
            .await,
    );
    assert!(mobile.is_alive(&tokens).await);
    assert!(mobile.refresh(token).await.is_ok());
}

/// S12, "if the session began with one": a session that began without an install id is not bound to
/// one.
#[tokio::test]
async fn a_session_without_an_install_id_refreshes_with_any() {
    let mobile = Mobile::new().await;
    let request = Exchange::of(&mobile.code().await);
    let first = mobile.exchange_token(request.into()).await.unwrap();
    let second = mobile.exchange_token(refresh(&first.refresh_token, "app", Some("phone")));
    let second = second.await.unwrap();
    let third = mobile.exchange_token(refresh(&second.refresh_token, "app", None));
    assert!(third.await.is_ok());
}

/// S6.
#[tokio::test]
async fn an_access_token_survives_refreshes() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    mobile.pass(1000);
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    let third = mobile.refresh(&second.refresh_token).await.unwrap();
    mobile.pass(2599);
    for tokens in [&first, &second, &third] {
        assert!(mobile.is_alive(tokens).await);
    }
    mobile.pass(1);
    assert!(!mobile.is_alive(&first).await);
    assert!(mobile.is_alive(&third).await);
}

/// All store processes follow the same rules: a session continues through another process on the same
/// database.
#[tokio::test]
async fn a_session_goes_on_through_another_process() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let another = mobile.service.another().await;
    let second = another.exchange_token(refresh(&first.refresh_token, "app", Some("phone")));
    let second = second.await.unwrap();
    assert!(mobile.is_alive(&second).await);
    let again = mobile.refresh(&first.refresh_token).await.unwrap();
    assert_eq!(pair(&again), pair(&second));
}
