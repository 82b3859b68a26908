//! "Removing a member, a user or a session takes effect at once." (Members: `member.rs`.)

use invoicing::domain::audit::Action;
use invoicing::domain::id::SessionId;
use invoicing::domain::list::Part;

use super::*;

/// S19, of a session, in every process.
#[tokio::test]
async fn a_revoked_session_is_over_at_once() {
    let mobile = Mobile::new().await;
    let (tokens, bystander) = (mobile.sign_in().await, mobile.sign_in().await);
    let session = mobile
        .authenticate_access_token(&tokens.access_token)
        .await
        .unwrap()
        .session_id;
    mobile
        .service
        .another()
        .await
        .revoke_session(session)
        .await
        .unwrap();
    assert!(!mobile.is_alive(&tokens).await);
    assert_invalid_grant(mobile.refresh(&tokens.refresh_token).await);
    assert!(mobile.is_alive(&bystander).await);
}

/// Revoking is for ever: within the grace, too, and when it is done twice.
#[tokio::test]
async fn a_revoked_session_has_no_grace() {
    let mobile = Mobile::new().await;
    let first = mobile.sign_in().await;
    let session = mobile
        .authenticate_access_token(&first.access_token)
        .await
        .unwrap()
        .session_id;
    mobile.refresh(&first.refresh_token).await.unwrap();
    mobile.revoke_session(session).await.unwrap();
    mobile.revoke_session(session).await.unwrap();
    assert_invalid_grant(mobile.refresh(&first.refresh_token).await);
}

#[tokio::test]
async fn a_session_that_the_operator_ends_is_told_of_once() {
    let mobile = Mobile::new().await;
    let tokens = mobile.sign_in().await;
    let found = mobile.authenticate_access_token(&tokens.access_token).await;
    let session = found.unwrap().session_id;
    mobile.revoke_session(session).await.unwrap();
    mobile.revoke_session(session).await.unwrap();
    let events = mobile.service.app.list_audit_events(None, Part::default());
    let events = events.await.unwrap();
    let told = events.iter().filter(|it| it.action == Action::EndSession);
    let told: Vec<_> = told.map(|it| (it.actor, it.subject)).collect();
    assert_eq!(told, [(None, Some(session.0))]);
}

#[tokio::test]
async fn an_unknown_session_cannot_be_revoked() {
    let mobile = Mobile::new().await;
    let result = mobile.revoke_session(SessionId(uuid::Uuid::nil())).await;
    assert!(matches!(
        result,
        Err(Error::Missing {
            noun: "session",
            ..
        })
    ));
}

/// S19, of a user: tokens, codes and memberships are worth nothing.
#[tokio::test]
async fn a_removed_user_is_signed_out_everywhere() {
    let mobile = Mobile::new().await;
    let sessions = [mobile.sign_in().await, mobile.sign_in().await];
    let code = mobile.code().await;
    mobile.delete_user(mobile.user.id).await.unwrap();
    for tokens in &sessions {
        assert!(!mobile.is_alive(tokens).await);
        assert_invalid_grant(mobile.refresh(&tokens.refresh_token).await);
    }
    assert_invalid_grant(mobile.exchange_token(Exchange::of(&code).into()).await);
    let issued = mobile.issue().await;
    assert!(matches!(issued, Err(Error::Missing { noun: "user", .. })));
}
