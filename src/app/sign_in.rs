//! Signing in to the pages by a password, and proving again who one is (docs/decisions.md, P31 to P33, V3 and V10).
//!
//! 1. The account is looked up by its email, with the hash of its password. Where either is missing, all that follows is done
//!    as if they were there, and takes as long.
//! 2. An attempt whose turn has come to have its password compared (`hashing.rs`) is counted as a wrong one, and as a refused
//!    sign-in ([`crate::domain::refused_sign_in`]), in a transaction of its own, before anything is compared: of a thousand that
//!    come at once, at most ten are compared. Who has a device cookie of the account counts by that, everybody else by their
//!    network and with all others who have none. Whoever has used up a count is refused; the counts are in the database, so
//!    replicas share them.
//! 3. The password is compared with the hash, where no request waits for the thread (`hashing.rs`).
//! 4. If it is the right one, what was counted is forgotten, and a session begins in one transaction, in which the user is
//!    still there and the password still the one that was compared.
//! 5. Proving again who one is gives the session another cookie; the one before is worth nothing then.

use uuid::Uuid;

use super::{App, shared_secret};
use crate::client_address::network;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent, Person, Visitor};
use crate::domain::browser_session::{BrowserSession, InBrowser};
use crate::domain::device_cookie::DeviceCookies;
use crate::domain::holder::Holder;
use crate::domain::id::{AuditEventId, BrowserSessionId, UserId};
use crate::domain::password::{OF_ACCOUNT, OF_SOURCE, Source, account, normalized};
use crate::domain::refused_sign_in::RefusedSignIn;
use crate::domain::secret::{Digest, Secret};
use crate::domain::time::Timestamp;
use crate::domain::user::{User, parse_email};
use crate::domain::ways_to_sign_in::Way;
use crate::sql::ScriptError;
use crate::store::secret::SharedSecret;
use crate::store::{Batch, Sql, audit, browser_session, password, refused_sign_in, user};

use super::browser_session::confirm_session;
use super::deactivation::require_active;
use super::user::require_user;

/// What somebody who wants to sign in has typed, and where.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// The email, as typed.
    pub email: String,
    /// The password, as typed.
    pub password: Secret,
    /// The browser.
    pub browser: Browser,
}

/// A browser, by what it has sent.
#[derive(Clone, Debug)]
pub struct Browser {
    /// Where it is.
    pub visitor: Visitor,
    /// The digest of the network that it is in.
    pub network: Digest,
    /// Its device cookie, if it has one.
    pub device: Option<Secret>,
    /// The session that it has, if there is one: a new one takes its place.
    pub session: Option<InBrowser>,
}

/// What a browser in which somebody has signed in is given; this is the only time that these are seen.
#[derive(Clone, Debug)]
pub struct Cookies {
    /// The cookie of the session.
    pub session: Secret,
    /// The device cookie, for who has a password.
    pub device: Option<Secret>,
}

impl Browser {
    /// For whom a password is hashed: whoever is signed in, or else the network.
    pub(super) fn holder(&self) -> Holder {
        match &self.session {
            Some(session) => session.user.id.into(),
            None => Holder::Address(network(self.visitor.address)),
        }
    }

    /// For whom it is looked up who wants to sign in.
    pub(super) fn looks_up_for(&self) -> Holder {
        match &self.session {
            Some(session) => session.user.id.into(),
            None => Holder::SignIns,
        }
    }
}

impl App {
    /// Signs somebody in by a password, as told [above](self).
    ///
    /// # Errors
    /// [`Error::WrongPassword`], [`Error::TooManyWrongPasswords`]; [`Error::Deactivated`] behind the right password; what the
    /// store answers.
    pub async fn sign_in(&self, sign_in: SignIn) -> Result<Cookies, Error> {
        let SignIn {
            email,
            password,
            browser,
        } = sign_in;
        self.require_passwords()?;
        let account = account(&email);
        // What is no email is nobody's; it is looked up all the same.
        let email = parse_email(&email).unwrap_or_default();
        let find = async move |sql: Sql<'_>| {
            let find = (user::find_email(&email), password::find_email(&email));
            sql.run(find).await
        };
        let (user, hash) = self.store.read(browser.looks_up_for(), find).await?;
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

