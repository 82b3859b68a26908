//! API keys: creation, use, expiry, revocation, and when they were last used.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use openapi_dropshot_runtime::json;
use invoicing::domain::audit::Actor;
use invoicing::domain::catalog::Mode;
use invoicing::domain::api_key::{ApiKey, Scope};
use invoicing::domain::holder::Holder;
use invoicing::domain::id::{ApiKeyId, TeamId};
use invoicing::domain::idempotency::IdempotentRequest;
use invoicing::domain::author::Caller as _;
use invoicing::domain::product::{ProductChanges, StatusFilter};
use invoicing::domain::secret::Secret;
use invoicing::store::{Sql, api_key};
use invoicing::domain::time::{Clock, ManualClock, Timestamp};
use invoicing::app::App;
use invoicing::domain::Error;
use uuid::Uuid;

use super::support::{START, Service, keys, live_key, plain, with_sku};

const MINUTE: Duration = Duration::from_secs(60);

/// A key for the live catalog of a new team, and its secret.
async fn new_key(service: &Service) -> (ApiKey, Secret) {
    live_key(&service.app, service.team().await).await.unwrap()
}

fn is_refused<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::InvalidToken))
}

#[tokio::test]
async fn a_key_is_recognised_with_its_team_mode_scope_and_name() {
    let service = Service::new().await;
    let team = service.team().await;
    let (key, secret) = service
        .app
        .create_api_key(&Actor::Operator, team, Mode::Test, Scope::ReadOnly, Some("Shop"), None)
        .await
        .unwrap();
    assert_eq!(
        (key.team_id, key.mode, key.scope),
        (team, Mode::Test, Scope::ReadOnly)
    );
    assert_eq!(key.name.as_deref(), Some("Shop"));
    assert_eq!(
        service
            .app
            .authenticate_api_key(secret.reveal())
            .await
            .unwrap(),
        key
    );
}

#[tokio::test]
async fn a_key_that_was_never_made_is_refused_well_formed_or_not() {
    let service = Service::new().await;
    let elsewhere = Service::new().await;
    let (_, foreign) = new_key(&elsewhere).await;
    for text in ["", "inv_live_", "x", "\0", foreign.reveal()] {
        let result = service.app.authenticate_api_key(text).await;
        assert!(is_refused(&result), "{text:?}: {result:?}");
    }
}

#[tokio::test]
async fn a_key_is_valid_until_the_millisecond_before_it_expires() {
    let service = Service::new().await;
    let team = service.team().await;
    let (key, secret) = service
        .app
        .create_api_key(&Actor::Operator, team, Mode::Live, Scope::ReadWrite, None, Some(MINUTE))
        .await
        .unwrap();
    assert_eq!(key.expires_at, Some(START.after(MINUTE)));
    service.clock.advance(MINUTE - Duration::from_millis(1));
    assert!(
        service
            .app
            .authenticate_api_key(secret.reveal())
            .await
            .is_ok()
    );
    service.clock.advance(Duration::from_millis(1));
    assert!(is_refused(
        &service.app.authenticate_api_key(secret.reveal()).await
    ));
}

/// A clock that advances by a second whenever it is read.
struct Hasty(ManualClock);

impl Clock for Hasty {
    fn now(&self) -> Timestamp {
        self.0.advance(Duration::from_secs(1));
        self.0.now()
    }
}

#[tokio::test]
async fn a_key_expires_after_its_time_to_the_millisecond_however_long_making_it_takes() {
    let service = Service::new().await;
    let team = service.team().await;
    let clock = Arc::new(Hasty(ManualClock::new(START)));
    let app = App::new(service.store.clone(), clock, "https://links.example");
    let (key, _) = app
        .await
        .unwrap()
        .create_api_key(&Actor::Operator, team, Mode::Live, Scope::ReadOnly, None, Some(MINUTE))
        .await
        .unwrap();
    assert_eq!(key.expires_at, Some(key.created_at.after(MINUTE)));
}

