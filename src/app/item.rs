//! Items: the files and folders of a team, as far as share links need them.
//!
//! An item belongs to one team. Whoever asks through another team is told that there is no such item,
//! and does not learn that it exists elsewhere.

use std::fmt;

use uuid::Uuid;

use super::id::{FileId, FolderId, TeamId};
use super::time::Timestamp;
use super::word::words;
use super::{App, Error, command_text};

words! {
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
                ItemId::File(_) => "`invoicing file create` makes one and prints its id",
                ItemId::Folder(_) => "`invoicing folder create` makes one and prints its id",
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

/// A file. What is in it is none of this service's business yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Identifies it.
    pub id: FileId,
    /// The team that it belongs to.
    pub team_id: TeamId,
    /// What people call it; not unique.
    pub name: String,
    /// The folder that it lies in, of the same team; none at the top.
    pub folder_id: Option<FolderId>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl App {
    /// Makes a folder.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such team, [`Error::Refused`] for a name that is not one.
    pub async fn create_folder(&self, team_id: TeamId, name: &str) -> Result<Folder, Error> {
        let now = self.now();
        let name = command_text("folder's name", name)?;
        let folder = Folder {
            id: self.ids.next(now),
            team_id,
            name,
            created_at: now,
        };
        self.store.create_folder(folder.clone()).await?;
        Ok(folder)
    }

    /// Makes a file, at the top or in a folder of the same team.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such team, or no such folder in it; [`Error::Refused`] for a
    /// name that is not one.
    pub async fn create_file(
        &self,
        team_id: TeamId,
        name: &str,
        folder_id: Option<FolderId>,
    ) -> Result<File, Error> {
        let now = self.now();
        let name = command_text("file's name", name)?;
        let file = File {
            id: self.ids.next(now),
            team_id,
            name,
            folder_id,
            created_at: now,
        };
        self.store.create_file(file.clone()).await?;
        Ok(file)
    }
}
