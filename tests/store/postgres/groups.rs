//! Changes that come together share a transaction, and nobody notices.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::ApiKey;
use invoicing::domain::audit::Actor;
use invoicing::domain::id::ProductId;
use invoicing::domain::idempotency::{IdempotentRequest, Outcome};
use invoicing::domain::product::{Product, ProductChanges};
use invoicing::domain::time::SystemClock;
use invoicing::store::open;
use openapi_dropshot_runtime::{Field, json};
use test_support::postgres::{Locked, ask};
use uuid::Uuid;

use super::lost::{END_IT, at_commit, tries};
use super::relay::{Relay, migrated};
use super::support::{Service, live_key, plain, with_sku};

/// Changes at once: more than a group takes.
const CROWD: usize = 80;

fn request(key: impl Into<String>, method: &str) -> Option<IdempotentRequest> {
    let body = json::Value::Object(Vec::new());
    Some(IdempotentRequest::new(
        key,
        method,
        "/api/v1/products",
        &body,
    ))
}

/// So many changes, begun at once; what each was answered.
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

/// How often there was each answer, in words.
fn counted<T: Debug>(
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

fn counts<const N: usize>(expected: [(&str, usize); N]) -> BTreeMap<String, usize> {
    expected
        .map(|(answer, times)| (answer.to_owned(), times))
        .into()
}

fn once(outcome: &Outcome<Product>) -> &'static str {
    match outcome.replayed {
        true => "replayed",
        false => "made",
    }
}

async fn create(app: Arc<App>, key: ApiKey, number: usize) -> Result<Outcome<Product>, Error> {
    let request = request(format!("{number}"), "POST");
    app.create_product(&key, plain("A"), request).await
}