/// C11: a change may wait for seconds, for a row or for the one writer.
#[tokio::test]
async fn a_key_that_expires_while_its_change_waits_changes_nothing() {
    let service = Service::new().await;
    let team = service.team().await;
    let expires_in = Some(Duration::from_millis(1_500));
    let made = service.app.create_api_key(
        &Actor::Operator,
        team,
        Mode::Live,
        Scope::ReadWrite,
        None,
        expires_in,
    );
    let (key, _) = made.await.unwrap();
    let product = service.app.create_product(&key, plain("A"), None).await.unwrap().value;
    // The key is valid when the change is requested, and has ended by the time that it is checked.
    let hasty = async || {
        let clock = Arc::new(Hasty(ManualClock::new(START)));
        let app = App::new(service.store.clone(), clock, "https://links.example");
        app.await.unwrap()
    };
    let created = hasty().await.create_product(&key, plain("B"), None).await;
    assert!(matches!(created, Err(Error::InvalidToken)), "{created:?}");
    let renamed = ProductChanges {
        name: Some("C".into()),
        ..ProductChanges::default()
    };
    let updated = hasty().await.update_product(&key, product.id, renamed, None).await;
    assert!(matches!(updated, Err(Error::InvalidToken)), "{updated:?}");
    let archived = hasty().await.archive_product(&key, product.id, None).await;
    assert!(matches!(archived, Err(Error::InvalidToken)), "{archived:?}");
    let all = service.app.export_products(key.catalog(), StatusFilter::All, None, 10);
    assert_eq!(all.await.unwrap(), [product]);
}

#[tokio::test]
async fn an_expiry_after_the_year_9999_is_refused() {
    let service = Service::new().await;
    let team = service.team().await;
    let for_ever = Some(Duration::MAX);
    let result = service
        .app
        .create_api_key(&Actor::Operator, team, Mode::Live, Scope::ReadOnly, None, for_ever)
        .await;
    assert!(matches!(result, Err(Error::Refused(_))), "{result:?}");
}

#[tokio::test]
async fn a_key_revoked_by_another_process_is_refused_at_once() {
    let service = Service::new().await;
    let (key, secret) = new_key(&service).await;
    assert!(
        service
            .app
            .authenticate_api_key(secret.reveal())
            .await
            .is_ok()
    );
    service
        .another()
        .await
        .revoke_api_key(&Actor::Operator, key.id)
        .await
        .unwrap();
    assert!(is_refused(
        &service.app.authenticate_api_key(secret.reveal()).await
    ));
}

#[tokio::test]
async fn a_key_is_its_teams_from_its_first_use_until_it_is_refused() {
    let service = Service::new().await;
    let (key, secret) = new_key(&service).await;
    let holder = || service.app.presented_api_key(secret.reveal()).unwrap().holder;
    assert_eq!(holder(), Holder::Strangers);
    let authenticate = || service.app.authenticate_api_key(secret.reveal());
    authenticate().await.unwrap();
    assert_eq!(holder(), Holder::Team(key.team_id.0));
    service.app.revoke_api_key(&Actor::Operator, key.id).await.unwrap();
    assert!(is_refused(&authenticate().await));
    assert_eq!(holder(), Holder::Strangers);
}

#[tokio::test]
async fn a_key_in_constant_use_is_refused_as_soon_as_revoking_it_returns() {
    let service = Service::new().await;
    let (key, secret) = new_key(&service).await;
    let another = service.another().await;
    // Looked up before, so that the first uses during the revocation need not be faster than it.
    service
        .app
        .authenticate_api_key(secret.reveal())
        .await
        .unwrap();
    let mut revoked = pin!(another.revoke_api_key(&Actor::Operator, key.id));
    let mut accepted = 0;
    loop {
        let used = async {
            tokio::task::yield_now().await;
            service.app.authenticate_api_key(secret.reveal()).await
        };
        tokio::select! {
            biased;
            revoked = &mut revoked => break drop(revoked.unwrap()),
            used = used => accepted += usize::from(used.is_ok()),
        }
    }
    assert!(accepted > 0);
    assert!(is_refused(
        &service.app.authenticate_api_key(secret.reveal()).await
    ));
}

