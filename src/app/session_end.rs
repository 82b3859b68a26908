//! Ending sessions for the operator: one, or all of a user or an app.
//!
//! An app may have a hundred thousand sessions, and no other change must wait for all of them. So they end in steps, each
//! followed by a pause ([`take_step`](App::take_step)):
//!
//! - **End 1** Unused codes are deleted first, in steps. This waits for a code that is being exchanged, so that it starts no
//!   session after End 2.
//! - **End 2** The live sessions are read, which no other change waits for. A user who signs in from here on stays signed
//!   in.
//! - **End 3** The sessions are ended, a bounded number per change. The first change that ends one records it in the audit,
//!   for all of them.
//!
//! After an interruption, the same command ends those that are left.

use super::App;
use super::budget::Budget;
use super::emptying::AT_ONCE;
use super::steps::{SLOWLY, STEP};
use super::user::require_user_exists;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent};
use crate::domain::holder::Holder;
use crate::domain::id::{AuditEventId, SessionId, UserId};
use crate::domain::oauth_client::ClientId;
use crate::domain::session::{Device, EndedSessions, Session};
use crate::domain::time::Timestamp;
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, audit, auth_code, browser_session, oauth_client, session, user};

impl App {
    /// Ends a session, at once and for ever. Revoking it again changes nothing.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such session. One that has been over for a while counts as missing.
    pub async fn revoke_session(&self, id: SessionId) -> Result<(), Error> {
        let event = self.event(&Actor::Operator, Action::EndSession).to(id.0);
        self.store
            .write(Holder::Service, async move |sql| {
                end_and_tell(sql, session::lock(id), id, &event).await
            })
            .await
    }

