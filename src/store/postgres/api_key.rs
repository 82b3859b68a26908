//! API keys in PostgreSQL.
//!
//! A change on the word of a key finds it valid, and nobody revokes it until the commit. Both take a lock that the
//! database keeps for this alone: changes share it, a revocation has it for itself, and it ends with the
//! transaction, after what was committed can be seen. A lock on the row would do the same, but each create would
//! write to it, and a key in constant use would let nobody revoke it: those who share a row may overtake one who
//! waits for it, and those who share a lock may not.

use async_trait::async_trait;
use tokio_postgres::Row;

use super::Postgres;
use super::sql::{Failure, Sql};
use super::team::require_team;
use super::values::params;
use crate::app::Error;
use crate::app::api_key::{ApiKey, Author};
use crate::app::id::{ApiKeyId, TeamId};
use crate::app::secret::Digest;
use crate::app::time::Timestamp;
use crate::store::ApiKeyStore;

/// A key as [`read_api_key`] reads it.
const COLUMNS: &str =
    "id, team_id, mode, scope, name, created_at, expires_at, revoked_at, last_used_at";

#[async_trait]
impl ApiKeyStore for Postgres {
    async fn create_api_key(&self, key: ApiKey, digest: Digest) -> Result<(), Error> {
        let insert = "INSERT INTO api_key (team_id, id, digest, mode, scope, name, \
             created_at, expires_at, revoked_at, last_used_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let key = &key;
        self.write(|sql| async move {
            require_team(&sql, key.team_id).await?;
            let values = params![
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
            ];
            sql.execute(insert, values).await?;
            Ok(())
        })
        .await
    }

    async fn list_api_keys(&self, team_id: TeamId) -> Result<Vec<ApiKey>, Error> {
        let select = &format!("SELECT {COLUMNS} FROM api_key WHERE team_id = $1 ORDER BY id");
        self.read(|sql| async move {
            require_team(&sql, team_id).await?;
            sql.all(select, params![team_id], read_api_key).await
        })
        .await
    }

    async fn find_api_key(&self, digest: Digest) -> Result<Option<ApiKey>, Error> {
        let select = &format!("SELECT {COLUMNS} FROM api_key WHERE digest = $1");
        self.read(|sql| async move { sql.optional(select, params![digest], read_api_key).await })
            .await
    }

    async fn revoke_api_key(&self, id: ApiKeyId, now: Timestamp) -> Result<ApiKey, Error> {
        let update = &format!(
            "UPDATE api_key SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 RETURNING {COLUMNS}"
        );
        let alone = "SELECT pg_advisory_xact_lock($1)";
        let lock = lock_of(id);
        let revoke = || {
            self.write(|sql| async move {
                let statements = [(alone, &params![lock][..]), (update, params![id, now])];
                let [_, found] = sql.together(statements).await?;
                let found = found.first().map(read_api_key).transpose()?;
                Ok(found.ok_or_else(|| ApiKey::missing(id))?)
            })
        };
        match revoke().await {
            // A replica that is frozen while its statement waits keeps the lock for longer than a change may take: until
            // the statement has ended, and then until the server has had enough. To revoke twice is to revoke once.
            Err(Error::Unavailable(_)) => revoke().await,
            done => done,
        }
    }

    /// Replicas note the uses of the same keys, so they lock them in one order.
    async fn record_api_key_uses(&self, uses: Vec<(ApiKeyId, Timestamp)>) -> Result<(), Error> {
        let update = "WITH used AS (SELECT * FROM unnest($1::uuid[], $2::bigint[]) AS used (id, used_at)), \
             locked AS (SELECT api_key.team_id, api_key.id, used_at FROM api_key JOIN used USING (id) \
                 ORDER BY api_key.id FOR UPDATE OF api_key) \
             UPDATE api_key SET last_used_at = greatest(last_used_at, used_at) FROM locked \
             WHERE api_key.team_id = locked.team_id AND api_key.id = locked.id";
        let (ids, times): (Vec<_>, Vec<_>) = uses
            .into_iter()
            .map(|(id, time)| (id.0, time.as_millis()))
            .unzip();
        let (ids, times) = (&ids, &times);
        self.write(|sql| async move {
            sql.execute(update, params![ids, times]).await?;
            Ok(())
        })
        .await
    }
}

/// Makes a change on the word of an author, whose key has to be valid `now`. For use inside a transaction. The
/// question travels with the first statements of `change`, in front of them.
pub(super) async fn on_the_word_of<T>(
    sql: &Sql,
    author: Author,
    now: Timestamp,
    change: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let lock = lock_of(author.key_id);
    let share = "SELECT pg_advisory_xact_lock_shared($1)";
    // A statement of its own: it has to see what was committed while the lock was waited for.
    let select = &format!("SELECT {COLUMNS} FROM api_key WHERE team_id = $1 AND id = $2");
    let lock = params![lock];
    let key = params![author.catalog.team_id, author.key_id];
    // To the end, also where the key has ended: that is the answer then, whatever has become of the change. And so is
    // what fails of the question, as the change only knows that its transaction has ended.
    let question = [(share, &lock[..]), (select, key)];
    let ([_, found], changed) = sql.together_before(question, change).await?;
    let key = found.first().map(read_api_key).transpose()?;
    key.ok_or(Error::InvalidToken)?.require_valid(now)?;
    changed
}

/// The number of a key's lock: what is random of its id. Two keys that share one would only wait for each other.
fn lock_of(id: ApiKeyId) -> i64 {
    id.0.as_u64_pair().1.cast_signed()
}

fn read_api_key(row: &Row) -> Result<ApiKey, tokio_postgres::Error> {
    Ok(ApiKey {
        id: row.try_get("id")?,
        team_id: row.try_get("team_id")?,
        mode: row.try_get("mode")?,
        scope: row.try_get("scope")?,
        name: row.try_get("name")?,
        created_at: row.try_get("created_at")?,
        expires_at: row.try_get("expires_at")?,
        revoked_at: row.try_get("revoked_at")?,
        last_used_at: row.try_get("last_used_at")?,
    })
}