#[tokio::test]
async fn revoking_twice_keeps_the_first_time() {
    let service = Service::new().await;
    let key = service.writer().await;
    assert_eq!(
        service.app.revoke_api_key(&Actor::Operator, key.id).await.unwrap().revoked_at,
        Some(START)
    );
    service.clock.advance(MINUTE);
    assert_eq!(
        service.app.revoke_api_key(&Actor::Operator, key.id).await.unwrap().revoked_at,
        Some(START)
    );
}

#[tokio::test]
async fn a_team_or_key_that_does_not_exist_is_named_in_the_error() {
    let service = Service::new().await;
    let nobody = TeamId(Uuid::from_u128(1));
    let made = live_key(&service.app, nobody).await;
    let listed = service.app.list_api_keys(Some(nobody), Default::default()).await;
    let revoked = service
        .app
        .revoke_api_key(&Actor::Operator, ApiKeyId(Uuid::from_u128(1)))
        .await;
    for error in [made.err(), listed.err(), revoked.err()] {
        let text = error.unwrap().to_string();
        assert!(
            text.contains("00000000-0000-0000-0000-000000000001"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn keys_are_listed_oldest_first_and_of_one_team_only() {
    let service = Service::new().await;
    let (team, other) = (service.team().await, service.team().await);
    let first = service.key(team, Mode::Live, Scope::ReadOnly).await;
    service.key(other, Mode::Live, Scope::ReadOnly).await;
    let second = service.key(team, Mode::Test, Scope::ReadWrite).await;
    let listed = service.app.list_api_keys(Some(team), Default::default()).await;
    assert_eq!(keys(listed), [first, second]);
}

#[tokio::test]
async fn the_last_use_is_kept_to_the_minute_and_never_moves_back() {
    let service = Service::new().await;
    let team = service.team().await;
    let (_, secret) = service
        .app
        .create_api_key(&Actor::Operator, team, Mode::Live, Scope::ReadOnly, None, None)
        .await
        .unwrap();
    let last_used = async || {
        service.app.record_uses().await.unwrap();
        let listed = service.app.list_api_keys(Some(team), Default::default()).await;
        keys(listed)[0].last_used_at
    };
    assert_eq!(last_used().await, None);

    let minute = Timestamp::from_millis(1_795_211_340_000);
    service
        .app
        .authenticate_api_key(secret.reveal())
        .await
        .unwrap();
    assert_eq!(last_used().await, Some(minute));

    service.clock.advance(MINUTE);
    service
        .app
        .authenticate_api_key(secret.reveal())
        .await
        .unwrap();
    assert_eq!(last_used().await, Some(minute.after(MINUTE)));

    service.clock.set(START);
    service
        .app
        .authenticate_api_key(secret.reveal())
        .await
        .unwrap();
    assert_eq!(last_used().await, Some(minute.after(MINUTE)));
}

#[tokio::test]
async fn with_the_last_use_it_is_kept_from_where_that_was() {
    let service = Service::new().await;
    let team = service.team().await;
    let (key, secret) = live_key(&service.app, team).await.unwrap();
    let use_from = async |address: &str| {
        let presented = service.app.presented_api_key(secret.reveal()).unwrap();
        let from = || Some(address.parse().unwrap());
        service.app.look_up_api_key(presented, from).await.unwrap();
    };
    let from = async || {
        service.app.record_uses().await.unwrap();
        service.app.get_api_key(key.id).await.unwrap().last_used_from
    };
    assert_eq!(from().await, None);
    use_from("192.0.2.1").await;
    assert_eq!(from().await.as_deref(), Some("192.0.2.1"));
    service.clock.advance(MINUTE);
    use_from("192.0.2.1").await;
    use_from("2001:db8::7").await;
    assert_eq!(from().await.as_deref(), Some("2001:db8::7"));
    // A replica whose clock is behind reports an earlier use.
    service.clock.set(START);
    use_from("192.0.2.3").await;
    assert_eq!(from().await.as_deref(), Some("2001:db8::7"));

    // A replacement key has not been used from anywhere.
    let rotated = service.app.rotate_api_key(&Actor::Operator, key.id, Some(MINUTE));
    let new = rotated.await.unwrap().new;
    let new = service.app.get_api_key(new.id).await.unwrap();
    assert_eq!((new.key.last_used_at, new.last_used_from), (None, None));
    assert_eq!(from().await.as_deref(), Some("2001:db8::7"));
}

#[tokio::test]
async fn a_read_only_key_changes_nothing() {
    let service = Service::new().await;
    let key = service
        .key(service.team().await, Mode::Live, Scope::ReadOnly)
        .await;
    let (app, id) = (&service.app, Uuid::from_u128(1).into());
    for error in [
        app.create_product(&key, plain("A"), None).await.err(),
        app.update_product(&key, id, Default::default(), None)
            .await
            .err(),
        app.archive_product(&key, id, None).await.err(),
    ] {
        assert!(matches!(error, Some(Error::ScopeInsufficient)), "{error:?}");
    }
}

/// "A key, token or membership that has ended by the time of the commit makes no change, even if it was good when
/// the request began": a caller whose key was looked up before gets nothing for it, not even a replay.
#[tokio::test]
async fn a_key_that_has_ended_since_it_was_looked_up_changes_nothing_and_replays_nothing() {
    let service = Service::new().await;
    let team = service.team().await;
    let made = |expires_in| {
        let (mode, scope) = (Mode::Live, Scope::ReadWrite);
        service
            .app
            .create_api_key(&Actor::Operator, team, mode, scope, None, expires_in)
    };
    let (revoked, expired) = (made(None).await.unwrap().0, made(Some(MINUTE)).await);
    let expired = expired.unwrap().0;
    let request = || Some(IdempotentRequest::new("k", "POST", "/api/v1/products", &json::Value::Number("1")));
    let app = &service.app;
    let first = app
        .create_product(&revoked, with_sku("A"), request())
        .await
        .unwrap();
    let id = first.value.id;

    service.clock.advance(MINUTE);
    app.revoke_api_key(&Actor::Operator, revoked.id).await.unwrap();
    for key in [&revoked, &expired] {
        let changes = Default::default();
        for error in [
            app.create_product(key, plain("B"), None).await.err(),
            app.create_product(key, with_sku("A"), None).await.err(),
            app.create_product(key, with_sku("A"), request())
                .await
                .err(),
            app.update_product(key, id, changes, None).await.err(),
            app.archive_product(key, id, None).await.err(),
            app.archive_product(key, Uuid::from_u128(1).into(), None)
                .await
                .err(),
        ] {
            assert!(matches!(error, Some(Error::InvalidToken)), "{error:?}");
        }
    }
    let all = app.list_products(&revoked, StatusFilter::All, 10, None);
    assert_eq!(all.await.unwrap().items, [first.value]);
}

/// A revocation does not slip in between the check and the commit: once it has returned, nothing more is added.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_committed_on_the_word_of_a_key_once_it_is_revoked() {
    const MAX_CREATES: usize = 200;
    for _ in 0..5 {
        let service = Service::new().await;
        let key = service.writer().await;
        let (made, mut seen) = tokio::sync::watch::channel(0);
        let clients: Vec<_> = (0..16)
            .map(|_| {
                let (app, key, made) = (service.app.clone(), key.clone(), made.clone());
                tokio::spawn(async move {
                    for _ in 0..MAX_CREATES {
                        match app.create_product(&key, plain("A"), None).await {
                            Ok(_) => made.send_modify(|made| *made += 1),
                            Err(error) => return Some(error),
                        }
                    }
                    None
                })
            })
            .collect();
        seen.wait_for(|made| *made > 32).await.unwrap();
        let revoke = async move |sql: Sql<'_>| {
        sql.run((api_key::lock(key.id), api_key::revoke(key.id, START)))
            .await
    };
        service.store.write(Holder::Service, revoke).await.unwrap();
        let then = service.database().rows("product");
        for client in clients {
            let ended = client.await.unwrap();
            assert!(matches!(ended, Some(Error::InvalidToken)), "{ended:?}");
        }
        assert_eq!(service.database().rows("product"), then);
    }
}
