//! Files and folders. Deleting an item locks it first, and so does making a link to it; putting a file into a folder holds
//! the folder.

use uuid::Uuid;

use super::Batch;
use crate::domain::id::{FileId, FolderId, TeamId};
use crate::domain::item::{File, Folder, ItemId};
use crate::domain::list::Part;
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

/// Whether the team has the folder; no other transaction [locks](lock) it before the end of this one.
pub fn hold_folder(team_id: TeamId, id: FolderId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM folder WHERE team_id = $1 AND id = $2 FOR KEY SHARE")
        .with(values![team_id, id])
        .exists()
}

/// The team that has the item, if it exists. Other callers wait until the end of the transaction, so that changes that count
/// the item's links run one after the other.
pub fn lock(id: ItemId) -> impl Batch<Out = Option<TeamId>> {
    let select = match id {
        ItemId::File(_) => sql!("SELECT team_id FROM file WHERE id = $1 FOR UPDATE"),
        ItemId::Folder(_) => sql!("SELECT team_id FROM folder WHERE id = $1 FOR UPDATE"),
    };
    select.with(values![id.uuid()]).first(|row| Ok(row.take()?))
}

/// Gives an item of a team another name.
pub fn set_name<'a>(team_id: TeamId, id: ItemId, name: &'a str) -> impl Batch + 'a {
    let update = match id {
        ItemId::File(_) => sql!("UPDATE file SET name = $3 WHERE team_id = $1 AND id = $2"),
        ItemId::Folder(_) => sql!("UPDATE folder SET name = $3 WHERE team_id = $1 AND id = $2"),
    };
    update.with(values![team_id, id.uuid(), name])
}

/// Deletes an item of a team; a folder must contain no files.
pub fn delete(team_id: TeamId, id: ItemId) -> impl Batch {
    let delete = match id {
        ItemId::File(_) => sql!("DELETE FROM file WHERE team_id = $1 AND id = $2"),
        ItemId::Folder(_) => sql!("DELETE FROM folder WHERE team_id = $1 AND id = $2"),
    };
    delete.with(values![team_id, id.uuid()])
}

/// The first files in a folder of a team, at most `limit`, locked until the end of the transaction.
pub fn lock_files(
    team_id: TeamId,
    folder_id: FolderId,
    limit: u32,
) -> impl Batch<Out = Vec<FileId>> {
    sql!(
        "SELECT id FROM file WHERE team_id = $1 AND folder_id = $2 ORDER BY id LIMIT $3 FOR UPDATE"
    )
    .with(values![team_id, folder_id, limit])
    .all(|row| Ok(row.take()?))
}

/// The folders of a team, oldest first.
pub fn list_folders(team_id: TeamId, part: Part<FolderId>) -> impl Batch<Out = Vec<Folder>> {
    let after = part.after.unwrap_or(FolderId(Uuid::nil()));
    sql!(
        "SELECT ",
        folder_row::COLUMNS,
        " FROM folder WHERE team_id = $1 AND id > $2 ORDER BY id LIMIT $3"
    )
    .with(values![team_id, after, part.limit])
    .all(folder_row::read)
}

/// The folder with that id, in any team.
pub fn find_folder(id: FolderId) -> impl Batch<Out = Option<Folder>> {
    sql!("SELECT ", folder_row::COLUMNS, " FROM folder WHERE id = $1")
        .with(values![id])
        .first(folder_row::read)
}

/// The files of a team, oldest first.
pub fn list_files(team_id: TeamId, part: Part<FileId>) -> impl Batch<Out = Vec<File>> {
    let after = part.after.unwrap_or(FileId(Uuid::nil()));
    sql!(
        "SELECT ",
        file_row::COLUMNS,
        " FROM file WHERE team_id = $1 AND id > $2 ORDER BY id LIMIT $3"
    )
    .with(values![team_id, after, part.limit])
    .all(file_row::read)
}

/// The file with that id, in any team.
pub fn find_file(id: FileId) -> impl Batch<Out = Option<File>> {
    sql!("SELECT ", file_row::COLUMNS, " FROM file WHERE id = $1")
        .with(values![id])
        .first(file_row::read)
}

/// Deletes at most `limit` files of a team; returns how many.
pub fn delete_some_files(team_id: TeamId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM file WHERE (team_id, id) IN ( \
             SELECT team_id, id FROM file WHERE team_id = $1 LIMIT $2)"
    )
    .with(values![team_id, limit])
}

/// Deletes at most `limit` folders of a team, which must contain no files; returns how many.
pub fn delete_some_folders(team_id: TeamId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM folder WHERE (team_id, id) IN ( \
             SELECT team_id, id FROM folder WHERE team_id = $1 LIMIT $2)"
    )
    .with(values![team_id, limit])
}
