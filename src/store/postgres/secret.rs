//! Shared keys in PostgreSQL.

use async_trait::async_trait;

use super::Postgres;
use super::values::params;
use crate::domain::Error;
use crate::store::SecretStore;

#[async_trait]
impl SecretStore for Postgres {
    async fn shared_secret(
        &self,
        name: &'static str,
        candidate: [u8; 32],
    ) -> Result<[u8; 32], Error> {
        let select = "SELECT value FROM secret WHERE name = $1";
        let insert =
            "INSERT INTO secret (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
        // Every command asks; only the first one ever has something to write.
        let found = self
            .read(|sql| async move {
                sql.optional(select, params![name], |row| row.try_get::<_, Vec<u8>>(0))
                    .await
            })
            .await?;
        let secret = match found {
            Some(secret) => secret,
            None => {
                let kept = self.write(|sql| async move {
                    sql.execute(insert, params![name, candidate.as_slice()])
                        .await?;
                    let kept = sql
                        .optional(select, params![name], |row| row.try_get(0))
                        .await?;
                    Ok(kept)
                });
                kept.await?
                    .ok_or_else(|| Error::internal("a key that was just kept is not there"))?
            }
        };
        secret
            .try_into()
            .map_err(|_| Error::internal("a shared key has not 32 bytes"))
    }
}
