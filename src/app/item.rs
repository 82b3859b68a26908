//! Files and folders.

use super::App;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent};
use crate::domain::holder::Holder;
use crate::domain::id::{FileId, FolderId, TeamId};
use crate::domain::input::typed_text;
use crate::domain::item::{File, Folder, ItemId};
use crate::domain::list::Part;
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, audit, item};

use super::membership::lock_team;
use super::team::require_team;

impl App {
    /// Makes a folder.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such team, [`Error::Invalid`] for an invalid name.
    pub async fn create_folder(&self, team_id: TeamId, name: &str) -> Result<Folder, Error> {
        let now = self.now();
        let name = typed_text("folder's name", name)?;
        let folder = Folder {
            id: self.ids.next(now),
            team_id,
            name,
            created_at: now,
        };
        let event = self.event(&Actor::Operator, Action::CreateFolder);
        let event = event.in_team(team_id).to(folder.id.0);
        self.store
            .write(Holder::Service, async move |sql| {
                let insert = item::insert_folder(&folder);
                let calls = (lock_team(team_id), insert, audit::insert(&event));
                sql.run(calls).await?;
                Ok(folder.clone())
            })
            .await
    }

    /// Renames a folder. Returns it as it was before and as it is now.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such folder, [`Error::Invalid`] for an invalid name.
    pub async fn rename_folder(&self, id: FolderId, name: &str) -> Result<(Folder, Folder), Error> {
        let name = typed_text("folder's name", name)?;
        let event = self.event(&Actor::Operator, Action::RenameFolder);
        let event = event.to(id.0);
        self.store
            .write(Holder::Service, async move |sql| {
                let item_id = ItemId::Folder(id);
                let (_, found) = sql
                    .run((item::lock(item_id), item::find_folder(id)))
                    .await?;
                let old = found.ok_or_else(|| item_id.missing())?;
                if old.name != name {
                    rename(sql, old.team_id, item_id, &name, &event).await?;
                }
                let name = name.clone();
                Ok((old.clone(), Folder { name, ..old }))
            })
            .await
    }

    /// Renames a file. Returns it as it was before and as it is now.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such file, [`Error::Invalid`] for an invalid name.
    pub async fn rename_file(&self, id: FileId, name: &str) -> Result<(File, File), Error> {
        let name = typed_text("file's name", name)?;
        let event = self.event(&Actor::Operator, Action::RenameFile);
        let event = event.to(id.0);
        self.store
            .write(Holder::Service, async move |sql| {
                let item_id = ItemId::File(id);
                let (_, found) = sql.run((item::lock(item_id), item::find_file(id))).await?;
                let old = found.ok_or_else(|| item_id.missing())?;
                if old.name != name {
                    rename(sql, old.team_id, item_id, &name, &event).await?;
                }
                let name = name.clone();
                Ok((old.clone(), File { name, ..old }))
            })
            .await
    }

    /// Makes a file, at the top level or in a folder of the same team.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such team, or no such folder in it; [`Error::Invalid`] for an invalid name.
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
        let event = self.event(&Actor::Operator, Action::CreateFile);
        let event = event.in_team(team_id).to(file.id.0);
        self.store
            .write(Holder::Service, async move |sql| {
                sql.run((add_file(&file), audit::insert(&event))).await?;
                Ok(file.clone())
            })
            .await
    }

    /// The folders of a team, oldest first.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such team; any store error.
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

    /// The folder with this id.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none; any store error.
    pub async fn get_folder(&self, id: FolderId) -> Result<Folder, Error> {
        let calls = async move |sql: Sql<'_>| sql.run(item::find_folder(id)).await;
        let found = self.store.read(Holder::Service, calls).await?;
        found.ok_or_else(|| ItemId::Folder(id).missing())
    }

    /// The files of a team, oldest first.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such team; any store error.
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

    /// The file with this id.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none; any store error.
    pub async fn get_file(&self, id: FileId) -> Result<File, Error> {
        let calls = async move |sql: Sql<'_>| sql.run(item::find_file(id)).await;
        let found = self.store.read(Holder::Service, calls).await?;
        found.ok_or_else(|| ItemId::File(id).missing())
    }

    /// Adds a file exactly as given to its team.
    pub(crate) async fn add_file(&self, file: File) -> Result<File, Error> {
        self.store
            .write(Holder::Service, async move |sql| {
                sql.run(add_file(&file)).await?;
                Ok(file.clone())
            })
            .await
    }
}

/// Adds a file to its team, and to its folder.
fn add_file(file: &File) -> impl Batch {
    let team_id = file.team_id;
    let folder = file.folder_id.map(|id| require_folder(team_id, id));
    (lock_team(team_id), folder, item::insert_file(file))
}

/// Renames an item, which is locked.
async fn rename(
    sql: Sql<'_>,
    team_id: TeamId,
    id: ItemId,
    name: &str,
    event: &AuditEvent,
) -> Result<(), ScriptError> {
    let event = event.clone().in_team(team_id);
    sql.run((item::set_name(team_id, id, name), audit::insert(&event)))
        .await
        .map(drop)
}

/// Refuses a folder that is not the team's, and keeps it from being deleted until the end of the transaction.
fn require_folder(team_id: TeamId, id: FolderId) -> impl Batch<Out = ()> {
    item::hold_folder(team_id, id).rule(move |exists| match exists {
        true => Ok(()),
        false => Err(ItemId::Folder(id).missing()),
    })
}
