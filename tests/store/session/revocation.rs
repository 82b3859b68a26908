//! The end of a session by one of its tokens (`app/revocation.rs`).

use super::*;
use invoicing::domain::audit::{Action, AuditEvent};
use invoicing::domain::list::Part;

impl Mobile {
    async fn revoke(&self, token: &Secret, client_id: &str) -> Result<(), Error> {
        let revoked = self.revoke_token(token, ClientId::new(client_id), asking());
        revoked.await.map(drop)
    }

    /// The audit events of ended sessions.
    async fn ended(&self) -> Vec<AuditEvent> {
        let events = self.list_audit_events(None, Part::default()).await.unwrap();
        let ended = events.into_iter().filter(|it| it.action == Action::EndSession);
        ended.collect()
    }
}

/// An app that sends no details of the device, and its address.
fn asking() -> Device {
    Device {
        client_address: Some([192, 0, 2, 1].into()),
        ..Device::default()
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
        another.revoke_token(token, ClientId::new("app"), asking()).await.unwrap();
        assert!(!mobile.is_alive(tokens).await);
        assert_invalid_grant(mobile.refresh(&tokens.refresh_token).await);
        mobile.revoke(token, "app").await.unwrap();
    }
    assert!(mobile.is_alive(&bystander).await);
}

/// A13, within the grace, whose pair disappears with the session.
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

/// A14: unknown, expired, and of an ended session.
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

/// T1: once for each session, whatever is presented afterwards, and also for a code or a token that was used
/// twice.
#[tokio::test]
async fn a_session_that_a_token_ends_is_told_in_the_audit() {
    let mobile = Mobile::new().await;
    let revoked = mobile.sign_in().await;
    for _ in 0..2 {
        mobile.revoke(&revoked.access_token, "app").await.unwrap();
    }
    let told = mobile.ended().await;
    let [told] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(told.actor, Some(mobile.user.id));
    assert_eq!(told.client_address.as_deref(), Some("192.0.2.1"));
    let spent = mobile.sign_in().await;
    mobile.refresh(&spent.refresh_token).await.unwrap();
    mobile.revoke(&spent.refresh_token, "other").await.unwrap_err();
    assert_eq!(mobile.ended().await.len(), 2);
    let spent = mobile.sign_in().await;
    mobile.refresh(&spent.refresh_token).await.unwrap();
    mobile.pass(31);
    mobile.refresh(&spent.refresh_token).await.unwrap_err();
    assert_eq!(mobile.ended().await.len(), 3);
    let code = mobile.code().await;
    mobile.exchange_token(Exchange::of(&code).into()).await.unwrap();
    for _ in 0..2 {
        mobile.exchange_token(Exchange::of(&code).into()).await.unwrap_err();
    }
    let told = mobile.ended().await;
    assert_eq!(told.len(), 4);
    assert!(told.iter().all(|it| it.actor == Some(mobile.user.id)), "{told:?}");
    let sessions: std::collections::HashSet<_> = told.iter().map(|it| it.subject).collect();
    assert_eq!(sessions.len(), 4);
}
