//! Share links. A link's password hash is written but never read back.

use uuid::Uuid;

use super::Batch;
use crate::domain::id::{ShareLinkId, TeamId, UserId};
use crate::domain::item::ItemId;
use crate::domain::list::Part;
use crate::domain::share_link::{Creator, ListedShareLink, NewShareLink, Permissions, ShareLink};
use crate::domain::time::Timestamp;
use crate::sql::value::Columns;
use crate::sql::{ScriptError, sql, table, values};

table! {
    /// The rows of share links.
    pub(super) mod row = "share_link", key [id];
    (
        id: Uuid, team_id: Uuid, item_type: Text, item_id: Uuid, secret: Text, name: Text, audience: Text,
        can_view: Boolean, can_download: Boolean, password: Text, expires_at: Integer, view_count: Integer,
        download_count: Integer, last_viewed_at: Integer, created_by: Uuid, created_at: Integer,
        updated_at: Integer,
    )
    (revoked_at: Integer)
}

/// A link as [`read`] reads it.
const COLUMNS: &str = "SELECT link.id, item_type, item_id, secret, link.name, audience, can_view, can_download, \
     password IS NOT NULL, expires_at, view_count, download_count, last_viewed_at, created_by, creator.name, \
     link.created_at, updated_at";

const FROM: &str = " FROM share_link AS link JOIN \"user\" AS creator ON creator.id = created_by ";

/// The name of the item, in the team `$1`.
const ITEM_NAME: &str = ", coalesce( \
     (SELECT name FROM file WHERE item_type = 'file' AND file.team_id = $1 AND file.id = item_id), \
     (SELECT name FROM folder WHERE item_type = 'folder' AND folder.team_id = $1 AND folder.id = item_id), '')";

fn read(row: &mut Columns<'_>) -> Result<ShareLink, ScriptError> {
    Ok(ShareLink {
        id: row.take()?,
        item_id: ItemId::new(row.take()?, row.take()?),
        secret: row.take()?,
        name: row.take()?,
        audience: row.take()?,
        permissions: Permissions {
            can_view: row.take()?,
            can_download: row.take()?,
        },
        password_protected: row.take()?,
        expires_at: row.take()?,
        view_count: row.take()?,
        download_count: row.take()?,
        last_viewed_at: row.take()?,
        created_by: Creator {
            id: row.take()?,
            display_name: row.take()?,
        },
        created_at: row.take()?,
        updated_at: row.take()?,
    })
}

/// Adds a link to an item of a team.
pub fn insert(team_id: TeamId, link: &NewShareLink) -> impl Batch {
    let NewShareLink {
        id,
        create,
        secret,
        password_hash,
        expires_at,
        now,
    } = link;
    let item_id = create.item_id;
    sql!(row::INSERT).with(values![
        id,
        team_id,
        item_id.item_type(),
        item_id.uuid(),
        secret,
        &create.name,
        create.audience,
        true,
        create.can_download,
        password_hash,
        expires_at,
        0_i64,
        0_i64,
        None::<Timestamp>,
        create.user_id,
        now,
        now,
    ])
}

/// The team's link with that id.
pub fn find(team_id: TeamId, id: ShareLinkId) -> impl Batch<Out = Option<ShareLink>> {
    sql!(COLUMNS, FROM, "WHERE link.team_id = $1 AND link.id = $2")
        .with(values![team_id, id])
        .first(read)
}

/// The condition for a link of an item: it is not revoked.
const OF_ITEM: &str = "team_id = $1 AND item_type = $2 AND item_id = $3 AND revoked_at IS NULL";

/// The links of an item that are not revoked, newest first: ids sort by creation time.
pub fn list(team_id: TeamId, item_id: ItemId) -> impl Batch<Out = Vec<ShareLink>> {
    sql!(COLUMNS, FROM, "WHERE ", OF_ITEM, " ORDER BY link.id DESC")
        .with(values![team_id, item_id.item_type(), item_id.uuid()])
        .all(read)
}

const OF_TEAM: &str = "WHERE link.team_id = $1 AND link.id < $2 AND revoked_at IS NULL ORDER BY link.id DESC LIMIT $3";

/// The links of a team that are not revoked, newest first.
pub fn list_team(team_id: TeamId, part: Part<ShareLinkId>) -> impl Batch<Out = Vec<ShareLink>> {
    let after = part.after.unwrap_or(ShareLinkId(Uuid::max()));
    sql!(COLUMNS, FROM, OF_TEAM)
        .with(values![team_id, after, part.limit])
        .all(read)
}

const OF_USER: &str =
    "WHERE created_by = $1 AND link.id < $2 AND revoked_at IS NULL ORDER BY link.id DESC LIMIT $3";

