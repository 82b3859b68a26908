//! Idempotency keys: a request that is sent twice is executed once.

use std::time::Duration;

use futures::{StreamExt, stream};
use openapi_dropshot_runtime::Field;
use openapi_dropshot_runtime::json;
use invoicing::domain::Error;
use invoicing::domain::catalog::Mode;
use invoicing::domain::api_key::{ApiKey, Scope};
use invoicing::domain::holder::Holder;
use invoicing::domain::idempotency::{IdempotentRequest, LIFETIME, NOTICED};
use invoicing::domain::product::{ProductChanges, StatusFilter};
use invoicing::domain::time::Timestamp;
use invoicing::store::{Sql, idempotency};

use super::support::{START, Service, plain, with_sku};

fn post(key: &str, body: &str) -> Option<IdempotentRequest> {
    let body = json::parse(body.as_bytes()).unwrap();
    Some(IdempotentRequest::new(key, "POST", "/api/v1/products", &body))
}

async fn count(service: &Service, key: &ApiKey) -> usize {
    let page = service
        .app
        .list_products(key, StatusFilter::All, 100, None)
        .await
        .unwrap();
    page.items.len()
}

#[tokio::test]
async fn a_repeat_answers_the_first_success_and_changes_nothing() {
    let service = Service::new().await;
    let key = service.writer().await;
    let first = service
        .app
        .create_product(&key, plain("A"), post("k", "1"))
        .await
        .unwrap();
    // Whatever has happened to the product since.
    let rename = ProductChanges {
        name: Some("B".into()),
        ..Default::default()
    };
    service
        .app
        .update_product(&key, first.value.id, rename, None)
        .await
        .unwrap();
    service
        .app
        .archive_product(&key, first.value.id, None)
        .await
        .unwrap();

    let repeat = service
        .app
        .create_product(&key, plain("A"), post("k", "1.0"))
        .await
        .unwrap();
    assert_eq!((first.replayed, repeat.replayed), (false, true));
    assert_eq!(repeat.value, first.value);
    assert_eq!(repeat.value.unit_price.as_str(), "19.90");
    assert_eq!(count(&service, &key).await, 1);
}

#[tokio::test]
async fn an_update_is_replayed_too() {
    let service = Service::new().await;
    let key = service.writer().await;
    let id = service
        .app
        .create_product(&key, plain("A"), None)
        .await
        .unwrap()
        .value
        .id;
    let patch = || {
        let changes = ProductChanges {
            description: Field::Value("new".into()),
            ..Default::default()
        };
        let request = IdempotentRequest::new("k", "PATCH", "/api/v1/products/1", &json::Value::Object(Vec::new()));
        service.app.update_product(&key, id, changes, Some(request))
    };
    let (first, repeat) = (patch().await.unwrap(), patch().await.unwrap());
    assert_eq!((first.replayed, repeat.replayed), (false, true));
    assert_eq!(first.value, repeat.value);
    assert_eq!(
        service.app.get_product(&key, id).await.unwrap(),
        first.value
    );
}

#[tokio::test]
async fn the_same_key_with_another_request_is_refused() {
    let service = Service::new().await;
    let key = service.writer().await;
    service
        .app
        .create_product(&key, plain("A"), post("k", "1"))
        .await
        .unwrap();
    let reused = service
        .app
        .create_product(&key, plain("A"), post("k", "2"))
        .await;
    assert!(
        matches!(reused, Err(Error::IdempotencyKeyReused)),
        "{reused:?}"
    );
    assert_eq!(count(&service, &key).await, 1);
}

#[tokio::test]
async fn a_key_is_of_the_team_and_mode_whichever_api_key_brings_it() {
    let service = Service::new().await;
    let key = service.writer().await;
    let sibling = service.key(key.team_id, Mode::Live, Scope::ReadWrite).await;
    let test_mode = service.key(key.team_id, Mode::Test, Scope::ReadWrite).await;
    let stranger = service.writer().await;
    let mut replayed = Vec::new();
    for key in [&key, &sibling, &test_mode, &stranger] {
        let made = service
            .app
            .create_product(key, plain("A"), post("k", "1"))
            .await
            .unwrap();
        replayed.push(made.replayed);
    }
    assert_eq!(replayed, [false, true, false, false]);
}

