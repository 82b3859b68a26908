//! Users.

use invoicing::domain::Error;
use invoicing::domain::id::UserId;

use super::support::{START, Service};

#[tokio::test]
async fn a_user_has_an_email_and_a_name() {
    let service = Service::new().await;
    let user = service
        .app
        .create_user("Ada@example.com", " Ada ")
        .await
        .unwrap();
    assert_eq!(
        (user.email.as_str(), user.name.as_str()),
        ("Ada@example.com", "Ada")
    );
    assert_eq!(user.created_at, START);
}

#[tokio::test]
async fn an_email_belongs_to_one_user_whatever_its_case_until_that_user_is_removed() {
    let service = Service::new().await;
    let ada = service
        .app
        .create_user("ada@example.com", "Ada")
        .await
        .unwrap();
    let again = service.app.create_user("ADA@example.com", "Another").await;
    assert!(matches!(again, Err(Error::Refused(_))), "{again:?}");
    service.app.delete_user(ada.id).await.unwrap();
    assert!(
        service
            .app
            .create_user("ADA@example.com", "Another")
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_user_is_removed_once() {
    let service = Service::new().await;
    let ada = service
        .app
        .create_user("ada@example.com", "Ada")
        .await
        .unwrap();
    service.app.delete_user(ada.id).await.unwrap();
    for unknown in [ada.id, UserId(uuid::Uuid::nil())] {
        let result = service.app.delete_user(unknown).await;
        assert!(matches!(result, Err(Error::Missing { noun: "user", .. })));
    }
}
