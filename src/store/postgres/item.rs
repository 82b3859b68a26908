//! Files and folders in PostgreSQL. Neither is ever removed, so that their existence needs no lock.

use async_trait::async_trait;

use super::Postgres;
use super::sql::{Failure, Sql};
use super::team::require_team;
use super::values::params;
use crate::domain::Error;
use crate::domain::id::TeamId;
use crate::domain::item::{File, Folder, ItemId};
use crate::store::ItemStore;

#[async_trait]
impl ItemStore for Postgres {
    async fn create_folder(&self, folder: Folder) -> Result<(), Error> {
        let insert = "INSERT INTO folder (team_id, id, name, created_at) VALUES ($1, $2, $3, $4)";
        let folder = &folder;
        self.write(|sql| async move {
            require_team(&sql, folder.team_id).await?;
            let values = params![folder.team_id, folder.id, folder.name, folder.created_at];
            sql.execute(insert, values).await?;
            Ok(())
        })
        .await
    }

    async fn create_file(&self, file: File) -> Result<(), Error> {
        let insert = "INSERT INTO file (team_id, id, name, folder_id, created_at) \
             VALUES ($1, $2, $3, $4, $5)";
        let file = &file;
        self.write(|sql| async move {
            require_team(&sql, file.team_id).await?;
            if let Some(folder) = file.folder_id.map(ItemId::Folder)
                && !item_exists(&sql, file.team_id, folder).await?
            {
                return Err(folder.missing().into());
            }
            let values = params![
                file.team_id,
                file.id,
                file.name,
                file.folder_id,
                file.created_at
            ];
            sql.execute(insert, values).await?;
            Ok(())
        })
        .await
    }
}

/// Whether the team has the item.
pub(super) async fn item_exists(sql: &Sql, team_id: TeamId, id: ItemId) -> Result<bool, Failure> {
    let select = match id {
        ItemId::File(_) => "SELECT 1 FROM file WHERE team_id = $1 AND id = $2",
        ItemId::Folder(_) => "SELECT 1 FROM folder WHERE team_id = $1 AND id = $2",
    };
    sql.exists(select, params![team_id, id.uuid()]).await
}

/// The team that has the item, whose row is locked until the end of the transaction: of the changes
/// that count the item's links, one comes after the other.
pub(super) async fn lock_item(sql: &Sql, id: ItemId) -> Result<TeamId, Failure> {
    let select = match id {
        ItemId::File(_) => "SELECT team_id FROM file WHERE id = $1 FOR UPDATE",
        ItemId::Folder(_) => "SELECT team_id FROM folder WHERE id = $1 FOR UPDATE",
    };
    let found = sql
        .optional(select, params![id.uuid()], |row| row.try_get("team_id"))
        .await?;
    Ok(found.ok_or_else(|| id.missing())?)
}