#[tokio::test]
async fn keys_differ_by_every_character() {
    let service = Service::new().await;
    let key = service.writer().await;
    for name in ["k", "K", "k ", "kk"] {
        let made = service
            .app
            .create_product(&key, plain("A"), post(name, "1"))
            .await
            .unwrap();
        assert!(!made.replayed, "{name:?}");
    }
}

#[tokio::test]
async fn a_failure_is_not_kept() {
    let service = Service::new().await;
    let key = service.writer().await;
    let blocker = service
        .app
        .create_product(&key, with_sku("A"), None)
        .await
        .unwrap()
        .value
        .id;
    let refused = service
        .app
        .create_product(&key, with_sku("A"), post("k", "1"))
        .await;
    assert!(matches!(refused, Err(Error::DuplicateSku)), "{refused:?}");
    service.app.archive_product(&key, blocker, None).await.unwrap();
    let made = service
        .app
        .create_product(&key, with_sku("A"), post("k", "1"))
        .await
        .unwrap();
    assert!(!made.replayed);
    let replay = service
        .app
        .create_product(&key, with_sku("A"), post("k", "1"))
        .await
        .unwrap();
    assert!(replay.replayed);
}

#[tokio::test]
async fn a_key_is_free_again_after_24_hours_deleted_or_not() {
    let service = Service::new().await;
    let key = service.writer().await;
    let create = |body| {
        service
            .app
            .create_product(&key, plain("A"), post("k", body))
    };
    create("1").await.unwrap();
    service.clock.advance(LIFETIME - Duration::from_millis(1));
    service.app.delete_expired().await.unwrap();
    assert!(create("1").await.unwrap().replayed);

    service.clock.advance(Duration::from_millis(1));
    assert!(
        !create("2").await.unwrap().replayed,
        "expired, though its row is still there"
    );
    assert!(
        create("2").await.unwrap().replayed,
        "its 24 hours have begun anew"
    );

    service.clock.advance(LIFETIME);
    service.app.delete_expired().await.unwrap();
    assert!(!create("1").await.unwrap().replayed);
}

#[tokio::test]
async fn expired_records_are_deleted_in_steps_and_the_others_stay() {
    let service = Service::new().await;
    let key = service.writer().await;
    for name in ["a", "b", "c"] {
        service
            .app
            .create_product(&key, plain(name), post(name, "1"))
            .await
            .unwrap();
        service.clock.advance(Duration::from_secs(1));
    }
    let mut deleted = Vec::new();
    for _ in 0..3 {
        let now = START.after(Duration::from_secs(1)).after(LIFETIME);
        let delete = async move |sql: Sql<'_>| sql.run(idempotency::delete_expired(now, 1)).await;
        deleted.push(service.store.write(Holder::Service, delete).await.unwrap());
    }
    assert_eq!(deleted, [1, 1, 0]);
    let kept = service
        .app
        .create_product(&key, plain("c"), post("c", "1"))
        .await
        .unwrap();
    assert!(kept.replayed);
}

#[tokio::test]
async fn one_of_64_at_once_executes_and_the_others_replay() {
    let service = Service::new().await;
    let other = std::sync::Arc::new(service.another().await);
    let key = service.writer().await;
    let tasks: Vec<_> = (0..64)
        .map(|number| {
            // Half of them go through another process.
            let app = if number % 2 == 0 {
                service.app.clone()
            } else {
                other.clone()
            };
            let key = key.clone();
            tokio::spawn(async move { app.create_product(&key, plain("A"), post("k", "1")).await })
        })
        .collect();
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await.unwrap().unwrap());
    }
    assert_eq!(
        outcomes.iter().filter(|outcome| !outcome.replayed).count(),
        1
    );
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.value == outcomes[0].value)
    );
    assert_eq!(count(&service, &key).await, 1);
}

