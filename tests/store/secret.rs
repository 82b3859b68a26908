//! Secrets that all processes on one database share.

use invoicing::domain::holder::Holder;
use invoicing::store::{Sql, secret};

use super::support::Service;

/// The key of the cursors, as the database has it.
async fn cursor_key(service: &Service) -> Option<[u8; 32]> {
    let find = async |sql: Sql<'_>| sql.run(secret::find(secret::SharedSecret::Cursor)).await;
    service.store.read(Holder::Service, find).await.unwrap()
}

#[tokio::test]
async fn each_database_has_a_key_of_its_own_which_is_kept() {
    let (service, other) = (Service::new().await, Service::new().await);
    let key = cursor_key(&service).await;
    assert!(key.is_some());
    assert_ne!(key, cursor_key(&other).await);
    service.another().await;
    assert_eq!(key, cursor_key(&service).await);
}
