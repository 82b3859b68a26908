//! Access tokens.

use super::*;

/// S5.
#[tokio::test]
async fn an_access_token_works_for_an_hour() {
    let mobile = Mobile::new().await;
    let tokens = mobile.sign_in().await;
    mobile.pass(3599);
    assert!(mobile.is_alive(&tokens).await);
    mobile.pass(1);
    assert!(!mobile.is_alive(&tokens).await);
}

/// S6: the session goes on without it.
#[tokio::test]
async fn an_expired_access_token_does_not_end_its_session() {
    let mobile = Mobile::new().await;
    let tokens = mobile.sign_in().await;
    mobile.pass(7200);
    assert!(!mobile.is_alive(&tokens).await);
    assert!(mobile.refresh(&tokens.refresh_token).await.is_ok());
}

/// E8.
#[tokio::test]
async fn an_unknown_or_altered_token_is_refused() {
    let mobile = Mobile::new().await;
    let tokens = mobile.sign_in().await;
    let text = tokens.access_token.reveal();
    let swapped = if text.ends_with('A') { "B" } else { "A" };
    let altered = format!("{}{swapped}", &text[..text.len() - 1]);
    for wrong in [
        "",
        " ",
        &altered,
        &format!("{text} "),
        &text.to_lowercase(),
        &"x".repeat(100_000),
    ] {
        let result = mobile
            .authenticate_access_token(&Secret::from_text(wrong))
            .await;
        assert!(matches!(result, Err(Error::InvalidToken)), "{result:?}");
    }
}

/// A token's session is identified by its id, which rate limits and logs can use.
#[tokio::test]
async fn tokens_of_one_session_name_the_same_session() {
    let mobile = Mobile::new().await;
    let (first, other) = (mobile.sign_in().await, mobile.sign_in().await);
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    let session = async |tokens: &TokenSet| {
        let signed_in = mobile.authenticate_access_token(&tokens.access_token).await;
        signed_in.unwrap().session_id
    };
    assert_eq!(session(&first).await, session(&second).await);
    assert_ne!(session(&first).await, session(&other).await);
}
