//! The sku of a product: unique among the active products of a catalog.

use openapi_dropshot_runtime::Field;
use invoicing::domain::Error;
use invoicing::domain::catalog::Mode;
use invoicing::domain::api_key::Scope;
use invoicing::domain::product::ProductChanges;

use super::support::{Service, plain, with_sku};

pub(super) fn sku(sku: &str) -> ProductChanges {
    ProductChanges {
        sku: Field::Value(sku.into()),
        ..Default::default()
    }
}

#[tokio::test]
async fn a_sku_is_taken_while_an_active_product_of_the_catalog_has_it() {
    let service = Service::new().await;
    let key = service.writer().await;
    service
        .app
        .create_product(&key, with_sku("A"), None)
        .await
        .unwrap();
    let second = service
        .app
        .create_product(&key, plain("B"), None)
        .await
        .unwrap()
        .value;
    let duplicate = |error| matches!(error, Some(Error::DuplicateSku));
    assert!(duplicate(
        service
            .app
            .create_product(&key, with_sku("A"), None)
            .await
            .err()
    ));
    assert!(duplicate(
        service
            .app
            .update_product(&key, second.id, sku("A"), None)
            .await
            .err()
    ));
    assert_eq!(
        service.app.get_product(&key, second.id).await.unwrap(),
        second
    );
}

/// Its own sku, another case, another mode, another team, and no sku at all.
#[tokio::test]
async fn a_sku_that_no_other_active_product_of_the_catalog_has_is_free() {
    let service = Service::new().await;
    let key = service.writer().await;
    let first = service
        .app
        .create_product(&key, with_sku("A"), None)
        .await
        .unwrap()
        .value;
    service
        .app
        .update_product(&key, first.id, sku("A"), None)
        .await
        .unwrap();
    service
        .app
        .create_product(&key, with_sku("a"), None)
        .await
        .unwrap();
    service
        .app
        .create_product(&key, plain("C"), None)
        .await
        .unwrap();
    let test_mode = service.key(key.team_id, Mode::Test, Scope::ReadWrite).await;
    service
        .app
        .create_product(&test_mode, with_sku("A"), None)
        .await
        .unwrap();
    service
        .app
        .create_product(&service.writer().await, with_sku("A"), None)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_sku_is_free_again_once_archived_cleared_or_changed() {
    let service = Service::new().await;
    let key = service.writer().await;
    let clear = ProductChanges {
        sku: Field::Null,
        ..Default::default()
    };
    let mut id = service
        .app
        .create_product(&key, with_sku("A"), None)
        .await
        .unwrap()
        .value
        .id;
    for change in [None, Some(clear), Some(sku("Z"))] {
        match change {
            None => service.app.archive_product(&key, id, None).await.unwrap(),
            Some(change) => {
                service
                    .app
                    .update_product(&key, id, change, None)
                    .await
                    .unwrap();
            }
        }
        id = service
            .app
            .create_product(&key, with_sku("A"), None)
            .await
            .unwrap()
            .value
            .id;
    }
}

#[tokio::test]
async fn changing_an_archived_product_never_conflicts() {
    let service = Service::new().await;
    let key = service.writer().await;
    let archived = service
        .app
        .create_product(&key, with_sku("A"), None)
        .await
        .unwrap()
        .value
        .id;
    service.app.archive_product(&key, archived, None).await.unwrap();
    service
        .app
        .create_product(&key, with_sku("A"), None)
        .await
        .unwrap();
    service
        .app
        .create_product(&key, with_sku("B"), None)
        .await
        .unwrap();
    for text in ["A", "B"] {
        service
            .app
            .update_product(&key, archived, sku(text), None)
            .await
            .unwrap();
    }
    // Nor does an archived product with the same sku prevent archiving the other one.
    let nothing = ProductChanges::default();
    service
        .app
        .update_product(&key, archived, nothing, None)
        .await
        .unwrap();
}

#[tokio::test]
async fn one_of_64_at_once_with_one_sku_wins() {
    let service = Service::new().await;
    let key = service.writer().await;
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let (app, key) = (service.app.clone(), key.clone());
            tokio::spawn(async move { app.create_product(&key, with_sku("A"), None).await })
        })
        .collect();
    let mut made = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => made += 1,
            Err(error) => assert!(matches!(error, Error::DuplicateSku), "{error:?}"),
        }
    }
    assert_eq!(made, 1);
}
