//! A change of a product costs PostgreSQL no more than it must: a long text, which it keeps apart from its row, is written
//! again only if it changes, and a sku that another product has is not written at all.

use std::sync::Arc;

use futures::future::join;
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::ApiKey;
use invoicing::domain::author::Caller as _;
use invoicing::domain::product::{NewProduct, Product, ProductChanges};
use invoicing::domain::time::SystemClock;
use invoicing::store::open;
use openapi_dropshot_runtime::Field;
use test_support::postgres::{Cluster, Locked, ask, until_lock_waits};

use super::product_import::import;
use super::relay::migrated;
use super::support::{live_key, plain, with_sku};

/// Bytes of the long texts of products, old versions included.
fn of_long_texts(url: &str) -> u64 {
    let size = "SELECT sum(pg_relation_size(reltoastrelid)) FROM pg_class \
                WHERE relname ~ '^product(_[0-9]+)?$' AND reltoastrelid <> 0";
    ask(url, size).parse().unwrap()
}

/// Eight kilobytes that cannot be compressed.
fn long_text() -> String {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from_u32(0x1_0000 + (state >> 16)).unwrap()
    };
    (0..2_000).map(|_| next()).collect()
}

/// Changes all of them at once.
async fn change_all(app: &Arc<App>, key: &ApiKey, products: &[Product], changes: ProductChanges) {
    let change = |product: &Product| {
        let (app, key, id, changes) = (Arc::clone(app), key.clone(), product.id, changes.clone());
        tokio::spawn(async move { app.update_product(&key, id, changes, None).await })
    };
    for changed in products.iter().map(change).collect::<Vec<_>>() {
        changed.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn changing_a_price_writes_no_long_text_again() {
    let url = migrated().await;
    let store = open(&url.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = Arc::new(app.await.unwrap());
    let team = app.create_team("Acme").await.unwrap();
    let (key, _) = live_key(&app, team.id).await.unwrap();
    let mut products = Vec::new();
    for _ in 0..10 {
        let product = NewProduct {
            description: Some(long_text()),
            ..plain("Lamp")
        };
        products.push(app.create_product(&key, product, None).await.unwrap().value);
    }
    let before = of_long_texts(&url);
    assert!(before >= 80_000, "{before}");
    for price in ["1", "2"] {
        let changes = ProductChanges {
            unit_price: Some(price.parse().unwrap()),
            ..ProductChanges::default()
        };
        change_all(&app, &key, &products, changes).await;
    }
    // Many in a statement.
    for price in ["3", "4"] {
        let line = |product: &Product| format!("{},{price}\n", product.id);
        let lines: String = products.iter().map(line).collect();
        import(&app, key.catalog(), &format!("id,unitPrice\n{lines}")).await;
    }
    assert_eq!(of_long_texts(&url), before);
    let changes = ProductChanges {
        description: Field::Value("short".to_owned()),
        ..ProductChanges::default()
    };
    change_all(&app, &key, &products, changes).await;
    let changed = app.get_product(&key, products[0].id).await.unwrap();
    assert_eq!(changed.description.as_deref(), Some("short"));
    let changes = ProductChanges {
        description: Field::Null,
        ..ProductChanges::default()
    };
    change_all(&app, &key, &products, changes).await;
    let changed = app.get_product(&key, products[0].id).await.unwrap();
    assert_eq!(changed.description, None);
}

/// It logs each violation of an index, with the statement: a caller could fill its disk.
#[tokio::test]
async fn a_taken_sku_is_refused_before_postgresql_finds_out() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let store = open(&url.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = Arc::new(app.await.unwrap());
    let team = app.create_team("Acme").await.unwrap();
    let (key, _) = live_key(&app, team.id).await.unwrap();
    let get = |id, sku: &str| {
        let (app, key) = (Arc::clone(&app), key.clone());
        let changes = ProductChanges {
            sku: Field::Value(sku.to_owned()),
            ..ProductChanges::default()
        };
        tokio::spawn(async move { app.update_product(&key, id, changes, None).await })
    };
    let taken = app
        .create_product(&key, with_sku("TAKEN"), None)
        .await
        .unwrap();
    let mut products = Vec::new();
    for _ in 0..20 {
        products.push(
            app.create_product(&key, plain("Lamp"), None)
                .await
                .unwrap()
                .value
                .id,
        );
    }
    let refused = get(products[0], "TAKEN").await.unwrap();
    assert!(matches!(refused, Err(Error::DuplicateSku)), "{refused:?}");
    for sku in ["TAKEN-2", "TAKEN-3", "TAKEN-4"] {
        // While this is under way, the others come, and are made together.
        let first = get(taken.value.id, &format!("{sku}-NOT"));
        let others: Vec<_> = products.iter().map(|id| get(*id, sku)).collect();
        first.await.unwrap().unwrap();
        let mut got = 0;
        for other in others {
            match other.await.unwrap() {
                Ok(_) => got += 1,
                Err(refused) => assert!(matches!(refused, Error::DuplicateSku), "{refused:?}"),
            }
        }
        assert_eq!(got, 1, "{sku}");
    }
    let log = std::fs::read_to_string(cluster.folder().join("log")).unwrap();
    assert!(!log.contains("TAKEN"), "{log}");
}

/// What another replica has not committed yet is not seen: the index decides, and is recognized by its name.
#[tokio::test]
async fn a_sku_that_another_replica_takes_just_now_is_a_duplicate() {
    let url = migrated().await;
    let store = open(&url.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = app.await.unwrap();
    let team = app.create_team("Acme").await.unwrap();
    let (key, _) = live_key(&app, team.id).await.unwrap();
    let ours = app.create_product(&key, plain("Ours"), None).await.unwrap();
    app.create_product(&key, plain("Theirs"), None)
        .await
        .unwrap();
    let changes = ProductChanges {
        sku: Field::Value("RACED".to_owned()),
        ..ProductChanges::default()
    };
    let theirs = Locked::by(
        &url,
        "UPDATE product SET sku = 'RACED' WHERE name = 'Theirs'",
    );
    let update = app.update_product(&key, ours.value.id, changes, None);
    let (refused, ()) = join(update, async {
        until_lock_waits(&url, 1).await;
        theirs.commit();
    })
    .await;
    assert!(matches!(refused, Err(Error::DuplicateSku)), "{refused:?}");
}
