//! Rows that are looked up at the same time are fetched together, without any visible effect.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::join_all;
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::{ApiKey, Scope};
use invoicing::domain::audit::Actor;
use invoicing::domain::catalog::Mode;
use invoicing::domain::id::ProductId;
use invoicing::domain::product::StatusFilter;
use invoicing::domain::time::SystemClock;
use invoicing::store::open;
use test_support::postgres::ask;
use uuid::Uuid;

use super::groups::at_once;
use super::relay::{Relay, migrated, says};
use super::support::{Service, live_key, plain};

/// Concurrent lookups: more than are fetched together.
const CROWD: usize = 80;

/// An app through a relay, with a key for its products.
async fn relayed(url: &str, parameters: &str) -> (Relay, App, ApiKey) {
    let (relay, through) = Relay::before(url).await;
    let store = open(&format!("{through}{parameters}").parse().unwrap()).await;
    let clock = Arc::new(SystemClock);
    let app = App::new(store.unwrap(), clock, "https://links.example");
    let app = app.await.unwrap();
    let team = app.create_team("Acme").await.unwrap().id;
    let (key, _) = live_key(&app, team).await.unwrap();
    (relay, app, key)
}

async fn made(app: &App, key: &ApiKey, name: impl Into<String>) -> ProductId {
    let made = app.create_product(key, plain(&name.into()), None).await;
    made.unwrap().value.id
}

/// How many statements the server ran since this was last called.
fn run(relay: &Relay) -> usize {
    let said = relay.take().into_iter().flatten();
    // A statement is bound to its values each time it runs.
    said.filter(|(tag, _)| *tag == b'B').count()
}

#[tokio::test]
async fn lookups_that_come_together_are_few_statements_whatever_team_they_are_for() {
    for parameters in ["", "&prepared_statements=false"] {
        let (relay, app, _) = relayed(&migrated().await, parameters).await;
        let mut products = Vec::new();
        for number in 0..CROWD {
            let team = app.create_team("Acme").await.unwrap().id;
            let (key, _) = live_key(&app, team).await.unwrap();
            let id = made(&app, &key, format!("{number}")).await;
            products.push((key, id));
        }
        relay.take();
        let found = join_all(products.iter().map(|(key, id)| app.get_product(key, *id))).await;
        let names: Vec<_> = found.into_iter().map(|it| it.unwrap().name).collect();
        let expected: Vec<_> = (0..CROWD).map(|number| number.to_string()).collect();
        assert_eq!(names, expected);
        assert_eq!(run(&relay), CROWD.div_ceil(64), "{parameters}");

        let pages = products.iter().map(|(key, _)| {
            let page = app.list_products(key, StatusFilter::Active, 1, None);
            async move { page.await.unwrap().items.into_iter().map(|it| it.name) }
        });
        let names: Vec<_> = join_all(pages).await.into_iter().flatten().collect();
        assert_eq!(names, expected);
        assert_eq!(run(&relay), CROWD.div_ceil(64), "{parameters}");
    }
}

/// For known ones: strangers' wait only for each other (`fair.rs`).
#[tokio::test]
async fn credentials_that_come_together_are_few_statements_and_each_counts_for_itself() {
    let (relay, app, _) = relayed(&migrated().await, "").await;
    let mut secrets = Vec::new();
    for _ in 0..CROWD {
        let team = app.create_team("Acme").await.unwrap().id;
        let (key, secret) = live_key(&app, team).await.unwrap();
        app.authenticate_api_key(secret.reveal()).await.unwrap();
        secrets.push((key.id, secret));
    }
    // When this returns, anything read of a key before is too old to count.
    app.revoke_api_key(&Actor::Operator, secrets[0].0)
        .await
        .unwrap();
    relay.take();
    let found = secrets
        .iter()
        .map(|(_, secret)| app.authenticate_api_key(secret.reveal()));
    let found = join_all(found).await;
    assert_eq!(run(&relay), CROWD.div_ceil(64));
    for (number, ((id, _), found)) in secrets.iter().zip(found).enumerate() {
        match number {
            0 => assert!(matches!(found, Err(Error::InvalidToken)), "{found:?}"),
            _ => assert_eq!(found.unwrap().id, *id),
        }
    }
}

