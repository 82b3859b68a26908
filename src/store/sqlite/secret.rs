//! Shared keys in SQLite.

use async_trait::async_trait;
use rusqlite::params;

use super::Sqlite;
use crate::app::Error;
use crate::store::SecretStore;

#[async_trait]
impl SecretStore for Sqlite {
    async fn shared_secret(
        &self,
        name: &'static str,
        candidate: [u8; 32],
    ) -> Result<[u8; 32], Error> {
        let insert = "INSERT INTO secret (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        let select = "SELECT value FROM secret WHERE name = ?1";
        self.write(move |sql| {
            sql.execute(insert, params![name, candidate])?;
            sql.optional(select, [name], |row| row.get("value"))?
                .ok_or_else(|| Error::internal("a key that was just kept is not there"))
        })
        .await
    }
}
