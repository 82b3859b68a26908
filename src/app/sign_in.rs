//! Signing in to the pages with a password, and using it to prove again who one is (docs/decisions.md, P31 to P33, V3 and
//! V10).
//!
//! 1. The account is looked up by its email, with its password hash. If either is missing, everything that follows is done
//!    as if it existed, and takes as long.
//! 2. When an attempt's turn to have its password compared has come (`hashing`), it is counted as a wrong one, and as a
//!    refused sign-in ([`crate::domain::refused_sign_in`]), in its own transaction, before anything is compared: of a
//!    thousand concurrent attempts, at most ten are compared. A browser with a device cookie of the account counts by that
//!    cookie; every other attempt counts by its network, and together with all others that have no cookie. Once a count is
//!    used up, attempts are refused; the counts are in the database, so replicas share them.
//! 3. The password is compared with the hash, off the threads that serve requests (`hashing`).
//! 4. If it is right, what was counted is taken back, and a session starts, in one transaction, which checks that the user
//!    still exists and the password is still the one that was compared.
//! 5. Proving again who one is gives the session a new cookie; the old one is invalid from then on.

use uuid::Uuid;

use super::hashing::Caller;
use super::{App, shared_secret};
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent, Person, Visitor};
use crate::domain::browser_session::{BrowserSession, InBrowser};
use crate::domain::device_cookie::DeviceCookies;
use crate::domain::holder::Holder;
use crate::domain::id::{AuditEventId, BrowserSessionId, UserId};
use crate::domain::password::{OF_ACCOUNT, OF_SOURCE, Source, WrongPasswords, account, normalized};
use crate::domain::refused_sign_in::RefusedSignIn;
use crate::domain::secret::{Digest, Secret};
use crate::domain::time::Timestamp;
use crate::domain::user::{User, parse_email};
use crate::domain::ways_to_sign_in::Way;
use crate::sql::ScriptError;
use crate::store::secret::SharedSecret;
use crate::store::{
    Batch, Sql, audit, auth_code, browser_session, password, refused_sign_in, user,
};

use super::browser_session::confirm_session;
use super::deactivation::require_active;
use super::user::require_user;

/// What a person who wants to sign in has typed, and in which browser.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// The email, as typed.
    pub email: String,
    /// The password, as typed.
    pub password: Secret,
    /// The browser.
    pub browser: Browser,
}

/// A browser, as its request describes it.
#[derive(Clone, Debug)]
pub struct Browser {
    /// Its client address and user agent.
    pub visitor: Visitor,
    /// The digest of its network.
    pub network: Digest,
    /// Its device cookie, if it has one.
    pub device: Option<Secret>,
    /// Its current session, if any: a new one replaces it.
    pub session: Option<InBrowser>,
}

/// The cookies for a browser that a user has signed in with. They are never shown again.
#[derive(Clone, Debug)]
pub struct Cookies {
    /// The cookie of the session.
    pub session: Secret,
    /// The device cookie, for a user who has a password.
    pub device: Option<Secret>,
}

impl Browser {
    /// For whom a password is hashed: the session, or else the network.
    pub(super) fn caller(&self, now: Timestamp) -> Caller {
        Caller::in_browser(self.session.as_ref(), self.visitor.address, now)
    }

    /// The device cookie for a user who has signed in: as old as the one before for this password, but with a count of wrong
    /// passwords of its own, which a thief of that one does not share.
    pub(super) fn next_device(
        &self,
        cookies: &DeviceCookies,
        user_id: UserId,
        hash: &Secret,
        now: Timestamp,
    ) -> Secret {
        let before = self.device.as_ref();
        let before = before.and_then(|it| cookies.device(it, user_id, hash));
        cookies.issue(user_id, hash, before.map_or(now, |it| it.since))
    }

    /// The holder for the lookup of the user who wants to sign in.
    pub(super) fn looks_up_for(&self) -> Holder {
        match &self.session {
            Some(session) => session.user.id.into(),
            None => Holder::SignIns,
        }
    }
}