/// "a background task deletes expired records": including those after the records of a clock that was years ahead,
/// which are more than one step handles.
#[tokio::test]
async fn a_clock_that_was_years_ahead_keeps_no_record_for_ever() {
    const YEARS: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
    const AHEAD: usize = 1_100;
    let service = Service::new().await;
    let key = service.writer().await;
    let create = async |name: String| {
        let made = service
            .app
            .create_product(&key, plain("A"), post(&name, "1"));
        made.await.unwrap().replayed
    };
    let records = || service.database().rows("idempotency");

    create("before".into()).await;
    service.clock.set(START.after(YEARS));
    let ahead = (0..AHEAD).map(|number| create(format!("ahead {number}")));
    // All at once, some would wait for too long on a slow disk.
    stream::iter(ahead).buffered(20).collect::<Vec<_>>().await;
    service.clock.set(START.after(Duration::from_secs(60)));
    create("behind".into()).await;
    service.app.delete_expired().await.unwrap();
    assert_eq!(records(), AHEAD as i64 + 2);
    assert!(create("ahead 7".into()).await, "it is replayed for a day");
    assert!(create("behind".into()).await);

    // Records found to be from the future get a day from then on.
    for _ in 0..NOTICED {
        service.app.date_records_ahead().await.unwrap();
    }
    for day in 1..=3 {
        service
            .clock
            .set(START.after(day * (LIFETIME + Duration::from_secs(60))));
        service.app.delete_expired().await.unwrap();
    }
    assert_eq!(records(), 0);
}

/// Records that are days ahead may be correct, if it is this clock that is behind: they keep their time.
#[tokio::test]
async fn a_record_that_is_some_days_ahead_is_good_for_as_long_as_it_says() {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let service = Service::new().await;
    let key = service.writer().await;
    service.clock.set(START.after(30 * DAY));
    let made = service.app.create_product(&key, plain("A"), post("ahead", "1"));
    made.await.unwrap();
    service.clock.set(START);
    service.app.delete_expired().await.unwrap();
    service.clock.set(START.after(30 * DAY + LIFETIME - Duration::from_millis(1)));
    service.app.delete_expired().await.unwrap();
    let again = service.app.create_product(&key, plain("A"), post("ahead", "1"));
    assert!(again.await.unwrap().replayed);
}

/// More of them than one step handles, with expired ones behind them.
#[tokio::test]
async fn records_that_are_some_days_ahead_keep_no_expired_one() {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    const AHEAD: usize = 600;
    let service = Service::new().await;
    let key = service.writer().await;
    let create = async |name: String| {
        let made = service.app.create_product(&key, plain("A"), post(&name, "1"));
        made.await.unwrap().replayed
    };
    service.clock.set(START.after(20 * DAY));
    let ahead = (0..AHEAD).map(|number| create(format!("ahead {number}")));
    stream::iter(ahead).buffered(20).collect::<Vec<_>>().await;
    service.clock.set(START);
    create("right".into()).await;
    service.clock.set(START.after(LIFETIME));
    service.app.delete_expired().await.unwrap();
    assert_eq!(service.database().rows("idempotency"), AHEAD as i64);
    assert!(create("ahead 7".into()).await, "it is replayed for as long as it says");
    service.clock.set(START.after(21 * DAY + LIFETIME));
    service.app.delete_expired().await.unwrap();
    assert_eq!(service.database().rows("idempotency"), 0);
}

/// As that of a machine that has just been started.
#[tokio::test]
async fn a_clock_that_is_years_behind_for_a_moment_ends_no_record() {
    let service = Service::new().await;
    let key = service.writer().await;
    let create = || service.app.create_product(&key, plain("A"), post("k", "1"));
    create().await.unwrap();
    service.clock.set(Timestamp::from_millis(0));
    service.app.delete_expired().await.unwrap();
    // It is set right in several steps.
    for days in [50, 40] {
        service.clock.set(START.before(days * LIFETIME));
        service.app.delete_expired().await.unwrap();
    }
    service.clock.set(START.after(Duration::from_secs(180)));
    service.app.delete_expired().await.unwrap();
    assert!(create().await.unwrap().replayed);
}

/// A clock that was years behind leaves records that have expired once it is right again.
#[tokio::test]
async fn a_clock_that_was_years_behind_keeps_no_record_for_ever() {
    let service = Service::new().await;
    let key = service.writer().await;
    for (name, now) in [
        ("first", START),
        ("behind", Timestamp::from_millis(0)),
        ("last", START),
    ] {
        service.clock.set(now);
        let made = service.app.create_product(&key, plain("A"), post(name, "1"));
        made.await.unwrap();
    }
    service.app.delete_expired().await.unwrap();
    service.clock.set(START.after(LIFETIME));
    service.app.delete_expired().await.unwrap();
    assert_eq!(service.database().rows("idempotency"), 0);
}
