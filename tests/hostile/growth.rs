//! What one key can make the database keep.
//!
//! A request under an idempotency key leaves its answer behind for 24 hours. What that comes to is told to operators in
//! README.md ("Running it where strangers connect"); the figures there are those here.

use std::sync::Arc;

use codegen_runtime::json;
use invoicing::app::App;
use invoicing::domain::api_key::Scope;
use invoicing::domain::catalog::Mode;
use invoicing::domain::idempotency::IdempotentRequest;
use invoicing::domain::product::NewProduct;
use invoicing::domain::time::SystemClock;
use invoicing::sqlite::Sqlite;
use tempfile::TempDir;

/// Records that are made; enough that what a table begins with does not count.
const RECORDS: usize = 2_000;

/// A product as most are.
fn usual() -> NewProduct {
    NewProduct {
        name: "Espresso beans, 1 kg".into(),
        unit_price: "18.90".parse().unwrap(),
        currency: "EUR".into(),
        description: None,
        sku: Some("BEAN-1".into()),
        tax_rate: None,
        product_type: None,
        unit_of_measure: None,
    }
}

/// Bytes that the file grows by for each update that changes nothing, under a new key of so many characters.
async fn bytes_of_a_record(product: NewProduct, key_length: usize) -> u64 {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("test.db");
    let store = Arc::new(Sqlite::open(&path).unwrap().into());
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = app.await.unwrap();
    let team = app.create_team("Acme").await.unwrap().id;
    let (mode, scope) = (Mode::Live, Scope::ReadWrite);
    let made = app.create_api_key(team, mode, scope, None, None);
    let (caller, _) = made.await.unwrap();
    let made = app.create_product(&caller, product, None).await.unwrap();
    let id = made.value.id;

    let length = || {
        let file = rusqlite::Connection::open(&path).unwrap();
        let row = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], row)
            .unwrap();
        path.metadata().unwrap().len()
    };
    let before = length();
    let updates = (0..RECORDS).map(|number| {
        let key = format!("{number:0key_length$}");
        let request = Some(IdempotentRequest::new(
            key,
            "PATCH",
            "/api/v1/products/1",
            &json::Value::Object(Vec::new()),
        ));
        app.update_product(&caller, id, Default::default(), request)
    });
    for update in futures::future::join_all(updates).await {
        update.unwrap();
    }
    (length() - before) / RECORDS as u64
}

#[tokio::test]
async fn a_record_takes_no_more_than_operators_are_told() {
    let bytes = bytes_of_a_record(usual(), 36).await;
    assert!(bytes <= 400, "a usual product: {bytes} bytes a record");
}

#[tokio::test]
async fn the_largest_record_takes_no_more_than_operators_are_told() {
    // Each of these is six characters in JSON.
    let largest = NewProduct {
        name: "\u{1}".repeat(255),
        description: Some("\u{1}".repeat(2_000)),
        sku: Some("\u{1}".repeat(100)),
        tax_rate: Some("19.25".parse().unwrap()),
        product_type: Some("GOODS".into()),
        unit_of_measure: Some("license".into()),
        ..usual()
    };
    let bytes = bytes_of_a_record(largest, 255).await;
    assert!(
        bytes <= 17_000,
        "the largest product: {bytes} bytes a record"
    );
}