impl App {
    /// Signs a user in with a password, as described [above](self).
    ///
    /// # Errors
    /// [`Error::WrongPassword`], [`Error::TooManyWrongPasswords`]; [`Error::Deactivated`] after the right password; any
    /// store error.
    pub async fn sign_in(&self, sign_in: SignIn) -> Result<Cookies, Error> {
        let SignIn {
            email,
            password,
            browser,
        } = sign_in;
        self.require_passwords()?;
        let account = account(&email);
        // An invalid email is no user's, but it is looked up all the same.
        let email = parse_email(&email).unwrap_or_default();
        let find = (
            user::find_email(email.clone()),
            password::find_email(email.clone()),
        );
        let found = self.store.look_up_sign_in(browser.looks_up_for(), find, 2);
        let (user, hash) = found.await?;
        let known = Known {
            account,
            user_id: user.as_ref().map(|it| it.id),
            hash,
        };
        let checked = self.check_password(&known, &password, &browser).await?;
        let (Some(user), Some(hash)) = (user, known.hash) else {
            return Err(Error::WrongPassword);
        };
        self.begin_browser_session(user, hash, checked, browser)
            .await
    }

    /// Takes the password of a signed-in user as proof that it is still them: step 5. Returns the session's new cookie.
    ///
    /// # Errors
    /// As for [`sign_in`](App::sign_in); [`Error::InvalidToken`] when the session has ended meanwhile.
    pub async fn confirm_by_password(
        &self,
        in_browser: &InBrowser,
        password: Secret,
        browser: Browser,
    ) -> Result<Secret, Error> {
        self.require_passwords()?;
        let user_id = in_browser.user.id;
        let find = async move |sql: Sql<'_>| sql.run(password::find(user_id)).await;
        let known = Known {
            account: account(&in_browser.user.email),
            user_id: Some(user_id),
            hash: self.store.read(user_id, find).await?,
        };
        let checked = self.check_password(&known, &password, &browser).await?;
        let hash = known.hash.ok_or(Error::WrongPassword)?;
        let now = self.now();
        let cookie = self.new_cookie(user_id);
        let (digest, session_id) = (cookie.digest(), in_browser.session.id);
        let confirm = async move |sql: Sql<'_>| {
            let exists = user::hold(user_id).rule(|exists| match exists {
                true => Ok(()),
                false => Err(Error::InvalidToken),
            });
            sql.run(exists).await?;
            require_password(sql, user_id, &hash).await?;
            let confirm = confirm_session(session_id, &digest, now);
            sql.run((confirm, checked.forget())).await.map(drop)
        };
        self.store.write(session_id, confirm).await?;
        Ok(cookie)
    }

    /// Steps 2 and 3.
    async fn check_password(
        &self,
        known: &Known,
        typed: &Secret,
        browser: &Browser,
    ) -> Result<Checked, Error> {
        let checked = self.compare_password(known, typed, browser).await;
        let checked = self.counts.password.refusing(checked);
        if let Err(Error::WrongPassword | Error::TooManyWrongPasswords(_)) = &checked {
            self.refused_sign_ins.note(known.user_id.is_some());
        }
        checked
    }

    async fn compare_password(
        &self,
        known: &Known,
        typed: &Secret,
        browser: &Browser,
    ) -> Result<Checked, Error> {
        let cookies = self.device_cookies().await?;
        let of_device = known
            .user_id
            .zip(known.hash.as_ref())
            .zip(browser.device.as_ref());
        let of_device =
            of_device.and_then(|((user_id, hash), device)| cookies.device(device, user_id, hash));
        // An attempt that finds no place in time has tried nothing, and leaves nothing behind. A user who has signed in here
        // before does not wait as strangers do.
        let at_home = known.user_id.zip(of_device);
        let now = self.now();
        let address = browser.visitor.address;
        let at_home =
            at_home.map(|(user_id, device)| Caller::at_home(user_id, device, address, now));
        let caller = at_home.unwrap_or_else(|| browser.caller(now));
        let caller = self.with_team(caller, browser.looks_up_for()).await?;
        let place = self.hashing.place(caller).await?;
        let now = self.now();
        // An unknown email gets the nil user id, so nothing is recorded for it, at the cost of the same work.
        let user_id = known.user_id.unwrap_or(UserId(Uuid::nil()));
        let attempt = Checked {
            account: known.account,
            source: of_device.map_or(Source(browser.network), |it| it.source),
            is_device: of_device.is_some(),
            refused: RefusedSignIn::new(user_id, address.to_string(), now),
        };
        let count = async move |sql: Sql<'_>| attempt.count(sql, now).await;
        // The place is held meanwhile, so this does not wait for what others have queued.
        let checked = self.store.write(Holder::Attempts, count).await??;
        let password = normalized(typed.reveal());
        let verified = self.hashing.verify(place, password, known.hash.clone());
        match verified.await? {
            true => Ok(checked),
            false => Err(Error::WrongPassword),
        }
    }

    /// Step 4.
    async fn begin_browser_session(
        &self,
        user: User,
        hash: Secret,
        checked: Checked,
        browser: Browser,
    ) -> Result<Cookies, Error> {
        let device = browser.next_device(self.device_cookies().await?, user.id, &hash, self.now());
        let (begin, cookie) = self.new_browser_session(user.id, Way::Password, &browser);
        self.store
            .write(user.id, async move |sql| {
                sql.run(require_user(begin.session.user_id)).await?;
                require_password(sql, begin.session.user_id, &hash).await?;
                // The counts are locked last, and for no longer than necessary: other attempts on this account wait for them
                // while they hold a place for hashing.
                begin.carry_out(sql).await?;
                sql.run(checked.forget()).await.map(drop)
            })
            .await?;
        self.counts.password.good.one();
        Ok(Cookies {
            session: cookie,
            device: Some(device),
        })
    }

    /// A session that starts now, in place of the browser's current one, and its cookie.
    pub(super) fn new_browser_session(
        &self,
        user_id: UserId,
        way: Way,
        browser: &Browser,
    ) -> (BeginSession, Secret) {
        let now = self.now();
        let cookie = self.new_cookie(user_id);
        let session = BrowserSession {
            id: self.ids.next(now),
            user_id,
            user_agent: browser.visitor.user_agent.clone(),
            created_at: now,
            signed_in_at: now,
            last_used_at: now.to_the_minute(),
        };
        let person = Person {
            user_id,
            session_id: session.id,
            visitor: browser.visitor.clone(),
        };
        let replaced = browser.session.as_ref().map(|it| {
            let person = Actor::Person(it.person(browser.visitor.clone()));
            Replaced {
                user_id: it.user.id,
                id: it.session.id,
                event: self.event(&person, Action::SignOut).to(it.session.id.0),
            }
        });
        let begin = BeginSession {
            digest: cookie.digest(),
            event: self
                .event(&Actor::Person(person), Action::SignIn)
                .to(session.id.0)
                .by(way),
            replaced,
            session,
        };
        (begin, cookie)
    }

    /// Device cookies, under a key that all processes on one database share. Few commands need it.
    pub(super) async fn device_cookies(&self) -> Result<&DeviceCookies, Error> {
        if let Some(made) = self.device_cookies.get() {
            return Ok(made);
        }
        let key = shared_secret(&self.store, SharedSecret::Device).await?;
        Ok(self.device_cookies.get_or_init(|| DeviceCookies::new(key)))
    }
}

