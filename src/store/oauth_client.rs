//! What a store keeps of OAuth clients.

use async_trait::async_trait;

use crate::domain::Error;
use crate::domain::oauth_client::OauthClient;

/// OAuth clients in the store.
#[async_trait]
pub trait OauthClientStore {
    /// Adds a client with its redirect URIs.
    ///
    /// # Errors
    /// `OauthClient::exists`.
    async fn create_oauth_client(&self, client: OauthClient) -> Result<(), Error>;
}