    /// Ends all sessions of a user, in browsers and apps. Returns how many.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such user; any store error; what was ended by then stays ended.
    pub async fn revoke_sessions_of_user(&self, id: UserId) -> Result<EndedSessions, Error> {
        let exists = async move |sql: Sql<'_>| sql.run(require_user_exists(id)).await;
        self.store.read(Holder::Service, exists).await?;
        let browsers = self.end_browser_sessions(id).await?;
        // End 1
        let codes = async move |sql: Sql<'_>, rows| {
            sql.run(auth_code::delete_unused_of_user(id, rows)).await
        };
        self.take_steps((STEP, 1), codes).await?;
        // End 2
        let alive = async move |sql: Sql<'_>| sql.run(session::ids_of_user(id)).await;
        let alive = self.store.read(Holder::Service, alive).await?;
        let event = self.event(&Actor::Operator, Action::EndSession).to(id.0);
        let apps = self.end_all(alive, event).await?;
        Ok(EndedSessions { apps, browsers })
    }

    /// Ends all sessions of an app. Returns how many.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such app; any store error; what was ended by then stays ended.
    pub async fn revoke_sessions_of_client(&self, id: &ClientId) -> Result<u64, Error> {
        self.get_oauth_client(id.clone()).await?;
        let event = self.event(&Actor::Operator, Action::EndSession);
        let ended = self.end_sessions_of_client(id, event.of_client(id)).await?;
        if ended == 0 {
            self.rely_on_ended_sessions(id).await?;
        }
        Ok(ended)
    }

    /// Waits until what was ended before is committed, also at a synchronous standby. (For a user, the row is locked in any
    /// case.)
    async fn rely_on_ended_sessions(&self, id: &ClientId) -> Result<(), Error> {
        let id = id.clone();
        let wait = async move |sql: Sql<'_>| sql.run(oauth_client::lock(&id)).await.map(drop);
        self.store.write(Holder::Service, wait).await
    }

    /// Like [`revoke_sessions_of_client`](App::revoke_sessions_of_client), whether the app is deleted or not.
    pub(super) async fn end_sessions_of_client(
        &self,
        id: &ClientId,
        event: AuditEvent,
    ) -> Result<u64, Error> {
        self.delete_unused_codes(id).await?; // End 1
        // End 2
        let client = id.clone();
        let alive = async move |sql: Sql<'_>| sql.run(session::ids_of_client(&client)).await;
        let alive = self.store.read(Holder::Service, alive).await?;
        self.end_all(alive, event).await
    }

    /// Cleans up the rows of sessions that users have ended by starting another generation ([`super::browser_session`]),
    /// which have let nobody in since then. Those of browsers are deleted, and those of apps marked as ended: what belongs
    /// to them is deleted as with others.
    pub(super) async fn sweep_ended_sessions(&self) -> Result<(), Error> {
        let now = self.now();
        let find = async move |sql: Sql<'_>| sql.run(user::list_to_sweep(AT_ONCE)).await;
        // A failure does not stop the others.
        let mut swept = Ok(());
        for id in self.store.read(Holder::Service, find).await? {
            swept = swept.and(self.sweep_ended_sessions_of(id, now).await);
        }
        swept
    }

    async fn sweep_ended_sessions_of(&self, id: UserId, now: Timestamp) -> Result<(), Error> {
        let step = async move |sql: Sql<'_>, rows| {
            sql.run(user::lock(id)).await?;
            let mut budget = Budget::of(rows);
            budget
                .spend(sql, |rows| session::mark_ended(id, now, rows))
                .await?;
            budget
                .spend(sql, |rows| browser_session::delete_ended(id, rows))
                .await?;
            if budget.left() > 0 {
                sql.run(user::set_swept(id)).await?;
            }
            Ok(budget.spent())
        };
        self.take_steps((STEP, SLOWLY), step).await
    }

    /// End 3. Returns how many there were.
    async fn end_all(&self, alive: Vec<SessionId>, event: AuditEvent) -> Result<u64, Error> {
        let mut ended = 0;
        for ids in alive.chunks(STEP as usize) {
            let (ids, now) = (ids.to_vec(), event.created_at);
            let event = (ended == 0).then(|| event.clone());
            let end = async move |sql: Sql<'_>| {
                let ended = session::end_all(sql, &ids, now).await?;
                if ended > 0 {
                    sql.run(event.as_ref().map(audit::insert)).await?;
                }
                Ok(ended)
            };
            ended += self.take_step(end).await?;
        }
        Ok(ended)
    }

    /// End 3 for a user's browsers, whose sessions are deleted when they end.
    async fn end_browser_sessions(&self, id: UserId) -> Result<u64, Error> {
        let event = self.event(&Actor::Operator, Action::EndBrowserSession);
        let event = event.to(id.0);
        let (mut size, mut ended) = (self.step_size(), 0);
        loop {
            let may = size.rows();
            let event = (ended == 0).then(|| event.clone());
            let end = async move |sql: Sql<'_>, rows| {
                let some = browser_session::delete_some(id, rows);
                let (_, ended) = sql.run((user::lock(id), some)).await?;
                if ended > 0 {
                    sql.run(event.as_ref().map(audit::insert)).await?;
                }
                Ok(ended)
            };
            let step = self.take_step_of(&mut size, 1, end).await?;
            ended += step;
            if step < may.into() {
                return Ok(ended);
            }
        }
    }
}

/// Ends a user's session because of a token or a code that was presented from `device`, and records that as event
/// `event_id`.
pub(super) async fn end_by_token(
    sql: Sql<'_>,
    (id, user_id): (SessionId, UserId),
    device: &Device,
    (event_id, now): (AuditEventId, Timestamp),
) -> Result<(), ScriptError> {
    if !sql.run(session::end(id, now)).await? {
        return Ok(());
    }
    let event = AuditEvent {
        actor: Some(user_id),
        client_address: device.client_address.map(|it| it.to_string()),
        user_agent: device.user_agent.clone(),
        ..AuditEvent::new(event_id, &Actor::Operator, Action::EndSession, now)
    };
    // An event of a user who is deleted meanwhile would keep its client address and user agent. Others wait for this, so it
    // waits for nothing else that the user does.
    if sql.run(user::keep(user_id)).await? {
        sql.run(audit::insert(&event.to(id.0))).await?;
    }
    Ok(())
}

/// Ends a session, which `exists` locks. `event` records it, unless the session had ended already.
pub(super) async fn end_and_tell(
    sql: Sql<'_>,
    exists: impl Batch<Out = bool>,
    id: SessionId,
    event: &AuditEvent,
) -> Result<(), ScriptError> {
    let exists = exists.rule(|exists| match exists {
        true => Ok(()),
        false => Err(Session::missing(id)),
    });
    let ((), ended) = sql
        .run((exists, session::end(id, event.created_at)))
        .await?;
    if ended {
        sql.run(audit::insert(event)).await?;
    }
    Ok(())
}
