//! Ending all sessions at once, as the operator (`app/session_end.rs`).

use invoicing::domain::audit::Action;
use invoicing::domain::id::UserId;
use invoicing::domain::session::EndedSessions;

use super::*;
use super::super::people::support::{EMAIL, PASSWORD, browser, look_up, sign_in, with_ada};

#[tokio::test]
async fn all_sessions_of_a_user_end_of_browsers_too_and_are_told_of_once() {
    let (service, ada) = with_ada().await;
    let uris = [REDIRECT_URI.to_owned()];
    service.app.create_oauth_client("app", "An app", &uris).await.unwrap();
    let mobile = Mobile { service, user: ada.user };
    let cookies = sign_in(&mobile.service, EMAIL, PASSWORD, browser("192.0.2.2")).await.unwrap();
    let tokens = [mobile.sign_in().await, mobile.sign_in().await];
    let code = mobile.code().await;
    let bo = mobile.create_user("bo@example.com", "Bo").await.unwrap();

    let revoke = async |id: UserId| mobile.revoke_sessions_of_user(id).await.unwrap();
    assert_eq!(revoke(bo.id).await, EndedSessions { apps: 0, browsers: 0 });
    let ended = revoke(mobile.user.id).await;
    assert_eq!(ended, EndedSessions { apps: 2, browsers: 2 });
    for tokens in &tokens {
        assert!(!mobile.is_alive(tokens).await);
        assert_invalid_grant(mobile.refresh(&tokens.refresh_token).await);
    }
    assert_invalid_grant(mobile.exchange_token(Exchange::of(&code).into()).await);
    let over = look_up(&mobile.service, &cookies).await;
    assert!(matches!(over, Err(Error::InvalidToken)), "{over:?}");

    assert_eq!(revoke(mobile.user.id).await, EndedSessions { apps: 0, browsers: 0 });
    let told = mobile.told().await;
    assert_eq!(told, [(Action::EndSession, None), (Action::EndBrowserSession, None)]);
    // A user who can sign in may do so again.
    sign_in(&mobile.service, EMAIL, PASSWORD, browser("192.0.2.2")).await.unwrap();
    let again = mobile.sign_in().await;
    assert!(mobile.is_alive(&again).await);
}

#[tokio::test]
async fn all_sessions_of_an_app_end_and_those_of_others_go_on() {
    let mobile = Mobile::new().await;
    let tokens = [mobile.sign_in().await, mobile.sign_in().await];
    let code = mobile.code().await;
    let other = ClientId::new("other");
    assert_eq!(mobile.revoke_sessions_of_client(&other).await.unwrap(), 0);
    assert!(mobile.is_alive(&tokens[0]).await);
    let app = ClientId::new("app");
    assert_eq!(mobile.revoke_sessions_of_client(&app).await.unwrap(), 2);
    for tokens in &tokens {
        assert!(!mobile.is_alive(tokens).await);
        assert_invalid_grant(mobile.refresh(&tokens.refresh_token).await);
    }
    assert_invalid_grant(mobile.exchange_token(Exchange::of(&code).into()).await);
    assert_eq!(mobile.told().await, [(Action::EndSession, Some("app".to_owned()))]);
    let again = mobile.sign_in().await;
    assert!(mobile.is_alive(&again).await);
}

#[tokio::test]
async fn more_sessions_than_one_step_takes_all_end_and_those_that_have_expired_by_a_wrong_clock() {
    let mobile = Mobile::new().await;
    mobile.sign_in().await;
    mobile.many_sessions(1_200);
    let expired = "UPDATE session SET expires_at = created_at WHERE id IN (SELECT id FROM session LIMIT 100)";
    mobile.service.database().change(expired);
    let ended = mobile.revoke_sessions_of_user(mobile.user.id).await.unwrap();
    assert_eq!(ended, EndedSessions { apps: 1_201, browsers: 0 });
    let unended = mobile.service.database().rows("session WHERE ended_at IS NULL");
    assert_eq!(unended, 0);
    assert_eq!(mobile.told().await.len(), 1);
}

#[tokio::test]
async fn sessions_of_nobody_cannot_be_revoked() {
    let mobile = Mobile::new().await;
    let nobody = mobile.revoke_sessions_of_user(UserId(uuid::Uuid::nil())).await;
    assert!(matches!(nobody, Err(Error::Missing { noun: "user", .. })), "{nobody:?}");
    let nobody = mobile.revoke_sessions_of_client(&ClientId::new("nobody")).await;
    assert!(matches!(nobody, Err(Error::Missing { noun: "OAuth client", .. })), "{nobody:?}");
}