/// The links that a user has made and that are not revoked, in all teams, newest first.
pub fn list_user(user_id: UserId, part: Part<ShareLinkId>) -> impl Batch<Out = Vec<ShareLink>> {
    let after = part.after.unwrap_or(ShareLinkId(Uuid::max()));
    sql!(COLUMNS, FROM, OF_USER)
        .with(values![user_id, after, part.limit])
        .all(read)
}

/// The links of a team that are not revoked, newest first, each with the item's name.
pub fn list_named(
    team_id: TeamId,
    part: Part<ShareLinkId>,
) -> impl Batch<Out = Vec<ListedShareLink>> {
    let after = part.after.unwrap_or(ShareLinkId(Uuid::max()));
    sql!(COLUMNS, ITEM_NAME, FROM, OF_TEAM)
        .with(values![team_id, after, part.limit])
        .all(|row| {
            Ok(ListedShareLink {
                link: read(row)?,
                item_name: row.take()?,
            })
        })
}

/// The links that a user has made, revoked ones included, each with its team, oldest first.
pub fn list_made_by(
    user_id: UserId,
    part: Part<ShareLinkId>,
) -> impl Batch<Out = Vec<(ShareLink, TeamId)>> {
    let after = part.after.unwrap_or(ShareLinkId(Uuid::nil()));
    sql!(
        COLUMNS,
        ", team_id",
        FROM,
        "WHERE created_by = $1 AND link.id > $2 ORDER BY link.id LIMIT $3"
    )
    .with(values![user_id, after, part.limit])
    .all(|row| Ok((read(row)?, row.take()?)))
}

/// The team of a link.
pub fn find_team(id: ShareLinkId) -> impl Batch<Out = Option<TeamId>> {
    sql!("SELECT team_id FROM share_link WHERE id = $1")
        .with(values![id])
        .first(|row| Ok(row.take()?))
}

/// Whether a link is revoked. Locks the link, so that it is not revoked before the end of the transaction.
pub fn lock(team_id: TeamId, id: ShareLinkId) -> impl Batch<Out = Option<bool>> {
    sql!("SELECT revoked_at IS NOT NULL FROM share_link WHERE team_id = $1 AND id = $2 FOR UPDATE")
        .with(values![team_id, id])
        .first(|row| Ok(row.take()?))
}

/// How many links of a team are not revoked, counted up to `most`.
pub fn count_unrevoked(team_id: TeamId, most: i64) -> impl Batch<Out = Option<i64>> {
    sql!(
        "SELECT count(*) FROM (SELECT 1 FROM share_link WHERE team_id = $1 AND revoked_at IS NULL LIMIT $2) AS found"
    )
    .with(values![team_id, most])
    .first(|row| Ok(row.take()?))
}

/// Marks all links of a team as revoked.
pub fn revoke_all(team_id: TeamId, now: Timestamp) -> impl Batch {
    sql!("UPDATE share_link SET revoked_at = $2 WHERE team_id = $1 AND revoked_at IS NULL")
        .with(values![team_id, now])
}

/// Marks all links of an item as revoked. The item must be locked. Returns how many were not revoked before.
pub fn revoke_of_item(team_id: TeamId, item_id: ItemId, now: Timestamp) -> impl Batch<Out = u64> {
    sql!("UPDATE share_link SET revoked_at = $4 WHERE ", OF_ITEM).with(values![
        team_id,
        item_id.item_type(),
        item_id.uuid(),
        now
    ])
}

/// The link with that id, in any team, unless it is revoked.
pub fn find_id(id: ShareLinkId) -> impl Batch<Out = Option<ShareLink>> {
    sql!(COLUMNS, FROM, "WHERE link.id = $1 AND revoked_at IS NULL")
        .with(values![id])
        .first(read)
}

/// How many links an item has that are not revoked.
pub fn count(team_id: TeamId, item_id: ItemId) -> impl Batch<Out = Option<i64>> {
    sql!("SELECT count(*) FROM share_link WHERE ", OF_ITEM)
        .with(values![team_id, item_id.item_type(), item_id.uuid()])
        .first(|row| Ok(row.take()?))
}

/// Marks a link as revoked. The link must be locked.
pub fn revoke(team_id: TeamId, id: ShareLinkId, now: Timestamp) -> impl Batch {
    sql!("UPDATE share_link SET revoked_at = $3 WHERE team_id = $1 AND id = $2")
        .with(values![team_id, id, now])
}

/// Deletes at most `limit` links of a team; returns how many.
pub fn delete_some(team_id: TeamId, limit: u32) -> impl Batch<Out = u64> {
    // Each half uses an index: SQLite has none on all links of a team.
    sql!(
        "DELETE FROM share_link WHERE (team_id, id) IN (SELECT team_id, id FROM ( \
             SELECT team_id, id FROM share_link WHERE team_id = $1 AND revoked_at IS NULL \
             UNION ALL SELECT team_id, id FROM share_link WHERE team_id = $1 AND revoked_at IS NOT NULL) AS link LIMIT $2)"
    )
    .with(values![team_id, limit])
}
