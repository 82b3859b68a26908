//! Share links in SQLite.

use async_trait::async_trait;
use rusqlite::{Row, params};
use uuid::Uuid;

use super::Sqlite;
use super::item::{item_exists, team_of_item};
use super::member::role_of;
use super::sql::Sql;
use super::user::require_user;
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
     created_by, user.name AS display_name, link.created_at, updated_at \
     FROM share_link AS link JOIN user ON user.id = created_by ";

#[async_trait]
impl ShareLinkStore for Sqlite {
    async fn list_links(&self, team_id: TeamId, item_id: ItemId) -> Result<Vec<ShareLink>, Error> {
        self.snapshot(|sql| {
            if !item_exists(sql, team_id, item_id)? {
                return Err(Error::ItemNotFound);
            }
            links_of(sql, team_id, item_id)
        })
    }

    async fn create_link(&self, link: NewShareLink) -> Result<ShareLink, Error> {
        self.write(move |sql| {
            let item_id = link.create.item_id;
            let team_id = team_of_item(sql, item_id)?;
            require_user(sql, link.create.user_id)?;
            role_of(sql, team_id, link.create.user_id)?.ok_or(Error::NotAMember)?;
            if count_links(sql, team_id, item_id)? >= LINKS_PER_ITEM {
                return Err(ShareLink::too_many(item_id));
            }
            insert_link(sql, team_id, &link)?;
            sql.optional(
                &format!("{SELECT} WHERE link.id = ?1"),
                [link.id],
                read_link,
            )?
            .ok_or_else(|| Error::internal("a link that was just made is not there"))
        })
        .await
    }

    async fn revoke_link(&self, id: ShareLinkId, now: Timestamp) -> Result<(), Error> {
        let revoke = "UPDATE share_link SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1";
        self.write(move |sql| match sql.execute(revoke, params![id, now])? {
            0 => Err(ShareLink::missing(id)),
            _ => Ok(()),
        })
        .await
    }
}

/// The links of an item, newest first: ids order them as they were made.
fn links_of(sql: Sql<'_>, team_id: TeamId, item_id: ItemId) -> Result<Vec<ShareLink>, Error> {
    let select = format!(
        "{SELECT} WHERE link.team_id = ?1 AND item_type = ?2 AND item_id = ?3 AND revoked_at IS NULL \
         ORDER BY link.id DESC"
    );
    sql.all(
        &select,
        params![team_id, item_id.item_type(), item_id.uuid().as_bytes()],
        read_link,
    )
}

fn count_links(sql: Sql<'_>, team_id: TeamId, item_id: ItemId) -> Result<usize, Error> {
    let count = "SELECT count(*) AS links FROM share_link \
         WHERE team_id = ?1 AND item_type = ?2 AND item_id = ?3 AND revoked_at IS NULL";
    let found: Option<i64> = sql.optional(
        count,
        params![team_id, item_id.item_type(), item_id.uuid().as_bytes()],
        |row| row.get("links"),
    )?;
    Ok(found.map_or(0, |links| links as usize)) // a count is not negative
}

fn insert_link(sql: Sql<'_>, team_id: TeamId, link: &NewShareLink) -> Result<(), Error> {
    let insert = "INSERT INTO share_link (team_id, id, item_type, item_id, secret, name, audience, \
         can_view, can_download, password, expires_at, created_by, created_at, updated_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, TRUE, ?8, ?9, ?10, ?11, ?12, ?12)";
    let NewShareLink {
        id,
        create,
        secret,
        password_hash,
        expires_at,
        now,
    } = link;
    let password = password_hash.as_ref().map(Secret::reveal);
    sql.execute(
        insert,
        params![
            team_id,
            id,
            create.item_id.item_type(),
            create.item_id.uuid().as_bytes(),
            secret.reveal(),
            create.name,
            create.audience,
            create.can_download,
            password,
            expires_at,
            create.user_id,
            now,
        ],
    )?;
    Ok(())
}

fn read_link(row: &Row<'_>) -> rusqlite::Result<ShareLink> {
    Ok(ShareLink {
        id: row.get("id")?,
        item_id: ItemId::new(row.get("item_type")?, Uuid::from_bytes(row.get("item_id")?)),
        secret: Secret::from_text(row.get::<_, String>("secret")?),
        name: row.get("name")?,
        audience: row.get("audience")?,
        permissions: Permissions {
            can_view: row.get("can_view")?,
            can_download: row.get("can_download")?,
        },
        password_protected: row.get("password_protected")?,
        expires_at: row.get("expires_at")?,
        view_count: row.get("view_count")?,
        download_count: row.get("download_count")?,
        last_viewed_at: row.get("last_viewed_at")?,
        created_by: Creator {
            id: row.get("created_by")?,
            display_name: row.get("display_name")?,
        },
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
