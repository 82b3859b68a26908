//! What a store keeps of API keys.

use async_trait::async_trait;

use crate::domain::Error;
use crate::domain::api_key::ApiKey;
use crate::domain::id::{ApiKeyId, TeamId};
use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;

/// API keys in the store.
#[async_trait]
pub trait ApiKeyStore {
    /// Adds a key, known from now on by the digest of its text.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such team.
    async fn create_api_key(&self, key: ApiKey, digest: Digest) -> Result<(), Error>;

    /// The keys of a team, oldest first.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such team.
    async fn list_api_keys(&self, team_id: TeamId) -> Result<Vec<ApiKey>, Error>;

    /// The key with that digest, revoked and expired ones too.
    ///
    /// # Errors
    /// As every read: see the promises of [`crate::store`].
    async fn find_api_key(&self, digest: Digest) -> Result<Option<ApiKey>, Error>;

    /// Marks a key as revoked, unless it is already, and answers it.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such key.
    async fn revoke_api_key(&self, id: ApiKeyId, now: Timestamp) -> Result<ApiKey, Error>;

    /// Notes when keys were last used; a time before the one already noted changes nothing.
    ///
    /// # Errors
    /// As every change.
    async fn record_api_key_uses(&self, uses: Vec<(ApiKeyId, Timestamp)>) -> Result<(), Error>;
}
