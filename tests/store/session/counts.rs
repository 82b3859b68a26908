//! The metrics of tokens.

use super::*;

#[tokio::test]
async fn what_becomes_of_codes_and_tokens_is_counted() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let counts = &mobile.counts().tokens;
    assert_eq!((counts.issued.get(), counts.refreshed.get()), (1, 0));
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    mobile.refresh(&first.refresh_token).await.unwrap();
    assert_eq!((counts.refreshed.get(), counts.repeated.get()), (1, 1));
    mobile.refresh(&second.refresh_token).await.unwrap();
    assert_reused(mobile.refresh(&first.refresh_token).await);
    assert_invalid_grant(mobile.refresh(&Secret::from_text("unknown")).await);
    assert_eq!((counts.reused.get(), counts.refused.get()), (1, 1));
    assert_eq!((counts.issued.get(), counts.refreshed.get()), (1, 2));
}

#[tokio::test]
async fn rows_that_have_expired_are_counted_when_they_are_deleted() {
    let mobile = Mobile::new().await;
    mobile.code().await;
    mobile.delete_expired().await.unwrap();
    assert_eq!(mobile.counts().expired_rows.get(), 0);
    mobile.pass(60);
    mobile.delete_expired().await.unwrap();
    assert_eq!(mobile.counts().expired_rows.get(), 1);
}
