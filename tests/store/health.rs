//! The health of the store.

use invoicing::store::SCHEMA_VERSION;

use super::engine::{AGE_SCHEMA, Database};
use super::support::{Service, live_key};

#[tokio::test]
async fn a_store_that_was_just_opened_is_healthy() {
    let service = Service::new().await;
    assert_eq!(service.app.check_health().await, Ok(()));
}

#[tokio::test]
async fn a_store_that_lacks_migrations_is_not_healthy() {
    let service = Service::new().await;
    service.database().change(AGE_SCHEMA);
    let problem = service.app.check_health().await.unwrap_err();
    assert_eq!(format!("{problem:?}"), "Migrations");
}

#[tokio::test]
async fn what_there_is_in_a_database_is_told_with_the_version_that_it_came_with() {
    let empty = Database::new();
    let service = Service::on(empty.open().await, Some(empty)).await;
    let app = &service.app;
    let found = async || {
        let found = app.overview().await.unwrap();
        (found.has_team, found.has_api_key, found.has_user)
    };
    assert_eq!(found().await, (false, false, false));
    let team = service.team().await;
    assert_eq!(found().await, (true, false, false));
    app.create_user("ada@example.com", "Ada").await.unwrap();
    assert_eq!(found().await, (true, false, true));
    live_key(app, team).await.unwrap();
    assert_eq!(found().await, (true, true, true));
    assert!(app.overview().await.unwrap().passwords);
    assert_eq!(app.found_schema_version(), 0);
    assert_eq!(service.another().await.found_schema_version(), SCHEMA_VERSION);
}
