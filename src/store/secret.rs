//! Keys that every process on one database shares.

use async_trait::async_trait;

use crate::domain::Error;

/// Shared keys in the store.
#[async_trait]
pub trait SecretStore {
    /// The key called `name`: the one that is there, or else `candidate`, which is kept from now on.
    ///
    /// # Errors
    /// As every change: see the promises of [`crate::store`].
    async fn shared_secret(
        &self,
        name: &'static str,
        candidate: [u8; 32],
    ) -> Result<[u8; 32], Error>;
}
