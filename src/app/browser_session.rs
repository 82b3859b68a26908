//! Browser sessions: how a cookie leads to a user, and how a session ends ([`crate::domain::browser_session`]).

use super::session_end::end_and_tell;
use super::steps::STEP;
use super::{App, Presented};
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent, Person};
use crate::domain::browser_session::{BrowserSession, InBrowser};
use crate::domain::id::{BrowserSessionId, SessionId, UserId};
use crate::domain::list::Part;
use crate::domain::secret::{Digest, Secret};
use crate::domain::session::Session;
use crate::domain::time::Timestamp;
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, audit, auth_code, browser_session, session, user};

impl App {
    /// The cookie that a request presented.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] when it is malformed.
    pub fn presented_cookie(&self, text: &str) -> Result<Presented, Error> {
        match Secret::is_base64url(text) {
            true => Ok(self.presented(text)),
            false => Err(Error::InvalidToken),
        }
    }

    /// A new cookie for a session of this user. It is known from the start, so its bearer is no stranger.
    pub(super) fn new_cookie(&self, user_id: UserId) -> Secret {
        let cookie = Secret::base64url();
        self.known.note(&cookie.digest(), user_id.into());
        cookie
    }

    /// The user and session of the presented cookie.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] when there is none, or it has ended; any store error.
    pub async fn look_up_cookie(&self, presented: Presented) -> Result<InBrowser, Error> {
        let Presented { digest, holder } = presented;
        let find = async move |sql: Sql<'_>| sql.run(browser_session::find(&digest)).await;
        let found = self.store.read(holder, find).await;
        let now = self.now();
        let found = found.and_then(|found| {
            let found = found.ok_or(Error::InvalidToken)?;
            found.session.require_alive(now).map(|()| found)
        });
        let found = self.looked_up(presented, found, |found| found.user.id.into())?;
        let session = &found.session;
        self.browser_uses
            .note(session.id, now, Some(session.last_used_at), || ());
        Ok(found)
    }

    /// Where a user is signed in: one part of the list of browsers and one of the list of apps, newest first.
    ///
    /// # Errors
    /// Any store error.
    pub async fn list_devices(
        &self,
        user_id: UserId,
        browsers: Part<BrowserSessionId>,
        apps: Part<SessionId>,
    ) -> Result<(Vec<BrowserSession>, Vec<Session>), Error> {
        let now = self.now();
        let list = async move |sql: Sql<'_>| {
            let browsers = browser_session::list(user_id, now, browsers);
            let apps = session::list(user_id, now, apps);
            sql.run((browsers, apps)).await
        };
        self.store.read(user_id, list).await
    }

    /// Signs a browser out. A code that it has approved for an app, and nobody has exchanged, is worthless then.
    ///
    /// # Errors
    /// Any store error.
    pub async fn sign_out(&self, person: Person) -> Result<(), Error> {
        let (user_id, id) = (person.user_id, person.session_id);
        let event = self.event(&Actor::Person(person), Action::SignOut).to(id.0);
        self.store
            .write(id, async move |sql| {
                // Signing out twice is no error, but leaves only one event.
                if sql.run(browser_session::delete(user_id, id)).await? > 0 {
                    sql.run((auth_code::delete_unused(user_id), audit::insert(&event)))
                        .await?;
                }
                Ok(())
            })
            .await
    }

    /// Ends a session of another browser of the same user.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none; [`Error::InvalidToken`] when the person is no longer signed in.
    pub async fn end_browser_session(
        &self,
        person: Person,
        id: BrowserSessionId,
    ) -> Result<(), Error> {
        let user_id = person.user_id;
        let event = self.event(&Actor::Person(person.clone()), Action::EndBrowserSession);
        let event = event.to(id.0);
        self.store
            .write(person.session_id, async move |sql| {
                let missing = || BrowserSession::missing(id);
                let found = browser_session::find_id(id).rule(|found| {
                    let own = found.filter(|it| it.user_id == user_id);
                    own.map(drop).ok_or_else(missing)
                });
                // The user is locked first, as it may be the person's own session: two requests would hold it, and then
                // wait for each other to lock it.
                sql.run((user::lock(user_id), require_person(&person), found))
                    .await?;
                // Only now, as a caller may make up the id, and so choose the number of the lock.
                let delete = browser_session::delete(user_id, id).rule(|ended| match ended {
                    0 => Err(missing()),
                    _ => Ok(()),
                });
                // A code that it has approved would start the session of an app after this.
                let codes = auth_code::delete_unused(user_id);
                sql.run((delete, codes, audit::insert(&event)))
                    .await
                    .map(drop)
            })
            .await
    }

    /// Ends the session of an app of the same user. Its tokens are invalid from then on.
    ///
    /// # Errors
    /// As for [`end_browser_session`](App::end_browser_session).
    pub async fn end_session(&self, person: Person, id: SessionId) -> Result<(), Error> {
        let user_id = person.user_id;
        let event = self.event(&Actor::Person(person.clone()), Action::EndSession);
        let event = event.to(id.0);
        self.store
            .write(person.session_id, async move |sql| {
                sql.run(require_person(&person)).await?;
                end_and_tell(sql, session::lock_of_user(user_id, id), id, &event).await
            })
            .await
    }

    /// Ends the sessions of all apps of a user.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] when the person is no longer signed in; any store error.
    pub async fn end_app_sessions(&self, person: Person) -> Result<(), Error> {
        let user_id = person.user_id;
        let now = self.now();
        let event = self.event(&Actor::Person(person.clone()), Action::EndSession);
        let event = event.to(user_id.0);
        self.store
            .write(person.session_id, async move |sql| {
                sql.run((user::lock(user_id), require_person(&person)))
                    .await?;
                // First, so that no code that is being exchanged starts a session after this.
                sql.run(auth_code::delete_unused(user_id)).await?;
                if end_app_sessions(sql, user_id, now).await? {
                    sql.run(audit::insert(&event)).await?;
                }
                Ok(())
            })
            .await
    }

    /// Ends all sessions of a user, in browsers and apps, except that of the browser that asks for it.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] when the person is no longer signed in; any store error.
    pub async fn end_other_sessions(&self, person: Person) -> Result<(), Error> {
        let user_id = person.user_id;
        let now = self.now();
        let actor = Actor::Person(person.clone());
        let events = [Action::EndBrowserSession, Action::EndSession];
        let [browsers, apps] = events.map(|action| self.event(&actor, action).to(user_id.0));
        self.store
            .write(person.session_id, async move |sql| {
                sql.run((user::lock(user_id), require_person(&person)))
                    .await?;
                // First, with the codes: one that is being exchanged may start a session before this, but none after.
                end_other_browsers(sql, &person, &browsers).await?;
                if end_app_sessions(sql, user_id, now).await? {
                    sql.run(audit::insert(&apps)).await?;
                }
                Ok(())
            })
            .await
    }
}

