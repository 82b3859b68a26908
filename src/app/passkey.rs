//! Passkeys: adding and removing them, signing in with one, and using one to prove again who one is (docs/decisions.md, P20
//! to P24, P30, P33, V5 and V10).
//!
//! 1. A browser requests a challenge, which costs the database nothing ([`crate::domain::passkey::challenge`]).
//! 2. The answer must be for the same purpose and browser, and in time.
//! 3. The passkey is found by its credential id. It must be of this host and, if a user is signed in, theirs. Its signature
//!    is checked outside of a transaction.
//! 4. One transaction spends the challenge, and writes the passkey's state, provided that the stored state is still the one
//!    that was checked against. So of two answers to one challenge, and of two with the same count above zero, one is
//!    accepted. Then it does what the answer is for.
//! 5. If there are two copies of the same key, the challenge is spent and an audit event written; nobody is let in.
//! 6. Counts of wrong passwords play no part. A user may use passkeys only [so often](super::PASSKEY_USES). Of as many copies,
//!    events are written; copies that are found to be such are counted apart, so that they keep the user from nothing. (One
//!    with a higher count than the user's, or without any, is not told from it.)

use super::browser_session::{confirm_session, require_person};
use super::sign_in::{Browser, Cookies};
use super::{App, shared_secret};
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent, Person, Visitor};
use crate::domain::browser_session::InBrowser;
use crate::domain::holder::Holder;
use crate::domain::id::{BrowserSessionId, PasskeyId, UserId};
use crate::domain::passkey::ceremony::{
    Answer, Asked, Signed, Verified, added, ask_to_add, ask_to_sign,
};
use crate::domain::passkey::challenge::{Challenges, Opened, Purpose};
use crate::domain::passkey::{PASSKEYS, Passkey, RelyingParty, passkey_name};
use crate::domain::secret::{Digest, Secret};
use crate::domain::time::Timestamp;
use crate::domain::ways_to_sign_in::Way;
use crate::store::secret::SharedSecret;
use crate::store::{Batch, Sql, audit, passkey, password, user};

impl App {
    /// A challenge for a browser to have signed to sign a user in, if passkeys are offered. `browser` is a secret that it
    /// has in a cookie.
    ///
    /// # Errors
    /// Any store error.
    pub async fn ask_to_sign_in(&self, browser: &Secret) -> Result<Option<Asked>, Error> {
        self.ask_to_sign(Purpose::SignIn, &browser.digest()).await
    }

    /// A challenge for a browser to have signed for its user to prove again who they are.
    ///
    /// # Errors
    /// Any store error.
    pub async fn ask_to_confirm(&self, in_browser: &InBrowser) -> Result<Option<Asked>, Error> {
        let browser = of_session(in_browser.session.id);
        self.ask_to_sign(Purpose::Confirm, &browser).await
    }

    /// A challenge for a browser to create one more passkey for its user.
    ///
    /// # Errors
    /// Any store error.
    pub async fn ask_to_add(&self, in_browser: &InBrowser) -> Result<Option<Asked>, Error> {
        let Some(party) = self.relying_party() else {
            return Ok(None);
        };
        let known = self.list_passkeys(in_browser.user.id).await?;
        require_room(&known)?;
        let (options, state) = ask_to_add(party, &in_browser.user, &known)?;
        let browser = of_session(in_browser.session.id);
        let challenge = self.seal(Purpose::Add, &browser, &state).await?;
        Ok(Some(Asked { options, challenge }))
    }

