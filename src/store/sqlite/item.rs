//! Files and folders in SQLite.

use async_trait::async_trait;
use rusqlite::params;

use super::Sqlite;
use super::sql::Sql;
use super::team::require_team;
use crate::domain::Error;
use crate::domain::id::TeamId;
use crate::domain::item::{File, Folder, ItemId};
use crate::store::ItemStore;

#[async_trait]
impl ItemStore for Sqlite {
    async fn create_folder(&self, folder: Folder) -> Result<(), Error> {
        let insert = "INSERT INTO folder (team_id, id, name, created_at) VALUES (?1, ?2, ?3, ?4)";
        self.write(move |sql| {
            require_team(sql, folder.team_id)?;
            sql.execute(
                insert,
                params![folder.team_id, folder.id, folder.name, folder.created_at],
            )?;
            Ok(())
        })
        .await
    }

    async fn create_file(&self, file: File) -> Result<(), Error> {
        let insert = "INSERT INTO file (team_id, id, name, folder_id, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.write(move |sql| {
            let File {
                team_id,
                id,
                name,
                folder_id,
                created_at,
            } = &file;
            require_team(sql, *team_id)?;
            if let Some(folder) = folder_id.map(ItemId::Folder)
                && !item_exists(sql, *team_id, folder)?
            {
                return Err(folder.missing());
            }
            sql.execute(insert, params![team_id, id, name, folder_id, created_at])?;
            Ok(())
        })
        .await
    }
}

/// Whether the team has the item.
pub(super) fn item_exists(sql: Sql<'_>, team_id: TeamId, id: ItemId) -> Result<bool, Error> {
    let found = match id {
        ItemId::File(id) => {
            let select = "SELECT 1 FROM file WHERE team_id = ?1 AND id = ?2";
            sql.optional(select, params![team_id, id], |_| Ok(()))?
        }
        ItemId::Folder(id) => {
            let select = "SELECT 1 FROM folder WHERE team_id = ?1 AND id = ?2";
            sql.optional(select, params![team_id, id], |_| Ok(()))?
        }
    };
    Ok(found.is_some())
}

/// The team that has the item.
pub(super) fn team_of_item(sql: Sql<'_>, item_id: ItemId) -> Result<TeamId, Error> {
    let found = match item_id {
        ItemId::File(id) => {
            sql.optional("SELECT team_id FROM file WHERE id = ?1", [id], |row| {
                row.get("team_id")
            })?
        }
        ItemId::Folder(id) => {
            sql.optional("SELECT team_id FROM folder WHERE id = ?1", [id], |row| {
                row.get("team_id")
            })?
        }
    };
    found.ok_or_else(|| item_id.missing())
}