/// Ends the sessions of all other browsers of a person, who is locked, and the unused codes that they may have approved.
/// `event` records it, if there was one.
pub(super) async fn end_other_browsers(
    sql: Sql<'_>,
    person: &Person,
    event: &AuditEvent,
) -> Result<(), ScriptError> {
    if end_browsers(sql, person.user_id, Some(person.session_id)).await? {
        sql.run(audit::insert(event)).await?;
    }
    // After the sessions, as when one is signed out: two transactions would otherwise wait for each other.
    sql.run(auth_code::delete_unused(person.user_id)).await?;
    Ok(())
}

/// Ends the sessions of all browsers of a user, who is locked, except the one in `stays`. Returns whether there was one.
/// There may be a million, which are handled as in [`end_app_sessions`]; the background task deletes the sessions of earlier
/// generations.
pub(super) async fn end_browsers(
    sql: Sql<'_>,
    user_id: UserId,
    stays: Option<BrowserSessionId>,
) -> Result<bool, ScriptError> {
    let others = browser_session::delete_some_others(user_id, stays, STEP);
    let ended = sql.run(others).await?;
    if ended == u64::from(STEP) {
        sql.run(user::begin_browser_generation(user_id)).await?;
        if let Some(stays) = stays {
            sql.run(browser_session::keep(stays).rule(kept)).await?;
        }
    }
    Ok(ended > 0)
}

fn kept(found: u64) -> Result<(), Error> {
    match found {
        0 => Err(Error::InvalidToken),
        _ => Ok(()),
    }
}

/// Ends the sessions of all apps of a user, who is locked. Returns whether there was one. A thief may have started a
/// million, and a user who sets a new password has to be rid of all of them at once, without making others wait. So beyond
/// [`STEP`], the user starts another generation of sessions, and the background task marks those before it as ended
/// (`session_end`).
pub(super) async fn end_app_sessions(
    sql: Sql<'_>,
    user_id: UserId,
    now: Timestamp,
) -> Result<bool, ScriptError> {
    let ended = sql.run(session::end_some_of_user(user_id, now, STEP));
    let ended = ended.await?;
    if ended >= u64::from(STEP) {
        sql.run(user::begin_session_generation(user_id)).await?;
    }
    Ok(ended > 0)
}

/// Refuses a person who is no longer signed in, and keeps the session from ending before the end of the transaction. A
/// script that changes the row of the user must lock that first: two of them would otherwise wait for each other.
pub(super) fn require_person(person: &Person) -> impl Batch<Out = ()> + use<> {
    require_signed_in(person.user_id, person.session_id)
}

/// Like [`require_person`], for a user and a session.
pub(super) fn require_signed_in(
    user_id: UserId,
    session_id: BrowserSessionId,
) -> impl Batch<Out = ()> {
    let session = browser_session::hold(session_id).rule(move |session| {
        let session = session.filter(|it| it.user_id == user_id);
        session.map(drop).ok_or(Error::InvalidToken)
    });
    (user::share(user_id), session).rule(|(_, session)| Ok(session))
}

/// Gives a session a new cookie, after its user has proven again who they are.
pub(super) fn confirm_session(
    id: BrowserSessionId,
    cookie: &Digest,
    now: Timestamp,
) -> impl Batch<Out = ()> {
    browser_session::confirm(id, cookie, now).rule(kept)
}