    /// Signs a user in with a passkey. Users with a password get a device cookie, too.
    ///
    /// # Errors
    /// [`Error::PasskeyRefused`]; [`Error::Deactivated`] after a valid passkey; [`Error::Refused`] when the user does so too
    /// often (step 6); any store error.
    pub async fn sign_in_by_passkey(
        &self,
        answer: &Answer,
        secret: &Secret,
        browser: Browser,
    ) -> Result<Cookies, Error> {
        let challenge = (Purpose::SignIn, secret.digest());
        let proof = self.check(challenge, answer, None, &browser);
        let proof = self.counts.passkey.refusing(proof.await)?;
        let user_id = proof.passkey.user_id;
        let (begin, cookie) = self.new_browser_session(user_id, Way::Passkey, &browser);
        let now = self.now();
        let devices = self.device_cookies().await?;
        let signed_in = async move |sql: Sql<'_>| {
            // Refused before anything is changed, as what shares the transaction would be done twice on SQLite.
            sql.run(hold_active_user(user_id)).await?;
            sql.run(proof.take(now)).await?;
            begin.carry_out(sql).await?;
            sql.run(password::find(user_id)).await
        };
        let hash = self.store.write(user_id, signed_in).await?;
        self.counts.passkey.good.one();
        Ok(Cookies {
            session: cookie,
            device: hash.map(|hash| browser.next_device(devices, user_id, &hash, now)),
        })
    }

    /// Takes a passkey of a signed-in user as proof that it is still them. Returns the session's new cookie.
    ///
    /// # Errors
    /// [`Error::PasskeyRefused`], also for another user's passkey; [`Error::InvalidToken`] when the session has ended
    /// meanwhile; [`Error::Refused`] as for [`sign_in_by_passkey`](App::sign_in_by_passkey).
    pub async fn confirm_by_passkey(
        &self,
        in_browser: &InBrowser,
        answer: &Answer,
        browser: Browser,
    ) -> Result<Secret, Error> {
        let (user_id, session_id) = (in_browser.user.id, in_browser.session.id);
        let challenge = (Purpose::Confirm, of_session(session_id));
        let proof = self.check(challenge, answer, Some(user_id), &browser);
        let proof = self.counts.passkey.refusing(proof.await)?;
        let (now, cookie) = (self.now(), self.new_cookie(user_id));
        let digest = cookie.digest();
        let confirm = async move |sql: Sql<'_>| {
            sql.run(hold_user(user_id)).await?;
            let confirm = confirm_session(session_id, &digest, now);
            sql.run((proof.take(now), confirm)).await.map(drop)
        };
        self.store.write(session_id, confirm).await?;
        Ok(cookie)
    }

    /// The passkeys of a user, oldest first, including those of other hosts.
    ///
    /// # Errors
    /// Any store error.
    pub async fn list_passkeys(&self, user_id: UserId) -> Result<Vec<Passkey>, Error> {
        let list = async move |sql: Sql<'_>| sql.run(passkey::list(user_id)).await;
        self.store.read(user_id, list).await
    }

    /// How many passkeys are of another host, and so do not count as a way to sign in.
    ///
    /// # Errors
    /// Any store error.
    pub async fn count_passkeys_elsewhere(&self) -> Result<i64, Error> {
        let rp_id = self.switched_on.rp_id().to_owned();
        let count = async move |sql: Sql<'_>| sql.run(passkey::count_elsewhere(&rp_id)).await;
        let count = self.store.read(Holder::Service, count).await?;
        Ok(count.unwrap_or_default())
    }

    /// Adds a passkey for a user who has recently proven who they are.
    ///
    /// # Errors
    /// [`Error::Invalid`] about the name; [`Error::PasskeyRefused`]; [`Error::Refused`] when the user has as many as
    /// allowed; [`Error::InvalidToken`] when the person is no longer signed in.
    pub async fn add_passkey(
        &self,
        person: Person,
        name: &str,
        answer: &Answer,
    ) -> Result<(), Error> {
        let name = passkey_name(name)?;
        let (now, user_id) = (self.now(), person.user_id);
        let browser = of_session(person.session_id);
        let (party, opened) = self.open(Purpose::Add, &browser, answer).await?;
        let made = (self.new_id(), user_id, name);
        let made = added(party, &opened.state, &answer.credential, made, now)?;
        let event = self.event(&Actor::Person(person.clone()), Action::AddPasskey);
        let event = event.to(made.id.0);
        self.store
            .write(person.session_id, async move |sql| {
                // Concurrent additions run one after another.
                sql.run(user::lock(user_id)).await?;
                let known = (require_person(&person), passkey::list(user_id));
                // Refused before anything is changed, as what shares the transaction would be done twice on SQLite.
                let same = passkey::find_credential(made.credential_id.clone());
                let (((), known), same) = sql.run((known, same)).await?;
                require_room(&known)?;
                if same.is_some() {
                    return Err(Error::PasskeyRefused.into());
                }
                let insert = passkey::insert(&made).rule(one_or_refused);
                sql.run((spend(&opened), insert, audit::insert(&event)))
                    .await
                    .map(drop)
            })
            .await
    }

    /// Removes a passkey of a user who has recently proven who they are. The user's other browser sessions end.
    ///
    /// # Errors
    /// [`Error::Missing`] when the user has no such passkey; [`Error::Refused`] when no other way to sign in is left;
    /// [`Error::InvalidToken`] when the person is no longer signed in.
    pub async fn remove_passkey(&self, person: Person, id: PasskeyId) -> Result<(), Error> {
        let user_id = person.user_id;
        let delete = move || {
            passkey::delete(user_id, id).rule(move |removed| match removed {
                0 => Err(Passkey::missing(id)),
                _ => Ok(()),
            })
        };
        let action = Action::RemovePasskey;
        self.take_away(person, action, id.0, delete).await
    }

    /// Step 1.
    async fn ask_to_sign(
        &self,
        purpose: Purpose,
        browser: &Digest,
    ) -> Result<Option<Asked>, Error> {
        let Some(party) = self.relying_party() else {
            return Ok(None);
        };
        let (options, state) = ask_to_sign(party)?;
        let challenge = self.seal(purpose, browser, &state).await?;
        Ok(Some(Asked { options, challenge }))
    }

    async fn seal(
        &self,
        purpose: Purpose,
        browser: &Digest,
        state: &[u8],
    ) -> Result<String, Error> {
        let challenges = self.challenges().await?;
        Ok(challenges.seal(purpose, browser, state, self.now()))
    }

    /// Step 2.
    async fn open(
        &self,
        purpose: Purpose,
        browser: &Digest,
        answer: &Answer,
    ) -> Result<(&RelyingParty, Opened), Error> {
        let party = self.relying_party().ok_or(Error::PasskeyRefused)?;
        let challenges = self.challenges().await?;
        let opened = challenges.open(purpose, browser, &answer.challenge, self.now());
        Ok((party, opened.ok_or(Error::PasskeyRefused)?))
    }

    /// Steps 2, 3 and 5; the passkey must be one of `owner`'s, if that is known.
    async fn check(
        &self,
        (purpose, browser): (Purpose, Digest),
        answer: &Answer,
        owner: Option<UserId>,
        by: &Browser,
    ) -> Result<Proof, Error> {
        let (party, opened) = self.open(purpose, &browser, answer).await?;
        let signed = Signed::read(&answer.credential)?;
        let credential_id = signed.credential_id();
        let find = passkey::find_credential(credential_id.clone());
        let passkey = self
            .store
            .look_up_sign_in(by.looks_up_for(), find, 1)
            .await?;
        let is_good =
            |it: &Passkey| it.rp_id == party.id() && owner.is_none_or(|owner| it.user_id == owner);
        let passkey = passkey.filter(is_good).ok_or(Error::PasskeyRefused)?;
        // Others, who only know of the passkey, do not count.
        match signed.verify(party, &opened.state, &passkey)? {
            Verified::Good(_) if !self.passkey_uses.take(passkey.user_id) => Err(Error::Refused(
                "your passkeys have just been used very often; try again in a minute".into(),
            )),
            Verified::Good(state) => Ok(Proof {
                passkey,
                opened,
                state,
            }),
            Verified::Cloned if !self.passkey_copies.take(passkey.user_id) => {
                Err(Error::PasskeyRefused)
            }
            Verified::Cloned => Err(self.tell_of_clone(passkey, opened, &by.visitor).await?),
        }
    }

    /// Step 5.
    async fn tell_of_clone(
        &self,
        passkey: Passkey,
        opened: Opened,
        visitor: &Visitor,
    ) -> Result<Error, Error> {
        let event = AuditEvent {
            actor: Some(passkey.user_id),
            client_address: Some(visitor.address.to_string()),
            user_agent: visitor.user_agent.clone(),
            ..self.event(&Actor::Operator, Action::RefusePasskey)
        };
        let event = event.to(passkey.id.0);
        let tell = async move |sql: Sql<'_>| {
            // An event of a user who is deleted meanwhile would keep its client address and user agent.
            sql.run(hold_user(passkey.user_id)).await?;
            // One event per challenge.
            let spent = passkey::spend(&opened.digest, opened.expires_at);
            if sql.run(spent).await? > 0 {
                sql.run(audit::insert(&event)).await?;
            }
            Ok(())
        };
        self.store.write(passkey.user_id, tell).await?;
        Ok(Error::PasskeyRefused)
    }

    /// Challenges, under a key that all processes on one database share.
    async fn challenges(&self) -> Result<&Challenges, Error> {
        if let Some(made) = self.challenges.get() {
            return Ok(made);
        }
        let key = shared_secret(&self.store, SharedSecret::Passkey).await?;
        Ok(self.challenges.get_or_init(|| Challenges::new(key)))
    }
}

