//! Concurrent changes share a transaction, without any visible effect. (For groups in which one fails:
//! `groups_undone.rs`.)

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::ApiKey;
use invoicing::domain::idempotency::{IdempotentRequest, Outcome};
use invoicing::domain::product::{Product, ProductChanges};
use invoicing::domain::time::SystemClock;
use invoicing::store::open;
use openapi_dropshot_runtime::{Field, json};
use test_support::postgres::{Locked, ask, until_lock_waits};

use super::relay::{Relay, migrated};
use super::support::{Service, live_key, plain, with_sku};

/// Concurrent changes: more than fit in a group.
pub const CROWD: usize = 80;

pub fn request(key: impl Into<String>, method: &str) -> Option<IdempotentRequest> {
    let body = json::Value::Object(Vec::new());
    Some(IdempotentRequest::new(
        key,
        method,
        "/api/v1/products",
        &body,
    ))
}

/// Starts `count` changes at once, and returns their answers.
pub async fn at_once<T, F>(count: usize, change: impl Fn(usize) -> F) -> Vec<Result<T, Error>>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Error>> + Send + 'static,
{
    let begun: Vec<_> = (0..count)
        .map(|number| tokio::spawn(change(number)))
        .collect();
    let answered = join_all(begun).await.into_iter();
    answered.map(Result::unwrap).collect()
}

/// Counts the answers, each described in words.
pub fn counted<T: Debug>(
    answers: &[Result<T, Error>],
    say: fn(&T) -> &'static str,
) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for answer in answers {
        let said = match answer {
            Ok(value) => say(value).to_owned(),
            Err(error) => error.to_string(),
        };
        *counts.entry(said).or_default() += 1;
    }
    counts
}

pub fn counts<const N: usize>(expected: [(&str, usize); N]) -> BTreeMap<String, usize> {
    expected
        .map(|(answer, times)| (answer.to_owned(), times))
        .into()
}

pub fn once(outcome: &Outcome<Product>) -> &'static str {
    match outcome.replayed {
        true => "replayed",
        false => "made",
    }
}

pub async fn create(app: Arc<App>, key: ApiKey, number: usize) -> Result<Outcome<Product>, Error> {
    let request = request(format!("{number}"), "POST");
    app.create_product(&key, plain("A"), request).await
}

#[tokio::test]
async fn changes_that_come_together_are_committed_together() {
    let service = Service::new().await;
    let keys = [service.writer().await, service.writer().await];
    // Warms up the connections.
    for key in &keys {
        service
            .app
            .create_product(key, plain("A"), None)
            .await
            .unwrap();
    }
    let made = at_once(CROWD, |number| {
        create(service.app.clone(), keys[number % 2].clone(), number)
    });
    assert_eq!(counted(&made.await, once), counts([("made", CROWD)]));
    let url = service.database().url();
    let transactions = ask(url, "SELECT count(DISTINCT xmin::text) FROM product");
    let transactions: usize = transactions.parse().unwrap();
    assert!(transactions <= 2 + CROWD / 4, "{transactions}");
    let records = ask(url, "SELECT count(*) FROM idempotency WHERE answer <> ''");
    assert_eq!(records, CROWD.to_string());
}

#[tokio::test]
async fn of_many_who_change_what_they_have_seen_one_does() {
    let service = Service::new().await;
    let key = service.writer().await;
    let made = service.app.create_product(&key, plain("A"), None).await;
    let seen = made.unwrap().value;
    service.clock.advance(Duration::from_secs(1));
    let changed = at_once(CROWD, |number| {
        let (app, key, id) = (service.app.clone(), key.clone(), seen.id);
        let changes = ProductChanges {
            name: Some(format!("{number}")),
            unchanged_since: Some(seen.updated_at),
            ..Default::default()
        };
        async move { app.update_product(&key, id, changes, None).await }
    });
    let expected = counts([
        ("made", 1),
        (Error::ProductChanged.to_string().as_str(), CROWD - 1),
    ]);
    assert_eq!(counted(&changed.await, once), expected);
}

