//! The end of a session by one of its tokens (`app/revocation.rs`).

use super::*;

impl Mobile {
    async fn revoke(&self, token: &Secret, client_id: &str) -> Result<(), Error> {
        self.revoke_token(token, ClientId::new(client_id)).await.map(drop)
    }
}

/// A13, in every process.
#[tokio::test]
async fn either_token_ends_its_session_and_no_other() {
    let mobile = Mobile::new().await;
    let bystander = mobile.sign_in().await;
    let (first, second) = (mobile.sign_in().await, mobile.sign_in().await);
    for (tokens, token) in [(&first, &first.access_token), (&second, &second.refresh_token)] {
        assert!(mobile.is_alive(tokens).await);
        let another = mobile.service.another().await;
        another.revoke_token(token, ClientId::new("app")).await.unwrap();
        assert!(!mobile.is_alive(tokens).await);
        assert_invalid_grant(mobile.refresh(&tokens.refresh_token).await);
        mobile.revoke(token, "app").await.unwrap();
    }
    assert!(mobile.is_alive(&bystander).await);
}

/// A13, within the grace, whose pair is gone with the session.
#[tokio::test]
async fn a_spent_token_ends_the_session_of_its_client() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    mobile.revoke(&first.refresh_token, "app").await.unwrap();
    assert!(!mobile.is_alive(&second).await);
    assert_invalid_grant(mobile.refresh(&first.refresh_token).await);
}

/// A14.
#[tokio::test]
async fn a_token_of_another_client_stays_good_unless_it_is_spent() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    for token in [&first.access_token, &first.refresh_token] {
        let refused = mobile.revoke(token, "other").await;
        assert!(matches!(refused, Err(Error::InvalidGrant)), "{refused:?}");
        let refused = mobile.revoke(token, "nobody").await;
        assert!(matches!(refused, Err(Error::InvalidClient)), "{refused:?}");
    }
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    assert!(mobile.is_alive(&second).await);
    let refused = mobile.revoke(&first.refresh_token, "other").await;
    assert!(matches!(refused, Err(Error::GrantReused(_))), "{refused:?}");
    assert!(!mobile.is_alive(&second).await);
}

/// A14: unknown, expired, and of a session that is over.
#[tokio::test]
async fn a_token_that_is_worth_nothing_is_no_error() {
    let mobile = Mobile::new().await;
    let tokens = mobile.sign_in().await;
    mobile.revoke(&Secret::base64url(), "app").await.unwrap();
    mobile.pass(3600);
    mobile.revoke(&tokens.access_token, "other").await.unwrap();
    let renewed = mobile.refresh(&tokens.refresh_token).await.unwrap();
    assert!(mobile.is_alive(&renewed).await);
    mobile.pass(30 * 24 * 3600);
    mobile.revoke(&renewed.refresh_token, "other").await.unwrap();
}