#[tokio::test]
async fn changes_that_come_together_are_committed_together() {
    let service = Service::new().await;
    let keys = [service.writer().await, service.writer().await];
    // Warm: the connections are there.
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
async fn one_that_is_refused_takes_no_other_with_it() {
    let service = Service::new().await;
    let key = service.writer().await;
    let taken = service.app.create_product(&key, with_sku("S"), None).await;
    let id = taken.unwrap().value.id;
    // By the database, by a rule after the database was asked, and not at all.
    let made = at_once(CROWD, |number| {
        let (app, key) = (service.app.clone(), key.clone());
        async move {
            let request = request(format!("{number}"), "POST");
            match number % 8 {
                0 => app.create_product(&key, with_sku("S"), request).await,
                1 => {
                    let changes = ProductChanges {
                        unchanged_since: Some(super::support::START.before(Duration::from_secs(9))),
                        ..Default::default()
                    };
                    app.update_product(&key, id, changes, request).await
                }
                _ => app.create_product(&key, plain("A"), request).await,
            }
        }
    });
    let expected = counts([
        ("made", CROWD / 8 * 6),
        (Error::DuplicateSku.to_string().as_str(), CROWD / 8),
        (Error::ProductChanged.to_string().as_str(), CROWD / 8),
    ]);
    assert_eq!(counted(&made.await, once), expected);
    let products = ask(service.database().url(), "SELECT count(*) FROM product");
    assert_eq!(products, (CROWD / 8 * 6 + 1).to_string());
}

#[tokio::test]
async fn one_that_is_refused_before_it_has_written_undoes_nobody() {
    let service = Service::new().await;
    let key = service.writer().await;
    let taken = service.app.create_product(&key, with_sku("S"), None).await;
    let taken = taken.unwrap().value.id;
    // Nobody's, whose author is the same.
    let missing = ProductId::from(Uuid::nil());
    let made = at_once(CROWD, |number| {
        let (app, key) = (service.app.clone(), key.clone());
        async move {
            match number % 8 {
                0 => app.create_product(&key, with_sku("S"), None).await,
                1 => {
                    let changes = ProductChanges::default();
                    app.update_product(&key, missing, changes, None).await
                }
                _ => create(app, key, number).await,
            }
        }
    });
    let expected = counts([
        ("made", CROWD / 8 * 6),
        (Error::DuplicateSku.to_string().as_str(), CROWD / 8),
        (Error::ProductNotFound.to_string().as_str(), CROWD / 8),
    ]);
    assert_eq!(counted(&made.await, once), expected);
    let transactions = format!(
        "SELECT count(DISTINCT xmin::text) FROM product WHERE id <> '{}'",
        taken.0
    );
    let transactions: usize = ask(service.database().url(), &transactions)
        .parse()
        .unwrap();
    assert!(transactions <= CROWD / 8, "{transactions}");
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
        // What the first writes must not refuse the second before it finds the record.
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
    // Each holds the keys, reads them, looks for records, keeps them, and inserts.
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
async fn who_may_not_any_more_is_refused_and_who_may_is_not() {
    let service = Service::new().await;
    let (ended, good) = (service.writer().await, service.writer().await);
    service
        .app
        .revoke_api_key(&Actor::Operator, ended.id)
        .await
        .unwrap();
    let keys = [ended, good];
    let made = at_once(CROWD, |number| {
        create(service.app.clone(), keys[number % 2].clone(), number)
    });
    let expected = counts([
        ("made", CROWD / 2),
        (Error::InvalidToken.to_string().as_str(), CROWD / 2),
    ]);
    assert_eq!(counted(&made.await, once), expected);
}

#[tokio::test]
async fn who_spoils_what_several_teams_say_together_goes_alone_and_they_do_not() {
    let service = Service::new().await;
    let mut products = Vec::new();
    for _ in 0..CROWD {
        let key = service.writer().await;
        let made = service.app.create_product(&key, plain("A"), None).await;
        products.push((key, made.unwrap().value.id));
    }
    let (spoiler, spoilt) = products[0].clone();
    let taken = service
        .app
        .create_product(&spoiler, with_sku("S"), None)
        .await;
    let taken = taken.unwrap().value.id;
    let patch = |number: usize| {
        let (app, (key, id)) = (service.app.clone(), products[number].clone());
        let changes = ProductChanges {
            sku: Field::Value("S".into()),
            ..Default::default()
        };
        async move { app.update_product(&key, id, changes, None).await }
    };
    let expected = counts([
        ("made", CROWD - 1),
        (Error::DuplicateSku.to_string().as_str(), 1),
    ]);
    // The first time, nobody knows who it is.
    for _ in 0..2 {
        assert_eq!(counted(&at_once(CROWD, patch).await, once), expected);
    }
    let transactions = format!(
        "SELECT count(DISTINCT xmin::text) FROM product WHERE id NOT IN ('{spoilt}', '{taken}')"
    );
    let transactions: usize = ask(service.database().url(), &transactions)
        .parse()
        .unwrap();
    assert!(transactions <= CROWD / 4, "{transactions}");
}

#[tokio::test]
async fn who_waits_for_a_lock_keeps_nobody_else_waiting() {
    let service = Service::new().await;
    let (slow, other) = (service.writer().await, service.writer().await);
    let made = service.app.create_product(&slow, plain("A"), None).await;
    let id = made.unwrap().value.id;
    let lock = format!("UPDATE product SET id = id WHERE id = '{id}'");
    let locked = Locked::by(service.database().url(), &lock);
    let waiting = {
        let (app, slow) = (service.app.clone(), slow.clone());
        tokio::spawn(async move {
            app.update_product(&slow, id, Default::default(), None)
                .await
        })
    };
    let begun = Instant::now();
    let made = at_once(CROWD, |number| {
        create(service.app.clone(), other.clone(), number)
    });
    assert_eq!(counted(&made.await, once), counts([("made", CROWD)]));
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    assert!(!waiting.is_finished());
    drop(locked);
    waiting.await.unwrap().unwrap();
}

/// Who cuts has the thread: beside it, the crowd goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_whose_connections_are_cut_is_made_once_each() {
    let service = Service::new().await;
    let key = service.writer().await;
    for round in 0..5 {
        let (app, its) = (service.app.clone(), key.clone());
        let made = tokio::spawn(at_once(CROWD, move |number| {
            create(app.clone(), its.clone(), round * CROWD + number)
        }));
        for _ in 0..3 {
            super::lost::cut(service.database().url());
        }
        for (number, answer) in made.await.unwrap().into_iter().enumerate() {
            // Nobody knows of a commit that was not answered; the same request says what became of it.
            let again = match answer {
                Ok(outcome) => outcome,
                Err(Error::Unavailable(_)) => {
                    let again = create(service.app.clone(), key.clone(), round * CROWD + number);
                    again.await.unwrap()
                }
                Err(error) => panic!("{error}"),
            };
            assert_eq!(again.value.name, "A");
        }
    }
    let products = ask(service.database().url(), "SELECT count(*) FROM product");
    assert_eq!(products, (5 * CROWD).to_string());
}

#[tokio::test]
async fn a_commit_that_nobody_answered_is_unavailable_to_all_of_its_group_and_not_tried_again() {
    let service = Service::new().await;
    let url = service.database().url();
    let key = service.writer().await;
    at_commit(url, "product", END_IT);
    let made = at_once(CROWD, |number| {
        create(service.app.clone(), key.clone(), number)
    });
    for answer in made.await {
        assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
    }
    let tries: usize = tries(url).parse().unwrap();
    assert!(tries < CROWD / 4, "{tries}");
    assert_eq!(service.database().rows("product"), 0);
}

/// One through which a change failed, and may not through another.
#[tokio::test]
async fn a_connection_whose_statements_have_become_stale_is_not_lent_again() {
    let url = migrated().await;
    let (relay, through) = Relay::before(&url).await;
    let store = open(&through.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = app.await.unwrap();
    let team = app.create_team("Acme").await.unwrap().id;
    let (key, _) = live_key(&app, team).await.unwrap();
    let made = app.create_product(&key, plain("A"), None).await;
    let id = made.unwrap().value.id;
    let update = async || {
        relay.take();
        let changed = app.update_product(&key, id, Default::default(), None).await;
        changed.unwrap();
        let said: Vec<_> = relay.take().into_iter().flatten().collect();
        said.iter()
            .filter(|said| **said == (b'Q', b"ROLLBACK\0".to_vec()))
            .count()
    };
    assert_eq!(update().await, 0);
    ask(&url, "ALTER TABLE product ALTER name TYPE VARCHAR(500)");
    assert_eq!(update().await, 1);
    assert_eq!(update().await, 0);
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
    // What another replica has written and not committed.
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
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let begun = Instant::now();
    while ask(url, waits) != "1" {
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it does not wait"
        );
    }
    another.commit();
    let again = again.await.unwrap().unwrap();
    assert_eq!((again.value, again.replayed), (first, true));
}