    /// Takes the password of somebody who is signed in as a proof that it is still them, and gives the session's new cookie:
    /// step 5.
    ///
    /// # Errors
    /// As [`sign_in`](App::sign_in); [`Error::InvalidToken`] when the session has ended meanwhile.
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
            require_password(sql, user_id, &hash).await?;
            let confirm = confirm_session(session_id, &digest, now);
            sql.run((confirm, checked.forget())).await.map(drop)
        };
        self.store.write(user_id, confirm).await?;
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
            of_device.and_then(|((user_id, hash), device)| cookies.source(device, user_id, hash));
        // Who finds no place in time has tried nothing, and leaves nothing behind.
        // Who has signed in here before does not wait as strangers do.
        let at_home = known.user_id.filter(|_| of_device.is_some());
        let holder = at_home.map_or_else(|| browser.holder(), Holder::from);
        let place = self.hashing.place(holder).await?;
        let now = self.now();
        // Nobody has the account of an unknown email, so that nothing is kept of it, by as much work.
        let user_id = known.user_id.unwrap_or(UserId(Uuid::nil()));
        let address = browser.visitor.address.to_string();
        let attempt = Checked {
            account: known.account,
            source: of_device.unwrap_or(Source(browser.network)),
            is_device: of_device.is_some(),
            refused: RefusedSignIn::new(user_id, address, now),
        };
        let count = async move |sql: Sql<'_>| attempt.count(sql, now).await;
        // The place is held meanwhile, so this waits behind nothing that somebody else can make longer.
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
        let device = self.device_cookies().await?.issue(user.id, &hash);
        let (begin, cookie) = self.new_browser_session(user.id, Way::Password, &browser);
        self.store
            .write(user.id, async move |sql| {
                sql.run(require_user(begin.session.user_id)).await?;
                require_password(sql, begin.session.user_id, &hash).await?;
                // What is counted is locked last, and for no longer than it has to be: whoever tries this account elsewhere waits
                // for it with a place for hashing in hand.
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

    /// A session that begins now, in place of the one that the browser has, and its cookie.
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

    /// The key of device cookies, which all processes on one database share. Few commands need it.
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

/// What an attempt is counted by.
#[derive(Clone)]
struct Checked {
    account: Digest,
    source: Source,
    is_device: bool,
    refused: RefusedSignIn,
}

impl Checked {
    /// Step 2; how it was counted. That a count is used up is a result here and no error, which would undo what is kept of
    /// the refused sign-in.
    async fn count(
        &self,
        sql: Sql<'_>,
        now: Timestamp,
    ) -> Result<Result<Checked, Error>, ScriptError> {
        let counted = self.count_wrong(sql, now).await?;
        let refused = match sql.run(refused_sign_in::has_room(&self.refused)).await? {
            true => self.refused.clone(),
            false => self.refused.clone().of_others(),
        };
        sql.run(refused_sign_in::count(&refused)).await?;
        let checked = Checked {
            refused,
            ..self.clone()
        };
        Ok(counted.map(|()| checked))
    }

    /// Where one of the counts is used up, neither changes: who has used up the own one takes nothing from all others.
    async fn count_wrong(
        &self,
        sql: Sql<'_>,
        now: Timestamp,
    ) -> Result<Result<(), Error>, ScriptError> {
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
        for (source, one_more) in &counted {
            sql.run(password::set_wrong(&self.account, source, one_more))
                .await?;
        }
        Ok(Ok(()))
    }

    /// It was the right password after all.
    fn forget(&self) -> impl Batch + '_ {
        // In the order in which they are locked.
        (
            password::was_right(&self.account, !self.is_device),
            password::forget_wrong(&self.account, &self.source),
            refused_sign_in::take_off(&self.refused),
        )
    }
}

/// A session to begin.
pub(super) struct BeginSession {
    session: BrowserSession,
    digest: Digest,
    event: AuditEvent,
    replaced: Option<Replaced>,
}

/// The session that a browser has had until now.
struct Replaced {
    user_id: UserId,
    id: BrowserSessionId,
    /// That somebody else signs in there, which ends it.
    event: AuditEvent,
}

impl BeginSession {
    /// Takes a proof of who the user is that was given elsewhere.
    pub(super) fn prove_at(&mut self, at: Option<Timestamp>) {
        self.session.prove_at(at);
    }

    /// What else its user does now.
    pub(super) fn event_of(&self, action: Action, id: AuditEventId) -> AuditEvent {
        let event = AuditEvent {
            id,
            action,
            detail: None,
            ..self.event.clone()
        };
        event.to(self.session.user_id.0)
    }

    /// Every session of a browser begins here, whatever its user has proven it by; a deactivated user has none
    /// (`deactivation`, step 1).
    pub(super) async fn carry_out(&self, sql: Sql<'_>) -> Result<(), ScriptError> {
        let user_id = self.session.user_id;
        if let Some(replaced) = &self.replaced {
            let delete = browser_session::delete(replaced.user_id, replaced.id);
            if sql.run(delete).await? > 0 && replaced.user_id != user_id {
                sql.run(audit::insert(&replaced.event)).await?;
            }
        }
        let generation = user::hold_browser_generation(user_id);
        let (_, generation) = sql.run((require_active(user_id), generation)).await?;
        let generation = generation.ok_or_else(|| User::missing(user_id))?;
        let insert = browser_session::insert(&self.session, &self.digest, generation);
        sql.run((insert, audit::insert(&self.event)))
            .await
            .map(drop)
    }
}

/// Refuses a user whose password is another by now, and keeps it as it is until the end of the transaction.
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
