//! The health of the store.

use super::support::Service;

#[tokio::test]
async fn a_store_that_was_just_opened_is_healthy() {
    let service = Service::new().await;
    assert_eq!(service.app.check_health().await, Ok(()));
}