/// Step 1.
struct Known {
    account: Digest,
    user_id: Option<UserId>,
    hash: Option<Secret>,
}

/// What an attempt counts against.
#[derive(Clone)]
struct Checked {
    account: Digest,
    source: Source,
    is_device: bool,
    refused: RefusedSignIn,
}

impl Checked {
    /// Step 2. Returns how the attempt was counted. A used-up count is returned as a value and not as an error, which would
    /// undo the record of the refused sign-in.
    async fn count(
        &self,
        sql: Sql<'_>,
        now: Timestamp,
    ) -> Result<Result<Checked, Error>, ScriptError> {
        let counted = self.one_more_wrong(sql, now).await?;
        let wrong = counted.iter().flatten();
        let set = wrong.map(|(source, wrong)| password::set_wrong(&self.account, source, wrong));
        // Together: a place for hashing is held meanwhile.
        let set = set.collect::<Vec<_>>();
        let (_, has_room) = sql
            .run((set, refused_sign_in::has_room(&self.refused)))
            .await?;
        let refused = match has_room {
            true => self.refused.clone(),
            false => self.refused.clone().of_others(),
        };
        sql.run(refused_sign_in::count(&refused)).await?;
        let checked = Checked {
            refused,
            ..self.clone()
        };
        Ok(counted.map(|_| checked))
    }