/// A passkey that has signed a challenge, which is not spent yet.
struct Proof {
    passkey: Passkey,
    opened: Opened,
    state: Vec<u8>,
}

impl Proof {
    /// Step 4.
    fn take(&self, now: Timestamp) -> impl Batch<Out = ((), ())> {
        let Passkey { id, state, .. } = &self.passkey;
        let used = passkey::use_once(*id, state, &self.state, now);
        (spend(&self.opened), used.rule(one_or_refused))
    }
}

fn require_room(known: &[Passkey]) -> Result<(), Error> {
    match known.len() < PASSKEYS {
        true => Ok(()),
        false => Err(Error::Refused(format!(
            "you have {PASSKEYS} passkeys; remove one first"
        ))),
    }
}

fn spend(opened: &Opened) -> impl Batch<Out = ()> {
    passkey::spend(&opened.digest, opened.expires_at).rule(one_or_refused)
}

/// Holds the user until the end of the transaction; a passkey of a removed user is refused.
fn hold_user(id: UserId) -> impl Batch<Out = ()> {
    user::hold(id).rule(|exists| match exists {
        true => Ok(()),
        false => Err(Error::PasskeyRefused),
    })
}

/// The same for a sign-in, for which a deactivated user is refused.
fn hold_active_user(id: UserId) -> impl Batch<Out = ()> {
    user::hold_standing(id).rule(|is_active| match is_active {
        Some(true) => Ok(()),
        Some(false) => Err(Error::Deactivated),
        None => Err(Error::PasskeyRefused),
    })
}

fn one_or_refused(count: u64) -> Result<(), Error> {
    match count {
        0 => Err(Error::PasskeyRefused),
        _ => Ok(()),
    }
}

/// What identifies a browser in which a user is signed in.
fn of_session(id: BrowserSessionId) -> Digest {
    Digest::of(id.as_bytes())
}
