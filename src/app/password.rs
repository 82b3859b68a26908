//! Setting a password: through a reset link, or by changing it (docs/decisions.md, P13 to P15, V5).

use super::App;
use super::browser_session::{end_app_sessions, end_browsers, end_other_browsers, require_person};
use super::deactivation::require_active;
use super::hashing::Caller;
use super::sign_in::{Browser, Cookies};
use super::user::require_user;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, Person};
use crate::domain::browser_session::InBrowser;
use crate::domain::holder::Holder;
use crate::domain::id::{TeamId, UserId};
use crate::domain::one_time_link::{IssuedLink, Purpose};
use crate::domain::password::{new_password, normalized};
use crate::domain::secret::Secret;
use crate::domain::time::Timestamp;
use crate::domain::user::User;
use crate::domain::ways_to_sign_in::Way;
use crate::store::{Batch, audit, auth_code, email_change, member, one_time_link, password, user};

impl App {
    /// Gives a password, however easy to guess, to a user who has none.
    pub(crate) async fn add_password(
        &self,
        user_id: UserId,
        password: Secret,
    ) -> Result<(), Error> {
        let hash = self.hashing.hash(Holder::Service.into(), move || {
            Ok(normalized(password.reveal()))
        });
        let hash = hash.await?;
        let now = self.now();
        self.store
            .write(Holder::Service, async move |sql| {
                let set = password::set(user_id, &hash, now);
                sql.run((require_user(user_id), set)).await.map(drop)
            })
            .await
    }

    /// Creates a link through which a user resets the password; an earlier link becomes invalid.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown user; [`Error::Deactivated`]; [`Error::PasswordsOff`]; any store error.
    pub async fn create_reset_link(&self, user_id: UserId) -> Result<IssuedLink, Error> {
        self.require_passwords()?;
        let (link, issued) = self.new_one_time_link(Purpose::Reset, Some(user_id));
        let event = self.event(&Actor::Operator, Action::PrintResetLink);
        let event = event.to(user_id.0);
        self.store
            .write(Holder::Service, async move |sql| {
                let link = (require_active(user_id), one_time_link::replace(&link));
                sql.run((link, audit::insert(&event))).await.map(drop)
            })
            .await?;
        Ok(issued)
    }

    /// The user whose password the link sets.
    ///
    /// # Errors
    /// [`Error::LinkNotValid`]; any store error.
    pub async fn get_reset_link(&self, link: &Secret) -> Result<User, Error> {
        let (digest, now) = (link.digest(), self.now());
        let find = one_time_link::find(digest, Purpose::Reset, now);
        let link = self.store.look_up_sign_in(Holder::Links, find, 1).await?;
        let user_id = link.and_then(|it| it.user_id).ok_or(Error::LinkNotValid)?;
        // The link once more, behind the user: what they are called after its end is not for whoever has it.
        let still = one_time_link::find(digest, Purpose::Reset, now);
        let find = (user::find(user_id), still);
        let found = self.store.look_up_sign_in(Holder::Links, find, 2).await?;
        match found {
            (Some(user), Some(_)) => Ok(user),
            _ => Err(Error::LinkNotValid),
        }
    }

