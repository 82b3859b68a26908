//! Deleting an app (docs/decisions.md, X68). A hundred thousand users may be signed in through it, and no other change must
//! wait for all of them:
//!
//! - **Delete 1** One change marks the app as deleted, and records it in the audit. From then on the app does not exist for
//!   any caller: it gets no code, exchanges none, refreshes nothing, and none of its access tokens is valid, since the
//!   lookup of an access token also asks for its app.
//! - **Delete 2** Its unused codes and its sessions end, as when the operator ends the sessions of an app
//!   (`session_end.rs`).
//! - **Delete 3** Everything that belongs to its sessions is deleted, a bounded number of rows per change.
//! - **Delete 4** When nothing refers to the app any more, its row is deleted, and its id is free. The row is locked
//!   first in each change from Delete 3 on, which waits for anything that was about to issue a code before Delete 1.
//!
//! After an interruption, the same command continues, and so does the cleanup of a running server, from Delete 3 on. The
//! latter waits an hour ([`LEFT_ALONE`]), since it would delete sessions that the command has yet to end and count.

use std::time::Duration;

use super::App;
use super::budget::Budget;
use super::cleanup::delete_sessions;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor};
use crate::domain::holder::Holder;
use crate::domain::oauth_client::{ClientId, OauthClient};
use crate::sql::ScriptError;
use crate::store::{Sql, audit, auth_code, oauth_client, session};

/// How long a deletion is left to its command alone: a million sessions take less.
const LEFT_ALONE: Duration = Duration::from_hours(1);

impl App {
    /// Deletes an app. Returns what it was, and how many sessions have ended.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such app; any store error; what was done by then stays done.
    pub async fn delete_oauth_client(&self, id: &ClientId) -> Result<(OauthClient, u64), Error> {
        let event = self.event(&Actor::Operator, Action::DeleteOauthClient);
        let event = event.of_client(id);
        // Delete 1
        let (client_id, told) = (id.clone(), event.clone());
        let mark = async move |sql: Sql<'_>| {
            let found = sql.run(oauth_client::find_row(&client_id)).await?;
            let mut client = found.ok_or_else(|| OauthClient::missing(&client_id))?;
            let uris = oauth_client::list_redirect_uris(client_id.clone());
            client.redirect_uris = sql.run(uris).await?;
            let marked = oauth_client::mark_deleted(&client_id, told.created_at);
            if sql.run(marked).await? > 0 {
                sql.run(audit::insert(&told)).await?;
            }
            Ok(client)
        };
        let client = self.store.write(Holder::Service, mark).await?;
        // Delete 2
        let event = self.event(&Actor::Operator, Action::EndSession);
        let ended = self.end_sessions_of_client(id, event.of_client(id)).await?;
        self.delete_what_is_left(id).await?;
        Ok((client, ended))
    }

    /// Continues interrupted deletions.
    pub(super) async fn go_on_deleting_oauth_clients(&self) -> Result<(), Error> {
        let (first, last) = (self.now().before(LEFT_ALONE), self.now().after(LEFT_ALONE));
        let deleted =
            async move |sql: Sql<'_>| sql.run(oauth_client::list_deleted(first, last)).await;
        // A failure does not stop the others.
        let mut ended = Ok(());
        for id in self.store.read(Holder::Service, deleted).await? {
            ended = ended.and(self.delete_what_is_left(&id).await);
        }
        ended
    }

    async fn delete_what_is_left(&self, id: &ClientId) -> Result<(), Error> {
        let (mut size, mut is_left) = (self.step_size(), true);
        while is_left {
            let id = id.clone();
            let delete = async move |sql: Sql<'_>, rows| delete_some(sql, &id, rows).await;
            is_left = self.take_step_of(&mut size, 1, delete).await?;
        }
        Ok(())
    }
}

/// Delete 3, for at most `rows` of sessions and of what belongs to them; if there are none, Delete 4. Returns whether there may
/// be more.
async fn delete_some(sql: Sql<'_>, id: &ClientId, rows: u32) -> Result<bool, ScriptError> {
    // The app first, as where codes are issued and exchanged. The codes before the sessions, since one that is being
    // exchanged is waited for: no new session appears after that.
    let unused = auth_code::delete_unused_of_client(id, rows);
    let sessions = session::lock_of_client(id, rows);
    let (_, unused, sessions) = sql.run((oauth_client::lock(id), unused, sessions)).await?;
    if unused == u64::from(rows) {
        return Ok(true);
    }
    if !sessions.is_empty() {
        delete_sessions(sql, &sessions, &mut Budget::of(rows)).await?;
        return Ok(true);
    }
    let referred = (session::exist_of_client(id), auth_code::exist_of_client(id));
    let (sessions, codes) = sql.run(referred).await?;
    if sessions || codes {
        return Ok(true);
    }
    sql.run(oauth_client::delete(id)).await?;
    Ok(false)
}
