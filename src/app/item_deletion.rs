//! Deleting a file, or a folder with all that is in it (docs/decisions.md, X71 and X72).
//!
//! 1. The item is locked first. No link to it and no file in it can be created meanwhile; a caller that waited to do so
//!    finds that the item does not exist.
//! 2. The links to it end with it, in the same change, which records the deletion in the audit.
//! 3. A folder that has files is refused, unless these are to be deleted with it. Then its own links end first, and its
//!    files go in steps. Each step locks the folder, deletes few enough rows that others do not wait long, and records each
//!    file. The step that finds no more files than it deletes also deletes the folder.
//!
//! After an interruption, the same command continues with what is left.

use std::sync::Arc;

use super::App;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent};
use crate::domain::holder::Holder;
use crate::domain::id::{FileId, FolderId, IdSource, TeamId};
use crate::domain::item::{DeletedFolder, File, Folder, ItemId};
use crate::sql::ScriptError;
use crate::store::{Sql, audit, item, share_link};

/// Files deleted in one step, unless their links and the folder's reach that number first.
const FILES: u32 = 100;

impl App {
    /// Deletes a file. Returns what it was, and how many share links have ended.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such file; any store error.
    pub async fn delete_file(&self, id: FileId) -> Result<(File, u64), Error> {
        let event = self.event(&Actor::Operator, Action::DeleteFile);
        self.store
            .write(Holder::Service, async move |sql| {
                let item_id = ItemId::File(id);
                let (_, found) = sql.run((item::lock(item_id), item::find_file(id))).await?;
                let file = found.ok_or_else(|| item_id.missing())?;
                let links = delete_item(sql, file.team_id, item_id, event.clone()).await?;
                Ok((file, links))
            })
            .await
    }

    /// Deletes a folder and, if `recursive`, the files in it. Returns what it was, and what has ended with it.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such folder, [`Error::Refused`] for one with files that is not to be deleted with
    /// them; any store error; what was deleted by then stays deleted.
    pub async fn delete_folder(
        &self,
        id: FolderId,
        recursive: bool,
    ) -> Result<DeletedFolder, Error> {
        let mut all = DeletedFolder {
            folder: self.get_folder(id).await?,
            files: 0,
            links: 0,
        };
        loop {
            let step = Step {
                id,
                recursive,
                folder: self.event(&Actor::Operator, Action::DeleteFolder),
                file: self.event(&Actor::Operator, Action::DeleteFile),
                ids: Arc::clone(&self.ids),
            };
            let delete = async move |sql: Sql<'_>| step.carry_out(sql).await;
            let done = self.take_step(delete).await?;
            all.folder = done.folder;
            all.files += done.files;
            all.links += done.links;
            if done.is_last {
                return Ok(all);
            }
        }
    }
}

/// A step of step 3, with the events that it writes.
struct Step {
    id: FolderId,
    recursive: bool,
    folder: AuditEvent,
    file: AuditEvent,
    ids: Arc<IdSource>,
}

/// What a step has done.
struct Done {
    folder: Folder,
    files: u64,
    links: u64,
    is_last: bool,
}

impl Step {
    async fn carry_out(&self, sql: Sql<'_>) -> Result<Done, ScriptError> {
        let item_id = ItemId::Folder(self.id);
        let (_, found) = sql
            .run((item::lock(item_id), item::find_folder(self.id)))
            .await?;
        let folder = found.ok_or_else(|| item_id.missing())?;
        let team_id = folder.team_id;
        let found = sql.run(item::lock_files(team_id, self.id, FILES)).await?;
        if !found.is_empty() && !self.recursive {
            return Err(Folder::has_files(self.id).into());
        }
        let now = self.folder.created_at;
        let mut links = sql
            .run(share_link::revoke_of_item(team_id, item_id, now))
            .await?;
        let mut files = 0;
        for id in &found {
            if files + links >= u64::from(FILES) {
                break;
            }
            let event = self.anew(&self.file);
            links += delete_item(sql, team_id, ItemId::File(*id), event).await?;
            files += 1;
        }
        let is_last = found.len() < FILES as usize && files == found.len() as u64;
        if is_last {
            delete_item(sql, team_id, item_id, self.anew(&self.folder)).await?;
        }
        Ok(Done {
            folder,
            files,
            links,
            is_last,
        })
    }

    /// A copy of the event with a new id, after all earlier ones.
    fn anew(&self, event: &AuditEvent) -> AuditEvent {
        AuditEvent {
            id: self.ids.next(event.created_at),
            ..event.clone()
        }
    }
}

/// Deletes an item, which is locked. Returns how many links have ended.
async fn delete_item(
    sql: Sql<'_>,
    team_id: TeamId,
    id: ItemId,
    event: AuditEvent,
) -> Result<u64, ScriptError> {
    let event = event.in_team(team_id).to(id.uuid());
    let revoked = share_link::revoke_of_item(team_id, id, event.created_at);
    let calls = (revoked, item::delete(team_id, id), audit::insert(&event));
    let (revoked, ..) = sql.run(calls).await?;
    Ok(revoked)
}
