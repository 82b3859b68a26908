//! API keys in SQLite.

use async_trait::async_trait;
use rusqlite::{Row, params};

use super::Sqlite;
use super::sql::{Columns, Sql};
use super::team::require_team;
use crate::domain::Error;
use crate::domain::api_key::{ApiKey, Author};
use crate::domain::id::{ApiKeyId, TeamId};
use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;
use crate::store::ApiKeyStore;

/// A query for keys: all columns in the order of [`read_api_key`], and the rest of the statement.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, team_id, mode, scope, name, created_at, expires_at, revoked_at, last_used_at
             FROM api_key ",
            $rest
        )
    };
}

#[async_trait]
impl ApiKeyStore for Sqlite {
    async fn create_api_key(&self, key: ApiKey, digest: Digest) -> Result<(), Error> {
        self.write(move |sql| {
            require_team(sql, key.team_id)?;
            sql.execute(
                "INSERT INTO api_key (team_id, id, digest, mode, scope, name,
                     created_at, expires_at, revoked_at, last_used_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    key.team_id,
                    key.id,
                    digest,
                    key.mode,
                    key.scope,
                    key.name,
                    key.created_at,
                    key.expires_at,
                    key.revoked_at,
                    key.last_used_at,
                ],
            )?;
            Ok(())
        })
        .await
    }

    async fn list_api_keys(&self, team_id: TeamId) -> Result<Vec<ApiKey>, Error> {
        self.snapshot(|sql| {
            require_team(sql, team_id)?;
            let select = select!("WHERE team_id = ?1 ORDER BY id");
            sql.all(select, [team_id], read_api_key)
        })
    }

    async fn find_api_key(&self, digest: Digest) -> Result<Option<ApiKey>, Error> {
        let select = select!("WHERE digest = ?1");
        self.read(|sql| sql.optional(select, [digest], read_api_key))
    }

    async fn revoke_api_key(&self, id: ApiKeyId, now: Timestamp) -> Result<ApiKey, Error> {
        let update = "UPDATE api_key SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1";
        let select = select!("WHERE id = ?1");
        self.write(move |sql| {
            sql.execute(update, params![id, now])?;
            sql.optional(select, [id], read_api_key)?
                .ok_or_else(|| ApiKey::missing(id))
        })
        .await
    }

    async fn record_api_key_uses(&self, uses: Vec<(ApiKeyId, Timestamp)>) -> Result<(), Error> {
        let update = "UPDATE api_key SET last_used_at = ?2
                      WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";
        self.write(move |sql| {
            for (id, time) in &uses {
                sql.execute(update, params![id, time])?;
            }
            Ok(())
        })
        .await
    }
}

/// Refuses an author whose key has ended by `now`. For use inside a transaction: whoever revokes the key has to
/// wait for its end, as every other change does.
pub(super) fn require_valid_key(sql: Sql<'_>, author: Author, now: Timestamp) -> Result<(), Error> {
    let select = select!("WHERE team_id = ?1 AND id = ?2");
    let key = params![author.catalog.team_id, author.key_id];
    sql.optional(select, key, read_api_key)?
        .ok_or(Error::InvalidToken)?
        .require_valid(now)
}

/// The columns of `select!`, in its order.
fn read_api_key(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    let mut columns = Columns::of(row);
    Ok(ApiKey {
        id: columns.take()?,
        team_id: columns.take()?,
        mode: columns.take()?,
        scope: columns.take()?,
        name: columns.take()?,
        created_at: columns.take()?,
        expires_at: columns.take()?,
        revoked_at: columns.take()?,
        last_used_at: columns.take()?,
    })
}
