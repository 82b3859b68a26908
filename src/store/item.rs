//! What a store keeps of files and folders.

use async_trait::async_trait;

use crate::domain::Error;
use crate::domain::item::{File, Folder};

/// Files and folders in the store.
#[async_trait]
pub trait ItemStore {
    /// Adds a folder.
    ///
    /// # Errors
    /// `Team::missing`.
    async fn create_folder(&self, folder: Folder) -> Result<(), Error>;

    /// Adds a file.
    ///
    /// # Errors
    /// `Team::missing`; `ItemId::missing` for a folder
    /// that is not of that team.
    async fn create_file(&self, file: File) -> Result<(), Error>;
}
