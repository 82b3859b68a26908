//! The causes of failures, as the log and the operator see them.

use std::sync::Arc;

use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::time::SystemClock;
use invoicing::store::open;
use test_support::postgres::ask;

use super::relay::migrated;
use super::support::{live_key, plain};

#[tokio::test]
async fn what_postgresql_says_is_told_but_not_the_rows_that_it_quotes() {
    let url = migrated().await;
    let store = open(&url.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = app.await.unwrap();
    let team = app.create_team("Acme").await.unwrap().id;
    let (key, _) = live_key(&app, team).await.unwrap();
    ask(
        &url,
        "ALTER TABLE product ADD CONSTRAINT only_one CHECK (name = 'One')",
    );
    let failed = app.create_product(&key, plain("Confidential"), None).await;
    let error = failed.unwrap_err();
    assert!(matches!(error, Error::Internal(_)), "{error:?}");
    let told = error.causes();
    assert!(
        told.contains("violates check constraint \"only_one\" (23514)"),
        "{told}"
    );
    assert!(!told.contains("Confidential"), "{told}");
    assert_eq!(error.with_causes(), format!("{error}: {told}"));
}
