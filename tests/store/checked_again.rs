//! A credential is checked again before what its request waited for is sent.

use invoicing::domain::Error;
use invoicing::domain::audit::Actor;

use super::support::{Service, live_key};

#[tokio::test]
async fn a_key_that_is_checked_again_is_not_used_and_refused_once_it_has_ended() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let (key, _) = live_key(app, team).await.unwrap();
    let last_used = async || {
        app.record_uses().await.unwrap();
        app.get_api_key(key.id).await.unwrap().key.last_used_at
    };
    let before = last_used().await;
    service.clock.advance(std::time::Duration::from_secs(120));
    app.require_api_key(&key).await.unwrap();
    assert_eq!(last_used().await, before);
    // By another process: nothing that this one remembers of the key counts.
    let other = service.another().await;
    other.revoke_api_key(&Actor::Operator, key.id).await.unwrap();
    let refused = app.require_api_key(&key).await;
    assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
}
