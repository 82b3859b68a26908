//! Share links in PostgreSQL.

use async_trait::async_trait;
use futures::future::try_join;
use tokio_postgres::Row;

use super::Postgres;
use super::item::{item_exists, lock_item};
use super::member::role_of;
use super::sql::{Failure, Sql};
use super::user::require_user;
use super::values::params;
use crate::domain::Error;
use crate::domain::id::{ShareLinkId, TeamId};
use crate::domain::item::ItemId;
use crate::domain::secret::Secret;
use crate::domain::share_link::{Creator, LINKS_PER_ITEM, NewShareLink, Permissions, ShareLink};
use crate::domain::time::Timestamp;
use crate::store::ShareLinkStore;

/// A link as [`read_link`] reads it. The password stays in the store.
const SELECT: &str = "SELECT link.id, item_type, item_id, secret, link.name, audience, can_view, can_download, \
     password IS NOT NULL AS password_protected, expires_at, view_count, download_count, last_viewed_at, \
     created_by, creator.name AS display_name, link.created_at, updated_at \
     FROM share_link AS link JOIN \"user\" AS creator ON creator.id = created_by ";

#[async_trait]
impl ShareLinkStore for Postgres {
    async fn list_links(&self, team_id: TeamId, item_id: ItemId) -> Result<Vec<ShareLink>, Error> {
        self.read(|sql| async move {
            let there = item_exists(&sql, team_id, item_id);
            let (there, links) = try_join(there, links_of(&sql, team_id, item_id)).await?;
            match there {
                true => Ok(links),
                false => Err(Error::ItemNotFound.into()),
            }
        })
        .await
    }

    async fn create_link(&self, link: NewShareLink) -> Result<ShareLink, Error> {
        let link = &link;
        self.write(|sql| async move {
            let item_id = link.create.item_id;
            let team_id = lock_item(&sql, item_id).await?;
            require_user(&sql, link.create.user_id).await?;
            // Nobody removes the member before the commit.
            let role = role_of(&sql, team_id, link.create.user_id, "FOR SHARE").await?;
            role.ok_or(Error::NotAMember)?;
            if count_links(&sql, team_id, item_id).await? >= LINKS_PER_ITEM {
                return Err(ShareLink::too_many(item_id).into());
            }
            insert_link(&sql, team_id, link).await?;
            let select = format!("{SELECT} WHERE link.team_id = $1 AND link.id = $2");
            let made = sql
                .optional(&select, params![team_id, link.id], read_link)
                .await?;
            Ok(made.ok_or_else(|| Error::internal("a link that was just made is not there"))?)
        })
        .await
    }

    async fn revoke_link(&self, id: ShareLinkId, now: Timestamp) -> Result<(), Error> {
        let revoke = "UPDATE share_link SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1";
        self.write(|sql| async move {
            match sql.execute(revoke, params![id, now]).await? {
                0 => Err(ShareLink::missing(id).into()),
                _ => Ok(()),
            }
        })
        .await
    }
}

/// The links of an item, newest first: ids order them as they were made.
async fn links_of(sql: &Sql, team_id: TeamId, item_id: ItemId) -> Result<Vec<ShareLink>, Failure> {
    let select = format!(
        "{SELECT} WHERE link.team_id = $1 AND item_type = $2 AND item_id = $3 AND revoked_at IS NULL \
         ORDER BY link.id DESC"
    );
    let (item_type, item_id) = (item_id.item_type(), item_id.uuid());
    let values = params![team_id, item_type, item_id];
    sql.all(&select, values, read_link).await
}

async fn count_links(sql: &Sql, team_id: TeamId, item_id: ItemId) -> Result<usize, Failure> {
    let count = "SELECT count(*) AS links FROM share_link \
         WHERE team_id = $1 AND item_type = $2 AND item_id = $3 AND revoked_at IS NULL";
    let (item_type, item_id) = (item_id.item_type(), item_id.uuid());
    let values = params![team_id, item_type, item_id];
    let found = sql
        .optional(count, values, |row| row.try_get::<_, i64>("links"))
        .await?;
    Ok(found.map_or(0, |links| links as usize)) // a count is not negative
}

async fn insert_link(sql: &Sql, team_id: TeamId, link: &NewShareLink) -> Result<(), Failure> {
    let insert = "INSERT INTO share_link (team_id, id, item_type, item_id, secret, name, audience, \
         can_view, can_download, password, expires_at, created_by, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, TRUE, $8, $9, $10, $11, $12, $12)";
    let NewShareLink {
        id,
        create,
        secret,
        password_hash,
        expires_at,
        now,
    } = link;
    let (item_type, item_id) = (create.item_id.item_type(), create.item_id.uuid());
    let (secret, password) = (secret.reveal(), password_hash.as_ref().map(Secret::reveal));
    let values = params![
        team_id,
        id,
        item_type,
        item_id,
        secret,
        create.name,
        create.audience,
        create.can_download,
        password,
        expires_at,
        create.user_id,
        now,
    ];
    sql.execute(insert, values).await?;
    Ok(())
}

fn read_link(row: &Row) -> Result<ShareLink, tokio_postgres::Error> {
    Ok(ShareLink {
        id: row.try_get("id")?,
        item_id: ItemId::new(row.try_get("item_type")?, row.try_get("item_id")?),
        secret: Secret::from_text(row.try_get::<_, String>("secret")?),
        name: row.try_get("name")?,
        audience: row.try_get("audience")?,
        permissions: Permissions {
            can_view: row.try_get("can_view")?,
            can_download: row.try_get("can_download")?,
        },
        password_protected: row.try_get("password_protected")?,
        expires_at: row.try_get("expires_at")?,
        view_count: row.try_get("view_count")?,
        download_count: row.try_get("download_count")?,
        last_viewed_at: row.try_get("last_viewed_at")?,
        created_by: Creator {
            id: row.try_get("created_by")?,
            display_name: row.try_get("display_name")?,
        },
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}
