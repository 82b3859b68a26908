//! OAuth clients. The exact match of redirect URIs is tested with the codes, in `session/code.rs`.

use invoicing::domain::Error;

use super::support::Service;

#[tokio::test]
async fn a_client_has_an_id_of_its_own() {
    let service = Service::new().await;
    let uris = ["com.example.app:/cb".to_owned()];
    let client = service
        .app
        .create_oauth_client("app", "The app", &uris)
        .await
        .unwrap();
    assert_eq!(
        (client.id.as_str(), client.name.as_str()),
        ("app", "The app")
    );
    assert_eq!(client.redirect_uris, uris);
    let again = service
        .app
        .create_oauth_client("app", "Another", &uris)
        .await;
    assert!(matches!(again, Err(Error::Refused(_))), "{again:?}");
    assert!(
        service
            .app
            .create_oauth_client("App", "Another", &uris)
            .await
            .is_ok()
    );
}
