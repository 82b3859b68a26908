//! Items: the files and folders of a team, as far as share links need them.
//!
//! An item belongs to one team. A caller who asks through another team is told that there is no such item, and does not
//! learn that it exists elsewhere.

use std::fmt;

use uuid::Uuid;

use super::Error;
use super::id::{FileId, FolderId, TeamId};
use super::string_enum::string_enum;
use super::time::Timestamp;

string_enum! {
    /// The types of item.
    ItemType {
        /// A file.
        File = "file",
        /// A folder.
        Folder = "folder",
    }
}

/// What a link shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemId {
    /// A file.
    File(FileId),
    /// A folder.
    Folder(FolderId),
}

impl ItemId {
    /// The item of that type with that id.
    pub fn new(item_type: ItemType, id: Uuid) -> ItemId {
        match item_type {
            ItemType::File => ItemId::File(FileId(id)),
            ItemType::Folder => ItemId::Folder(FolderId(id)),
        }
    }

    /// Which type of item it is.
    pub fn item_type(self) -> ItemType {
        match self {
            ItemId::File(_) => ItemType::File,
            ItemId::Folder(_) => ItemType::Folder,
        }
    }

    /// The id, without the type.
    pub fn uuid(self) -> Uuid {
        match self {
            ItemId::File(FileId(id)) | ItemId::Folder(FolderId(id)) => id,
        }
    }

    /// The error for an id that no item of this type has; the command line shows it.
    pub(crate) fn missing(self) -> Error {
        Error::Missing {
            noun: self.item_type().as_str(),
            id: self.uuid().to_string(),
            remedy: match self {
                ItemId::File(_) => "`invoicing file list` shows the files of a team",
                ItemId::Folder(_) => "`invoicing folder list` shows the folders of a team",
            },
        }
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.item_type(), self.uuid())
    }
}

/// A folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Identifies it.
    pub id: FolderId,
    /// The team that it belongs to.
    pub team_id: TeamId,
    /// What people call it; not unique.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Folder {
    /// The error for deleting a folder alone while it has files; the command line shows it.
    pub(crate) fn has_files(id: FolderId) -> Error {
        Error::Refused(format!(
            "the folder {id} has files; `--recursive` deletes them with it"
        ))
    }
}

/// A folder that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedFolder {
    /// The folder, as it was.
    pub folder: Folder,
    /// How many files were deleted with it.
    pub files: u64,
    /// How many share links have ended: its own and those of its files.
    pub links: u64,
}

/// A file. This service does not handle its content yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Identifies it.
    pub id: FileId,
    /// The team that it belongs to.
    pub team_id: TeamId,
    /// What people call it; not unique.
    pub name: String,
    /// The folder that it is in, of the same team; `None` at the top.
    pub folder_id: Option<FolderId>,
    /// When it was made.
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_shown_by_its_kind_and_id() {
        let id = uuid::Uuid::nil();
        assert_eq!(ItemId::File(id.into()).to_string(), format!("file {id}"));
    }
}
