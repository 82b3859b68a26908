//! Files and folders.

use super::App;
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::id::{FileId, FolderId, TeamId};
use crate::domain::input::typed_text;
use crate::domain::item::ItemId;
use crate::domain::item::{File, Folder};
use crate::domain::list::Part;
use crate::store::{Batch, Sql, item};

use super::membership::lock_team;
use super::team::require_team;

impl App {
    /// Makes a folder.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such team, [`Error::Refused`] for a name that is not one.
    pub async fn create_folder(&self, team_id: TeamId, name: &str) -> Result<Folder, Error> {
        let now = self.now();
        let name = typed_text("folder's name", name)?;
        let folder = Folder {
            id: self.ids.next(now),
            team_id,
            name,
            created_at: now,
        };
        self.store
            .write(Holder::Service, async move |sql| {
                sql.run((lock_team(folder.team_id), item::insert_folder(&folder)))
                    .await?;
                Ok(folder.clone())
            })
            .await
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
        let name = typed_text("file's name", name)?;
        let file = File {
            id: self.ids.next(now),
            team_id,
            name,
            folder_id,
            created_at: now,
        };
        self.add_file(file).await
    }

    /// The folders of a team, oldest first.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such team; what the store answers.
    pub async fn list_folders(
        &self,
        team_id: TeamId,
        part: Part<FolderId>,
    ) -> Result<Vec<Folder>, Error> {
        let calls = async move |sql: Sql<'_>| {
            sql.run((require_team(team_id), item::list_folders(team_id, part)))
                .await
        };
        let ((), folders) = self.store.read(Holder::Service, calls).await?;
        Ok(folders)
    }

    /// The folder of that id.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none; what the store answers.
    pub async fn get_folder(&self, id: FolderId) -> Result<Folder, Error> {
        let calls = async move |sql: Sql<'_>| sql.run(item::find_folder(id)).await;
        let found = self.store.read(Holder::Service, calls).await?;
        found.ok_or_else(|| ItemId::Folder(id).missing())
    }

    /// The files of a team, oldest first.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such team; what the store answers.
    pub async fn list_files(
        &self,
        team_id: TeamId,
        part: Part<FileId>,
    ) -> Result<Vec<File>, Error> {
        let calls = async move |sql: Sql<'_>| {
            sql.run((require_team(team_id), item::list_files(team_id, part)))
                .await
        };
        let ((), files) = self.store.read(Holder::Service, calls).await?;
        Ok(files)
    }

    /// The file of that id.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none; what the store answers.
    pub async fn get_file(&self, id: FileId) -> Result<File, Error> {
        let calls = async move |sql: Sql<'_>| sql.run(item::find_file(id)).await;
        let found = self.store.read(Holder::Service, calls).await?;
        found.ok_or_else(|| ItemId::File(id).missing())
    }

    /// Adds a file that is all as given to its team.
    pub(crate) async fn add_file(&self, file: File) -> Result<File, Error> {
        self.store
            .write(Holder::Service, async move |sql| {
                let team_id = file.team_id;
                let folder = file
                    .folder_id
                    .map(|id| require_item(team_id, ItemId::Folder(id)));
                sql.run((lock_team(team_id), folder, item::insert_file(&file)))
                    .await?;
                Ok(file.clone())
            })
            .await
    }
}

/// Refuses an item that the team does not have.
fn require_item(team_id: TeamId, id: ItemId) -> impl Batch<Out = ()> {
    item::exists(team_id, id).rule(move |exists| match exists {
        true => Ok(()),
        false => Err(id.missing()),
    })
}
