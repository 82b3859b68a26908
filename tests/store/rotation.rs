//! API keys that are replaced by another one.

use std::pin::pin;
use std::time::Duration;

use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::{ApiKey, KEYS_PER_TEAM, RotatedApiKey, Scope};
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::catalog::Mode;
use invoicing::domain::id::ApiKeyId;
use invoicing::domain::list::Part;
use invoicing::domain::secret::Secret;
use uuid::Uuid;

use super::support::{START, Service, keys, live_key};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

async fn made(service: &Service, expires_in: Option<Duration>) -> (ApiKey, Secret) {
    let (mode, scope) = (Mode::Test, Scope::ReadOnly);
    let team = service.team().await;
    let create = service
        .app
        .create_api_key(&Actor::Operator, team, mode, scope, Some("Shop"), expires_in);
    create.await.unwrap()
}

async fn rotate(app: &App, id: ApiKeyId, overlap: Option<Duration>) -> Result<RotatedApiKey, Error> {
    app.rotate_api_key(&Actor::Operator, id, overlap).await
}

async fn works(service: &Service, secret: &Secret) -> bool {
    service.app.authenticate_api_key(secret.reveal()).await.is_ok()
}

fn why<T: std::fmt::Debug>(refused: Result<T, Error>) -> String {
    match refused {
        Err(Error::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn another_key_of_the_same_kind_takes_the_place_and_both_work_for_the_overlap() {
    let service = Service::new().await;
    let (old, secret) = made(&service, Some(2 * HOUR)).await;
    service.clock.advance(MINUTE);
    let rotated = rotate(&service.app, old.id, Some(HOUR)).await.unwrap();
    let new = &rotated.new;
    assert_eq!(
        (new.team_id, new.mode, new.scope, &new.name),
        (old.team_id, old.mode, old.scope, &old.name)
    );
    assert_ne!(new.id, old.id);
    // It lives as long as the other one was made to live.
    let now = START.after(MINUTE);
    assert_eq!((new.created_at, new.expires_at), (now, Some(now.after(2 * HOUR))));
    assert_eq!(rotated.old.expires_at, Some(now.after(HOUR)));
    assert_eq!(rotated.old.replaced_by, Some(new.id));
    let listed = service.app.list_api_keys(Some(old.team_id), Part::default()).await;
    assert_eq!(keys(listed), [rotated.old.clone(), rotated.new.clone()]);

    service.clock.advance(HOUR - Duration::from_millis(1));
    assert!(works(&service, &secret).await && works(&service, &rotated.secret).await);
    service.clock.advance(Duration::from_millis(1));
    assert!(!works(&service, &secret).await && works(&service, &rotated.secret).await);
}

#[tokio::test]
async fn an_overlap_lets_no_key_live_longer_than_it_would_have() {
    let service = Service::new().await;
    let (old, _) = made(&service, Some(HOUR)).await;
    let rotated = rotate(&service.app, old.id, Some(2 * HOUR)).await.unwrap();
    assert_eq!(rotated.old.expires_at, old.expires_at);
    let (endless, _) = made(&service, None).await;
    let rotated = rotate(&service.app, endless.id, Some(HOUR)).await.unwrap();
    assert_eq!(rotated.new.expires_at, None);
    let (endless, _) = made(&service, None).await;
    let refused = rotate(&service.app, endless.id, Some(Duration::MAX)).await;
    assert!(why(refused).contains("after the year 9999"));
}

/// A server with the key in constant use, so that it is always leased, and another process that rotates it.
async fn rotated_elsewhere_in_constant_use(overlap: Option<Duration>) -> (Service, Secret) {
    let service = Service::new().await;
    let (old, secret) = made(&service, None).await;
    let another = service.another().await;
    assert!(works(&service, &secret).await);
    let mut rotated = pin!(rotate(&another, old.id, overlap));
    let mut accepted = 0;
    loop {
        let used = async {
            tokio::task::yield_now().await;
            works(&service, &secret).await
        };
        tokio::select! {
            biased;
            rotated = &mut rotated => break drop(rotated.unwrap()),
            used = used => accepted += usize::from(used),
        }
    }
    assert!(accepted > 0);
    (service, secret)
}

#[tokio::test]
async fn without_an_overlap_no_server_takes_the_old_key_once_rotating_returns() {
    let (service, secret) = rotated_elsewhere_in_constant_use(None).await;
    assert!(!works(&service, &secret).await);
}

#[tokio::test]
async fn an_end_that_is_brought_forward_counts_for_servers_that_know_the_key() {
    let (service, secret) = rotated_elsewhere_in_constant_use(Some(MINUTE)).await;
    assert!(works(&service, &secret).await);
    service.clock.advance(MINUTE);
    assert!(!works(&service, &secret).await);
}

#[tokio::test]
async fn only_a_key_that_is_valid_is_rotated_and_once() {
    let service = Service::new().await;
    let app = &service.app;
    let (revoked, _) = made(&service, None).await;
    app.revoke_api_key(&Actor::Operator, revoked.id).await.unwrap();
    assert!(why(rotate(app, revoked.id, None).await).contains("is revoked"));

    let (expired, _) = made(&service, Some(MINUTE)).await;
    service.clock.advance(MINUTE);
    assert!(why(rotate(app, expired.id, None).await).contains("has expired"));

    let (old, _) = made(&service, None).await;
    let first = rotate(app, old.id, Some(HOUR)).await.unwrap();
    let refused = why(rotate(app, old.id, Some(HOUR)).await);
    assert!(refused.contains(&first.new.id.to_string()), "{refused}");
    // The replacement is a key like any other.
    rotate(app, first.new.id, None).await.unwrap();

    let nothing = rotate(app, Uuid::nil().into(), None).await;
    assert!(matches!(nothing, Err(Error::Missing { .. })), "{nothing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_rotate_a_key_at_once_one_does() {
    let service = Service::new().await;
    let another = service.another().await;
    for _ in 0..5 {
        let (old, _) = made(&service, None).await;
        // Ids of one millisecond are in order only within one process.
        service.clock.advance(Duration::from_millis(1));
        let both = tokio::join!(
            rotate(&service.app, old.id, Some(HOUR)),
            rotate(&another, old.id, None)
        );
        let ((Ok(done), Err(refused)) | (Err(refused), Ok(done))) = both else {
            panic!("{both:?}");
        };
        assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
        let listed = service.app.list_api_keys(Some(old.team_id), Part::default()).await;
        assert_eq!(keys(listed), [done.old, done.new]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_rotated_and_revoked_at_once_is_revoked() {
    let service = Service::new().await;
    let another = service.another().await;
    for _ in 0..5 {
        let (old, secret) = made(&service, None).await;
        let (rotated, revoked) = tokio::join!(
            rotate(&service.app, old.id, Some(HOUR)),
            another.revoke_api_key(&Actor::Operator, old.id)
        );
        revoked.unwrap();
        assert!(!works(&service, &secret).await);
        let listed = service.app.list_api_keys(Some(old.team_id), Part::default()).await;
        let listed = keys(listed);
        assert_eq!(listed[0].revoked_at, Some(START));
        match rotated {
            Ok(rotated) => {
                assert_eq!(listed[1..], [rotated.new]);
                assert!(works(&service, &rotated.secret).await);
            }
            refused => {
                assert!(why(refused).contains("is revoked"));
                assert_eq!(listed.len(), 1);
            }
        }
    }
}

#[tokio::test]
async fn a_team_with_as_many_keys_as_it_may_have_rotates_without_an_overlap() {
    let service = Service::new().await;
    let team = service.team().await;
    let (old, _) = live_key(&service.app, team).await.unwrap();
    for _ in 1..KEYS_PER_TEAM {
        live_key(&service.app, team).await.unwrap();
    }
    let refused = why(rotate(&service.app, old.id, Some(HOUR)).await);
    assert!(refused.contains("may have no more"), "{refused}");
    // It is unchanged.
    assert_eq!(service.app.get_api_key(old.id).await.unwrap().key, old);
    rotate(&service.app, old.id, None).await.unwrap();
}

/// Without that, an owner could make so many short-lived keys that the team could not be deleted: all that may still be in
/// use are revoked in one transaction.
#[tokio::test]
async fn a_key_counts_until_ten_minutes_after_it_expired() {
    let service = Service::new().await;
    let team = service.team().await;
    let second = Some(Duration::from_secs(1));
    let brief = async || {
        let (by, mode, scope) = (Actor::Operator, Mode::Live, Scope::ReadOnly);
        service.app.create_api_key(&by, team, mode, scope, None, second).await
    };
    for _ in 0..KEYS_PER_TEAM {
        brief().await.unwrap();
    }
    service.clock.advance(Duration::from_secs(600));
    let refused = why(brief().await);
    assert!(refused.contains("may have no more"), "{refused}");
    service.clock.advance(Duration::from_secs(1));
    brief().await.unwrap();
}

#[tokio::test]
async fn a_rotation_is_told_of_with_both_keys_and_no_secret() {
    let service = Service::new().await;
    let (old, _) = made(&service, None).await;
    let rotated = rotate(&service.app, old.id, None).await.unwrap();
    let events = service.app.list_audit_events(Some(old.team_id), Part::default()).await;
    let events = events.unwrap();
    let (event, before) = events.split_first().unwrap();
    assert_eq!(event.action, Action::RotateApiKey);
    assert_eq!(event.subject, Some(old.id.0));
    assert_eq!(event.detail, Some(rotated.new.id.to_string()));
    let before: Vec<_> = before.iter().map(|it| it.action).collect();
    assert_eq!(before, [Action::CreateApiKey, Action::CreateTeam]);
    assert!(!format!("{events:?}").contains(rotated.secret.reveal()));
}
