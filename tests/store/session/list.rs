//! `invoicing session list`: the details of each session.

use invoicing::domain::id::UserId;
use invoicing::domain::time::Clock;

use super::*;
use super::super::support::START;

#[tokio::test]
async fn a_session_says_whose_it_is_and_how_long_it_lives() {
    let mobile = Mobile::new().await;
    let mut request = Exchange::of(&mobile.code().await).install(Some("phone"));
    request.device.user_agent = Some("App/1.0".into());
    let tokens = mobile.exchange_token(request.into()).await.unwrap();

    let [session] = &mobile.list_sessions(Some(mobile.user.id), Default::default()).await.unwrap()[..] else {
        panic!("one session")
    };
    let signed_in = mobile
        .authenticate_access_token(&tokens.access_token)
        .await
        .unwrap();
    assert_eq!(
        (session.id, session.user_id),
        (signed_in.session_id, mobile.user.id)
    );
    assert_eq!(session.client_id, ClientId::new("app"));
    assert_eq!(session.install_id.as_deref(), Some("phone"));
    assert_eq!(session.user_agent.as_deref(), Some("App/1.0"));
    assert_eq!((session.created_at, session.last_used_at), (START, START));
    assert_eq!(
        session.expires_at,
        START.after(Duration::from_secs(30 * 24 * 3600))
    );
}

/// A refresh moves the end, and the app may have been updated since; an app that sends no details keeps
/// those that it sent before.
#[tokio::test]
async fn a_refresh_moves_the_end_and_keeps_what_the_app_says_of_itself() {
    let mobile = Mobile::new().await;
    let mut tokens = mobile.sign_in().await;
    for (says, known) in [(Some("App/2.0"), Some("App/2.0")), (None, Some("App/2.0"))] {
        mobile.pass(3600);
        let mut request = refresh(&tokens.refresh_token, "app", Some("phone"));
        if let TokenRequest::RefreshToken { device, .. } = &mut request {
            device.user_agent = says.map(str::to_owned);
        }
        tokens = mobile.exchange_token(request).await.unwrap();
        let session = mobile
            .list_sessions(Some(mobile.user.id), Default::default())
            .await
            .unwrap()
            .remove(0);
        assert_eq!(session.user_agent.as_deref(), known);
        let now = mobile.service.clock.now();
        assert_eq!(
            session.expires_at,
            now.after(Duration::from_secs(30 * 24 * 3600))
        );
        assert_eq!(session.last_used_at, now);
    }
}

#[tokio::test]
async fn sessions_are_newest_first_and_only_those_that_are_alive() {
    let mobile = Mobile::new().await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        let tokens = mobile.sign_in().await;
        ids.push(
            mobile
                .authenticate_access_token(&tokens.access_token)
                .await
                .unwrap()
                .session_id,
        );
    }
    mobile.revoke_session(ids.remove(1)).await.unwrap();
    ids.reverse();
    let listed = async || {
        let sessions = mobile.list_sessions(Some(mobile.user.id), Default::default()).await.unwrap();
        sessions
            .iter()
            .map(|session| session.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(listed().await, ids);
    mobile.pass(30 * 24 * 3600);
    assert_eq!(listed().await, []);
}

/// The last use is kept to the minute, and requests do not wait for it: it is noted, and recorded later.
#[tokio::test]
async fn the_last_use_is_recorded_to_the_minute() {
    let mobile = Mobile::new().await;
    let tokens = mobile.sign_in().await;
    let last_used_at = async || mobile.list_sessions(Some(mobile.user.id), Default::default()).await.unwrap()[0].last_used_at;
    mobile.pass(600);
    assert!(mobile.is_alive(&tokens).await);
    assert_eq!(last_used_at().await, START);
    mobile.record_uses().await.unwrap();
    let used = START.after(Duration::from_secs(600)).to_the_minute();
    assert_eq!(last_used_at().await, used);
}

#[tokio::test]
async fn an_unknown_user_has_no_list() {
    let mobile = Mobile::new().await;
    let result = mobile.list_sessions(Some(UserId(uuid::Uuid::nil())), Default::default()).await;
    assert!(matches!(result, Err(Error::Missing { noun: "user", .. })));
}