#[tokio::test]
async fn pages_that_come_together_are_what_each_would_be_alone() {
    let service = Service::new().await;
    let app = &service.app;
    let keys = [service.writer().await, service.writer().await];
    let mut ids = Vec::new();
    for number in 0..30 {
        let key = &keys[number % 2];
        let id = made(app, key, format!("{number}")).await;
        if number % 3 == 0 {
            app.archive_product(key, id, None).await.unwrap();
        }
        ids.push(id);
    }
    let mut asked = Vec::new();
    for key in &keys {
        for status in [
            StatusFilter::Active,
            StatusFilter::Archived,
            StatusFilter::All,
        ] {
            for limit in [1, 3, 100] {
                let first = app.list_products(key, status, limit, None).await.unwrap();
                for after in [None, first.next.clone()] {
                    let page = app.list_products(key, status, limit, after.as_deref());
                    asked.push((
                        key.clone(),
                        status,
                        limit,
                        after.clone(),
                        page.await.unwrap(),
                    ));
                }
            }
        }
    }
    let found = at_once(2 * asked.len(), |number| {
        let (app, (key, status, limit, after, _)) =
            (app.clone(), asked[number % asked.len()].clone());
        async move {
            app.list_products(&key, status, limit, after.as_deref())
                .await
        }
    });
    for (number, found) in found.await.into_iter().enumerate() {
        let (_, status, limit, after, alone) = &asked[number % asked.len()];
        let found = found.unwrap();
        let what = format!("{status:?} {limit} {after:?}");
        assert_eq!(
            (&found.items, &found.next),
            (&alone.items, &alone.next),
            "{what}"
        );
    }
}

#[tokio::test]
async fn who_looks_up_a_product_gets_that_of_its_own_catalog_or_none() {
    let service = Service::new().await;
    let team = service.team().await;
    let mut keys = vec![service.writer().await];
    for mode in [Mode::Live, Mode::Test] {
        keys.push(service.key(team, mode, Scope::ReadWrite).await);
    }
    let mut owners = HashMap::new();
    for (owner, key) in keys.iter().enumerate() {
        for _ in 0..5 {
            owners.insert(made(&service.app, key, format!("{owner}")).await, owner);
        }
    }
    let nowhere = ProductId::from(Uuid::now_v7());
    let ids: Vec<_> = owners.keys().copied().chain([nowhere, nowhere]).collect();
    // Each is asked for twice with each key.
    let asked: Vec<_> = (0..2 * keys.len() * ids.len())
        .map(|number| (number % keys.len(), ids[number / keys.len() % ids.len()]))
        .collect();
    let found = at_once(asked.len(), |number| {
        let (asker, id) = asked[number];
        let (app, key) = (service.app.clone(), keys[asker].clone());
        async move { app.get_product(&key, id).await }
    });
    for ((asker, id), found) in asked.iter().zip(found.await) {
        match owners.get(id) == Some(asker) {
            true => {
                let found = found.unwrap();
                assert_eq!((found.id, found.name), (*id, asker.to_string()));
            }
            false => assert!(matches!(found, Err(Error::ProductNotFound)), "{found:?}"),
        }
    }
}

/// Cutting blocks its thread: the crowd goes on beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_whose_connections_are_cut_gets_its_rows_all_the_same() {
    let service = Service::new().await;
    let key = service.writer().await;
    let id = made(&service.app, &key, "A").await;
    for _ in 0..5 {
        let (app, its) = (service.app.clone(), key.clone());
        let found = tokio::spawn(at_once(CROWD, move |_| {
            let (app, key) = (app.clone(), its.clone());
            async move { app.get_product(&key, id).await }
        }));
        for _ in 0..3 {
            super::lost::cut(service.database().url());
        }
        for found in found.await.unwrap() {
            assert_eq!(found.unwrap().id, id);
        }
    }
}

/// Lists pass rows that are archived, as long as a backup keeps PostgreSQL from forgetting them. That may take seconds.
#[tokio::test]
async fn a_product_waits_for_no_list() {
    const LIST: &str = "ORDER BY status DESC";
    let (relay, app, key) = relayed(&migrated().await, "&prepared_statements=false").await;
    let id = made(&app, &key, "A").await;
    relay.keep_back(LIST);
    let list = || app.list_products(&key, StatusFilter::Active, 100, None);
    let lists = join_all((0..8).map(|_| list()));
    let product = async {
        // Two lanes are at work.
        let mut waiting = 0;
        while waiting < 2 {
            tokio::task::yield_now().await;
            waiting += relay.take().iter().filter(|it| says(it, LIST)).count();
        }
        app.get_product(&key, id).await.unwrap();
    };
    tokio::select! {
        _ = lists => panic!("the product waits as long as the lists"),
        () = product => {}
    }
}

#[tokio::test]
async fn a_statement_that_has_become_stale_is_asked_anew() {
    let url = migrated().await;
    let (_relay, app, key) = relayed(&url, "").await;
    let id = made(&app, &key, "A").await;
    let all = async || {
        let found = join_all((0..4).map(|_| app.get_product(&key, id))).await;
        found.into_iter().all(|found| found.is_ok())
    };
    assert!(all().await);
    ask(&url, "ALTER TABLE product ALTER name TYPE VARCHAR(500)");
    assert!(all().await);
    assert!(all().await);
}
