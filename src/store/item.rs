//! Files and folders. Neither is ever removed, so that their existence needs no lock.

use super::Batch;
use crate::domain::id::TeamId;
use crate::domain::item::{File, Folder, ItemId};
use crate::sql::{sql, table, values};

table! {
    /// The rows of folders.
    pub(super) mod folder_row = "folder", key [team_id, id];
    ()
    Folder { team_id: Uuid, id: Uuid, name: Text, created_at: Integer }
    ()
}

table! {
    /// The rows of files.
    pub(super) mod file_row = "file", key [team_id, id];
    ()
    File { team_id: Uuid, id: Uuid, name: Text, folder_id: Uuid, created_at: Integer }
    ()
}

/// Adds a folder.
pub fn insert_folder(folder: &Folder) -> impl Batch {
    sql!(folder_row::INSERT).with(folder_row::values(folder))
}

/// Adds a file.
pub fn insert_file(file: &File) -> impl Batch {
    sql!(file_row::INSERT).with(file_row::values(file))
}

/// Whether the team has the item.
pub fn exists(team_id: TeamId, id: ItemId) -> impl Batch<Out = bool> {
    let select = match id {
        ItemId::File(_) => sql!("SELECT 1 FROM file WHERE team_id = $1 AND id = $2"),
        ItemId::Folder(_) => sql!("SELECT 1 FROM folder WHERE team_id = $1 AND id = $2"),
    };
    select.with(values![team_id, id.uuid()]).exists()
}

/// The team that has the item, if there is one. Until the end of the transaction, others who ask the same wait: of the
/// changes that count the item's links, one comes after the other.
pub fn lock(id: ItemId) -> impl Batch<Out = Option<TeamId>> {
    let select = match id {
        ItemId::File(_) => sql!("SELECT team_id FROM file WHERE id = $1 FOR UPDATE"),
        ItemId::Folder(_) => sql!("SELECT team_id FROM folder WHERE id = $1 FOR UPDATE"),
    };
    select.with(values![id.uuid()]).first(|row| Ok(row.take()?))
}
