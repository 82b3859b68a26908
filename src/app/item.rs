//! Files and folders.

use super::App;
use crate::domain::Error;
use crate::domain::id::{FolderId, TeamId};
use crate::domain::item::{File, Folder};
use crate::domain::text::command_text;

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