    /// Sets a password through a link. All sessions end, including those of apps, and unused codes become invalid.
    ///
    /// # Errors
    /// [`Error::LinkNotValid`]; [`Error::Invalid`] about the password; any store error.
    pub async fn reset_password(
        &self,
        link: &Secret,
        typed: Secret,
        browser: Browser,
    ) -> Result<Cookies, Error> {
        self.require_passwords()?;
        // Without a valid link, no password is judged or hashed.
        let found = self.get_reset_link(link).await;
        let user = self.counts.link.refusing(found)?;
        let caller = Caller::with_link(user.id, browser.visitor.address);
        let hash = self.hash_new_password(caller, Holder::Links, typed, &user);
        let hash = hash.await?;
        let (digest, now, user_id) = (link.digest(), self.now(), user.id);
        let device = self.device_cookies().await?.issue(user_id, &hash, now);
        let (begin, cookie) = self.new_browser_session(user_id, Way::Password, &browser);
        let event = begin.event_of(Action::ResetPassword, self.ids.next(now));
        self.store
            .write(user_id, async move |sql| {
                // First, as everything that ends a user's sessions does.
                sql.run(user::lock(user_id)).await?;
                let spent = one_time_link::spend(&digest, Purpose::Reset, now);
                let spent = sql.run(spent).await?.ok_or(Error::LinkNotValid)?;
                if spent.user_id != Some(user_id) {
                    return Err(Error::LinkNotValid.into());
                }
                sql.run(require_user(user_id)).await?;
                sql.run(set_password(user_id, &hash, now)).await?;
                end_browsers(sql, user_id, None).await?;
                sql.run(auth_code::delete_unused(user_id)).await?;
                end_app_sessions(sql, user_id, now).await?;
                sql.run(audit::insert(&event)).await?;
                begin.carry_out(sql).await
            })
            .await?;
        self.counts.link.good.one();
        Ok(Cookies {
            session: cookie,
            device: Some(device),
        })
    }

    /// Changes the password of a user who has recently proven who they are. Their other browser sessions end. Returns the
    /// browser's new device cookie.
    ///
    /// # Errors
    /// [`Error::Invalid`] about the password; [`Error::InvalidToken`] when the person is no longer signed in.
    pub async fn change_password(
        &self,
        person: Person,
        in_browser: &InBrowser,
        typed: Secret,
    ) -> Result<Secret, Error> {
        self.require_passwords()?;
        let (now, user_id) = (self.now(), person.user_id);
        let caller = Caller::in_browser(Some(in_browser), person.visitor.address, now);
        let hash = self.hash_new_password(caller, user_id.into(), typed, &in_browser.user);
        let hash = hash.await?;
        let device = self.device_cookies().await?.issue(user_id, &hash, now);
        let actor = Actor::Person(person.clone());
        let event = self.event(&actor, Action::ChangePassword);
        let ended = self.event(&actor, Action::EndBrowserSession).to(user_id.0);
        self.store
            .write(person.session_id, async move |sql| {
                sql.run((user::lock(user_id), require_person(&person)))
                    .await?;
                sql.run(set_password(user_id, &hash, now)).await?;
                end_other_browsers(sql, &person, &ended).await?;
                sql.run(audit::insert(&event)).await.map(drop)
            })
            .await?;
        Ok(device)
    }

    /// Hashes a new password on behalf of `caller`, who is looked up for `holder`, if it is good enough for this user.
    pub(super) async fn hash_new_password(
        &self,
        caller: Caller,
        holder: Holder,
        typed: Secret,
        user: &User,
    ) -> Result<Secret, Error> {
        let about_user = [user.email.clone(), user.name.clone()];
        let judge =
            move || new_password(typed.reveal(), &about_user.each_ref().map(String::as_str));
        let caller = self.with_team(caller, holder).await?;
        self.hashing.hash(caller, judge).await
    }

    /// The caller with the team that answers for them: of a known user, the oldest. It is looked up for `holder`.
    pub(super) async fn with_team(&self, caller: Caller, holder: Holder) -> Result<Caller, Error> {
        let Some(user_id) = caller.user_id() else {
            return Ok(caller);
        };
        Ok(caller.of_team(self.find_oldest_team(user_id, holder).await?))
    }

    /// The team that answers for somebody who signs in, looked up for `holder`.
    pub(super) async fn find_oldest_team(
        &self,
        user_id: UserId,
        holder: Holder,
    ) -> Result<Option<TeamId>, Error> {
        let find = member::find_oldest_team(user_id);
        self.store.look_up_sign_in(holder, find, 1).await
    }
}

/// Sets a user's password, and deletes what a person who knew the last one may have started: links to set another, and a
/// change of the email.
fn set_password(user_id: UserId, hash: &Secret, now: Timestamp) -> impl Batch {
    let links = one_time_link::delete_all(user_id);
    let set = password::set(user_id, hash, now);
    (set, links, email_change::delete(user_id))
}
