//! Shared keys in SQLite.

use async_trait::async_trait;
use rusqlite::params;

use super::Sqlite;
use crate::domain::Error;
use crate::store::SecretStore;

#[async_trait]
impl SecretStore for Sqlite {
    async fn shared_secret(
        &self,
        name: &'static str,
        candidate: [u8; 32],
    ) -> Result<[u8; 32], Error> {
        let select = "SELECT value FROM secret WHERE name = ?1";
        let insert = "INSERT INTO secret (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        // Every command asks; only the first one ever has to wait for the lock.
        let found = self.read(|sql| sql.optional(select, [name], |row| row.get("value")))?;
        if let Some(secret) = found {
            return Ok(secret);
        }
        self.write(move |sql| {
            sql.execute(insert, params![name, candidate])?;
            sql.optional(select, [name], |row| row.get("value"))?
                .ok_or_else(|| Error::internal("a key that was just kept is not there"))
        })
        .await
    }
}
