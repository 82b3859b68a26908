//! Deletes, in bounded steps, what belongs to a removed or deactivated user, or to a deleted team (docs/decisions.md, X63
//! and X64).
//!
//! 1. The user is removed, or the team deleted, beforehand, in one short transaction. Once that is committed, nothing that
//!    is left lets anybody in (`account`, `deactivation`, `team_deletion`).
//! 2. The rest is deleted in steps (`steps`). Those for a user pause for longer: one may have a million ended sessions, and
//!    their deletion must not take half a core from the others for a minute.
//! 3. A step locks the user or the team first, so that two processes at it, such as a command and a server, take turns. Only
//!    those that erase addresses do not: each row is written by one of them in any case.
//! 4. Whatever runs later, the same command for a team or a server's background task, continues. The step that finds less
//!    than it could delete records that nothing is left.
//! 5. A user who deletes their own account leaves all of it to the background task, which empties one user or team after
//!    another: many members of a team may do so at once, and steps of many deletions at once would leave the others no time.

use uuid::Uuid;

use super::App;
use super::budget::Budget;
use super::cleanup::{IMPORTS, delete_sessions};
use super::steps::{SLOWLY, STEP};
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::id::{AuditEventId, TeamId, UserId};
use crate::domain::time::Timestamp;
use crate::sql::ScriptError;
use crate::store::{
    Sql, api_key, audit, browser_session, idempotency, item, product, product_import,
    refused_sign_in, session, share_link, team, user,
};

/// Users or teams that the background task continues with in one run.
pub(super) const AT_ONCE: u32 = 100;

impl App {
    /// Deletes what is left of removed users and deleted teams, of one after another, and before that the sessions that users
    /// have ended.
    ///
    /// # Errors
    /// Any store error; the others were gone on with.
    pub async fn empty_all(&self) -> Result<(), Error> {
        // A failure does not stop the others.
        let mut emptied = self.sweep_ended_sessions().await;
        let find = async move |sql: Sql<'_>| {
            sql.run((user::list_to_empty(AT_ONCE), team::list_to_empty(AT_ONCE)))
                .await
        };
        let (users, teams) = self.store.read(Holder::Service, find).await?;
        for id in users {
            emptied = emptied.and(self.empty_user(id).await);
        }
        for team in teams {
            emptied = emptied.and(self.empty_team(team.id).await);
        }
        emptied
    }

    /// Deletes what is left of a removed user: sessions, refused sign-ins, and the client addresses and user agents in audit
    /// events.
    pub(super) async fn empty_user(&self, id: UserId) -> Result<(), Error> {
        let now = self.now();
        // First, since this waits for sessions that are ending, which write events.
        self.end_sessions_of_inactive(id).await?;
        let (mut size, mut after) = (self.step_size(), Some(AuditEventId(Uuid::nil())));
        while let Some(place) = after {
            let step = async move |sql: Sql<'_>, rows| forget_visitor(sql, id, place, rows).await;
            after = self.take_step_of(&mut size, SLOWLY, step).await?;
        }
        let refused = async move |sql: Sql<'_>, rows| {
            let (_, deleted) = sql
                .run((user::lock(id), refused_sign_in::delete_some(id, rows)))
                .await?;
            Ok(deleted)
        };
        self.take_steps((STEP, SLOWLY), refused).await?;
        let end = async move |sql: Sql<'_>| sql.run(user::set_emptied(id, now)).await.map(drop);
        self.store.write(Holder::Service, end).await
    }

    /// Ends the sessions, in browsers and apps, of a user who is deactivated or removed. Does nothing if the user is active.
    pub(super) async fn end_sessions_of_inactive(&self, id: UserId) -> Result<(), Error> {
        let step = async move |sql: Sql<'_>, rows| end_some_sessions(sql, id, rows).await;
        self.take_steps((STEP, SLOWLY), step).await
    }

    /// Deletes what is left of a deleted team: all but its row and the audit.
    pub(super) async fn empty_team(&self, id: TeamId) -> Result<(), Error> {
        let now = self.now();
        let (mut size, mut after) = (self.step_size(), Some(0));
        while let Some(place) = after {
            let step = async move |sql: Sql<'_>, rows| {
                sql.run(team::lock(id)).await?;
                idempotency::delete_of_team(sql, id, place, rows).await
            };
            after = self.take_step_of(&mut size, 1, step).await?;
        }
        let imports = async move |sql: Sql<'_>, rows| {
            let (_, deleted) = sql
                .run((team::lock(id), product_import::delete_some(id, rows)))
                .await?;
            Ok(deleted)
        };
        self.take_steps((IMPORTS, 1), imports).await?;
        let rest = async move |sql: Sql<'_>, rows| delete_some_of_team(sql, id, now, rows).await;
        self.take_steps((STEP, 1), rest).await
    }
}

/// Erases the client address and user agent from the next `rows` events of a user after `after`. Returns the last of them, if
/// there were any.
async fn forget_visitor(
    sql: Sql<'_>,
    id: UserId,
    after: AuditEventId,
    rows: u32,
) -> Result<Option<AuditEventId>, ScriptError> {
    let last = sql.run(audit::find_last_of(id, after, rows)).await?;
    sql.run(last.map(|last| audit::forget_visitor(id, after, last)))
        .await?;
    Ok(last)
}

/// Deletes at most `rows` of sessions of a user who is not active, and of what belongs to them. Returns how many.
async fn end_some_sessions(sql: Sql<'_>, id: UserId, rows: u32) -> Result<u64, ScriptError> {
    let (_, is_active) = sql.run((user::lock(id), user::is_active(id))).await?;
    if is_active {
        return Ok(0);
    }
    let mut budget = Budget::of(rows);
    budget
        .spend(sql, |rows| browser_session::delete_some(id, rows))
        .await?;
    let sessions = sql.run(session::lock_some(id, budget.left())).await?;
    delete_sessions(sql, &sessions, &mut budget).await?;
    Ok(budget.spent())
}

/// Deletes at most `rows` of a team. Returns how many. If there were fewer, nothing is left, and that is recorded.
async fn delete_some_of_team(
    sql: Sql<'_>,
    id: TeamId,
    now: Timestamp,
    rows: u32,
) -> Result<u64, ScriptError> {
    sql.run(team::lock(id)).await?;
    let mut budget = Budget::of(rows);
    budget
        .spend(sql, |rows| share_link::delete_some(id, rows))
        .await?;
    budget
        .spend(sql, |rows| item::delete_some_files(id, rows))
        .await?;
    budget
        .spend(sql, |rows| item::delete_some_folders(id, rows))
        .await?;
    budget
        .spend(sql, |rows| api_key::delete_some(id, rows))
        .await?;
    budget
        .spend(sql, |rows| product::delete_some(id, rows))
        .await?;
    if budget.left() > 0 {
        sql.run(team::set_emptied(id, now)).await?;
    }
    Ok(budget.spent())
}