#[tokio::test]
async fn requests_of_one_key_are_made_once_however_many_come_at_once() {
    let service = Service::new().await;
    let key = service.writer().await;
    let replayed = || counts([("made", 1), ("replayed", CROWD - 1)]);
    let made = at_once(CROWD, |_| {
        let (app, key) = (service.app.clone(), key.clone());
        // What the first writes must not cause the second to be refused before it finds the record.
        async move {
            app.create_product(&key, with_sku("S"), request("k", "POST"))
                .await
        }
    });
    let made = made.await;
    assert_eq!(counted(&made, once), replayed());
    let product = made.into_iter().next().unwrap().unwrap().value;
    service.clock.advance(Duration::from_secs(1));
    let changed = at_once(CROWD, |_| {
        let (app, key, id) = (service.app.clone(), key.clone(), product.id);
        let changes = ProductChanges {
            description: Field::Value("new".into()),
            unchanged_since: Some(product.updated_at),
            ..Default::default()
        };
        async move {
            app.update_product(&key, id, changes, request("p", "PATCH"))
                .await
        }
    });
    assert_eq!(counted(&changed.await, once), replayed());
}

#[tokio::test]
async fn requests_of_one_key_in_two_catalogs_are_two_changes() {
    let service = Service::new().await;
    let keys = [service.writer().await, service.writer().await];
    let make = || {
        at_once(CROWD, |number| {
            create(service.app.clone(), keys[number % 2].clone(), number / 2)
        })
    };
    let made = make().await;
    assert_eq!(counted(&made, once), counts([("made", CROWD)]));
    let again = make().await;
    assert_eq!(counted(&again, once), counts([("replayed", CROWD)]));
    for (made, again) in made.into_iter().zip(again) {
        assert_eq!(made.unwrap().value, again.unwrap().value);
    }
}

#[tokio::test]
async fn changes_of_many_teams_are_as_few_statements_as_of_one() {
    let (relay, through) = Relay::before(&migrated().await).await;
    let store = open(&through.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = Arc::new(app.await.unwrap());
    let mut keys = Vec::new();
    for _ in 0..CROWD {
        let team = app.create_team("Acme").await.unwrap().id;
        keys.push(live_key(&app, team).await.unwrap().0);
    }
    relay.take();
    let made = at_once(CROWD, |number| create(app.clone(), keys[number].clone(), 0));
    assert_eq!(counted(&made.await, once), counts([("made", CROWD)]));
    let said: Vec<_> = relay.take().into_iter().flatten().collect();
    let commits = |(tag, text): &&(u8, Vec<u8>)| *tag == b'Q' && text.ends_with(b"COMMIT\0");
    let groups = said.iter().filter(commits).count();
    assert!(groups <= CROWD / 4, "{groups}");
    // Each locks the keys, reads them, looks for records, keeps them, and inserts.
    let run = said.iter().filter(|(tag, _)| *tag == b'B').count();
    assert_eq!(run, 5 * groups);
}

#[tokio::test]
async fn replicas_make_requests_of_one_key_once() {
    let service = Service::new().await;
    let key = service.writer().await;
    let replicas = [service.app.clone(), Arc::new(service.another().await)];
    let made = at_once(CROWD, |number| {
        let (app, key) = (replicas[number % 2].clone(), key.clone());
        let shared = format!("{}", number / 4);
        async move {
            app.create_product(&key, with_sku(&shared), request(&shared, "POST"))
                .await
        }
    });
    let expected = counts([("made", CROWD / 4), ("replayed", CROWD / 4 * 3)]);
    assert_eq!(counted(&made.await, once), expected);
}

#[tokio::test]
async fn a_request_that_another_replica_is_at_is_replayed_and_not_refused_for_what_that_has_written()
 {
    let service = Service::new().await;
    let key = service.writer().await;
    let made = service
        .app
        .create_product(&key, with_sku("S"), request("k", "POST"));
    let first = made.await.unwrap().value;
    // Rows that another replica has written and not committed.
    let url = service.database().url();
    ask(
        url,
        "CREATE TABLE products AS SELECT * FROM product; CREATE TABLE records AS SELECT * FROM idempotency; \
         DELETE FROM product; DELETE FROM idempotency",
    );
    let its =
        "INSERT INTO idempotency SELECT * FROM records; INSERT INTO product SELECT * FROM products";
    let another = Locked::by(url, its);
    let again = {
        let (app, key) = (service.app.clone(), key.clone());
        tokio::spawn(async move {
            app.create_product(&key, with_sku("S"), request("k", "POST"))
                .await
        })
    };
    until_lock_waits(url, 1).await;
    another.commit();
    let again = again.await.unwrap().unwrap();
    assert_eq!((again.value, again.replayed), (first, true));
}