    /// Locks the counts, and returns what they are with this attempt. If one is used up, neither changes: a source that has used
    /// up its own count takes nothing from the shared one.
    async fn one_more_wrong(
        &self,
        sql: Sql<'_>,
        now: Timestamp,
    ) -> Result<Result<Vec<(Source, WrongPasswords)>, Error>, ScriptError> {
        let counts = [(*Source::ALL, OF_ACCOUNT), (self.source, OF_SOURCE)];
        let mut counted = Vec::new();
        // All attempts on an account wait for the first of these counts; a device does not share it.
        for (source, allowance) in counts.into_iter().skip(usize::from(self.is_device)) {
            let known = sql
                .run(password::lock_wrong(&self.account, &source, now))
                .await?;
            match allowance.one_more(known, now) {
                Ok(one_more) => counted.push((source, one_more)),
                Err(used_up) => return Ok(Err(used_up)),
            }
        }
        Ok(Ok(counted))
    }

    /// Takes the attempt back: the password was right.
    fn forget(&self) -> impl Batch + '_ {
        // In the order in which the rows are locked.
        (
            password::was_right(&self.account, !self.is_device),
            password::forget_wrong(&self.account, &self.source),
            refused_sign_in::take_off(&self.refused),
        )
    }
}

/// A session to start.
pub(super) struct BeginSession {
    session: BrowserSession,
    digest: Digest,
    event: AuditEvent,
    replaced: Option<Replaced>,
}

/// The session that a browser had until now.
struct Replaced {
    user_id: UserId,
    id: BrowserSessionId,
    /// Written if another user signs in, which ends the session.
    event: AuditEvent,
}

impl BeginSession {
    /// Takes over the time at which the user proved elsewhere who they are, if it is known.
    pub(super) fn prove_at(&mut self, at: Option<Timestamp>) {
        self.session.prove_at(at);
    }

    /// An event of something else that its user does now.
    pub(super) fn event_of(&self, action: Action, id: AuditEventId) -> AuditEvent {
        let event = AuditEvent {
            id,
            action,
            detail: None,
            ..self.event.clone()
        };
        event.to(self.session.user_id.0)
    }

    /// Starts the session. All browser sessions start here, whatever their user's proof was; a deactivated user gets none
    /// (`deactivation`, step 1).
    pub(super) async fn carry_out(&self, sql: Sql<'_>) -> Result<(), ScriptError> {
        let user_id = self.session.user_id;
        // The user before a session, as everywhere: two transactions would otherwise wait for each other.
        let generation = user::hold_browser_generation(user_id);
        let (_, generation) = sql.run((require_active(user_id), generation)).await?;
        let generation = generation.ok_or_else(|| User::missing(user_id))?;
        if let Some(replaced) = &self.replaced {
            let delete = browser_session::delete(replaced.user_id, replaced.id);
            if sql.run(delete).await? > 0 {
                // As when that user signs out.
                let codes = auth_code::delete_unused(replaced.user_id);
                let event = (replaced.user_id != user_id).then(|| audit::insert(&replaced.event));
                sql.run((codes, event)).await?;
            }
        }
        let insert = browser_session::insert(&self.session, &self.digest, generation);
        sql.run((insert, audit::insert(&self.event)))
            .await
            .map(drop)
    }
}

/// Refuses if the user's password has changed since, and keeps it as it is until the end of the transaction.
async fn require_password(
    sql: Sql<'_>,
    user_id: UserId,
    compared: &Secret,
) -> Result<(), ScriptError> {
    let hash = sql.run(password::hold(user_id)).await?;
    match hash.as_ref() == Some(compared) {
        true => Ok(()),
        false => Err(Error::WrongPassword.into()),
    }
}
