//! How much one key, or one signed-in app, can make the database keep.
//!
//! A request under an idempotency key leaves its answer behind for 24 hours, and a refresh its spent token for as long
//! as the session lives. The figures are in docs/operations.md ("What one caller can make the database keep").

use std::sync::Arc;
use std::time::Duration;

use invoicing::app::App;
use invoicing::domain::api_key::Scope;
use invoicing::domain::audit::Actor;
use invoicing::domain::auth_code::CodeChallenge;
use invoicing::domain::catalog::Mode;
use invoicing::domain::idempotency::IdempotentRequest;
use invoicing::domain::oauth_client::ClientId;
use invoicing::domain::product::NewProduct;
use invoicing::domain::secret::Secret;
use invoicing::domain::session::{Device, TokenRequest};
use invoicing::domain::time::{ManualClock, SystemClock, Timestamp};
use invoicing::sqlite::Sqlite;
use openapi_dropshot_runtime::json;
use tempfile::TempDir;
use test_support::service::Service;

use crate::BINARY;
use crate::people::{ORIGIN, form, signed_in};

/// How many records to make; enough that the initial size of a table does not count.
const RECORDS: usize = 2_000;

/// A typical product.
fn usual() -> NewProduct {
    NewProduct {
        sku: Some("BEAN-1".into()),
        ..NewProduct::new("Espresso beans, 1 kg", "18.90".parse().unwrap(), "EUR")
    }
}

/// The bytes by which the file grows for each update that changes nothing, under a new key of `key_length` characters.
async fn bytes_of_a_record(product: NewProduct, key_length: usize) -> u64 {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("test.db");
    let store = Arc::new(Sqlite::open(&path).unwrap().into());
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = app.await.unwrap();
    let team = app.create_team("Acme").await.unwrap().id;
    let (mode, scope) = (Mode::Live, Scope::ReadWrite);
    let made = app.create_api_key(&Actor::Operator, team, mode, scope, None, None);
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
    // Each of these characters takes six in JSON.
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

/// Bytes in use after many refreshes, once only what is kept with the session remains of them.
#[tokio::test]
async fn a_refresh_takes_no_more_than_operators_are_told() {
    const REDIRECT_URI: &str = "com.example.app:/signed-in";
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("test.db");
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_795_211_340_123)));
    let store = Arc::new(Sqlite::open(&path).unwrap().into());
    let app = App::new(store, clock.clone(), "https://links.example");
    let app = app.await.unwrap();
    let user = app.create_user("ada@example.com", "Ada").await.unwrap().id;
    let uris = [REDIRECT_URI.to_owned()];
    app.create_oauth_client("app", "An app", &uris)
        .await
        .unwrap();
    let (client_id, code_verifier) = (ClientId::new("app"), Secret::base64url());
    let challenge = CodeChallenge::of(&code_verifier);
    let code = app.issue_auth_code(user, &client_id, REDIRECT_URI, challenge);
    let code = TokenRequest::AuthorizationCode {
        code: code.await.unwrap().code,
        code_verifier,
        redirect_uri: REDIRECT_URI.into(),
        client_id: client_id.clone(),
        device: Device::default(),
    };
    let mut tokens = app.exchange_token(code).await.unwrap();

    let in_use = || {
        let file = rusqlite::Connection::open(&path).unwrap();
        let pages = "SELECT page_size * (page_count - freelist_count) \
             FROM pragma_page_size, pragma_page_count, pragma_freelist_count";
        let bytes: i64 = file.query_row(pages, [], |row| row.get(0)).unwrap();
        bytes
    };
    let before = in_use();
    for _ in 0..RECORDS {
        clock.advance(Duration::from_millis(100));
        let refresh = app.exchange_token(TokenRequest::RefreshToken {
            refresh_token: tokens.refresh_token,
            client_id: client_id.clone(),
            device: Device::default(),
        });
        tokens = refresh.await.unwrap();
    }
    // With the access token, which stays for its hour and until the next cleanup.
    let first = (in_use() - before) / RECORDS as i64;
    clock.advance(Duration::from_secs(2 * 3_600));
    app.erase_successors().await.unwrap();
    app.delete_expired().await.unwrap();
    let kept = (in_use() - before) / RECORDS as i64;
    assert!(first <= 340, "{first} bytes a refresh in the first hour");
    assert!(kept <= 150, "{kept} bytes a refresh after that");
    println!("{first} then {kept}");
}

#[tokio::test]
async fn an_event_takes_no_more_than_operators_are_told() {
    let service = test_support::given!(Service::own(BINARY, &[("INVOICING_ORIGIN", ORIGIN)]));
    let (_, cookie) = test_support::given!(signed_in(&service).await);
    let database = test_support::given!(service.own_database());
    let Some(path) = database.strip_prefix("sqlite:") else {
        return;
    };
    let in_use = || {
        let file = rusqlite::Connection::open(path).unwrap();
        let pages = "SELECT page_size * (page_count - freelist_count) \
             FROM pragma_page_size, pragma_page_count, pragma_freelist_count";
        let bytes: i64 = file.query_row(pages, [], |row| row.get(0)).unwrap();
        bytes
    };
    // As many as fit in a burst.
    const CHANGES: i64 = 190;
    let before = in_use();
    for number in 0..CHANGES {
        let request = form("/account/name", &format!("name=Ada+{number}"));
        let request = request
            .header("cookie", &cookie)
            .header("user-agent", "x".repeat(1_000));
        let answer = service.caller.send_unchecked(request).await.unwrap();
        assert_eq!(answer.status, 303, "{answer:?}");
    }
    let bytes = (in_use() - before) / CHANGES;
    assert!((400..=800).contains(&bytes), "{bytes} bytes an event");
}
