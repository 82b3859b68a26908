//! "Removing a member, a user or a session takes effect at once." (Members: `member.rs`.)

use invoicing::domain::audit::Action;
use invoicing::domain::id::SessionId;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;

use super::super::engine::RANDOM_ID;
use super::super::signed_in::join;
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

/// V5 and P15: a thief who has signed in again and again keeps nobody from ending all of it, which is one change.
#[tokio::test]
async fn any_number_of_sessions_of_a_user_ends_at_once() {
    let mobile = Mobile::new().await;
    let team = mobile.service.team().await;
    let person = join(&mobile, team, "bo@example.com", Role::Viewer).await;
    mobile.sign_in().await;
    let database = mobile.service.database();
    let columns = "client_id, created_at, last_used_at, expires_at";
    for _ in 0..16 {
        database.change(&format!(
            "INSERT INTO session (id, user_id, {columns}) \
             SELECT {RANDOM_ID}, (SELECT id FROM \"user\" WHERE email = 'bo@example.com'), {columns} FROM session"
        ));
    }
    let alive = "session WHERE ended_at IS NULL";
    assert_eq!(database.rows(alive), 1 << 16);
    mobile.end_app_sessions(person).await.unwrap();
    // That of somebody else.
    assert_eq!(database.rows(alive), 1);
}
