//! Changing a user's email ([`crate::domain::email_change`]).
//!
//! 1. The requested change is stored, and a link mailed to the new address, or a notice if the address is another user's.
//!    Reads and writes are the same in both cases, so the requester does not find out which. The letter is sent afterwards,
//!    and the requester does not wait for it.
//! 2. The change is made in a transaction during which no user can be created or get another email, so that of two who want
//!    the same address, one gets it.
//! 3. What was valid through the old address ends with it: links that were mailed there, invitations of it to any team, and
//!    the count of wrong passwords, which is by address. An invitation of the new address to a team that the user is already
//!    in ends, too. Otherwise whoever is removed from a team later could come back by such a link, as a new user
//!    (docs/decisions.md, P9).
//! 4. Locks are taken in this order: the user's teams, the user, the session, the invitations of the old address, all users,
//!    the count of the user's letters and that of those to the address. With the teams locked, none of them invites the new address meanwhile.

use super::App;
use super::browser_session::require_person;
use super::mail::one_more_typed;
use super::membership::lock_with_teams;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent, Person};
use crate::domain::email_change::{self, EmailChange, LIFETIME};
use crate::domain::holder::Holder;
use crate::domain::id::UserId;
use crate::domain::letter::Occasion;
use crate::domain::password::account;
use crate::domain::secret::Secret;
use crate::domain::user::{User, parse_email};
use crate::mail::require_address;
use crate::sql::ScriptError;
use crate::store::{
    Batch, Sql, audit, email_change as changes, invitation, one_time_link, password, user,
};

impl App {
    /// Mails a link to the new email of a user who has recently proven who they are: step 1.
    ///
    /// # Errors
    /// [`Error::Invalid`] about the email, also when there were too many letters; [`Error::LinkNotValid`] if no mail is
    /// sent; [`Error::InvalidToken`] when the person is no longer signed in; any store error.
    pub async fn ask_for_email_change(&self, person: Person, email: &str) -> Result<(), Error> {
        let (outbox, letters) = self.mail()?;
        let email = parse_email(email)?;
        require_address(&email)?;
        let (now, user_id) = (self.now(), person.user_id);
        let team = self.oldest_team(user_id).await?;
        let place = outbox.reserve_for(team, Occasion::ChangeEmail)?;
        let secret = Secret::base64url();
        let change = EmailChange {
            user_id,
            digest: secret.digest(),
            email: email.clone(),
            expires_at: now.after(LIFETIME),
        };
        let holder = Holder::from(person.session_id);
        let keep = async move |sql: Sql<'_>| {
            // The user before the session, as when a user is removed.
            sql.run((user::lock(user_id), require_person(&person)))
                .await?;
            let find = (user::find(user_id), user::find_email(&change.email));
            let (user, owner) = sql.run(find).await?;
            let user = user.ok_or(Error::InvalidToken)?;
            if user.email == change.email {
                return Err(Error::invalid("email", "is yours already").into());
            }
            let to = (team, &*change.email);
            let counted = one_more_typed(user_id, to, Occasion::ChangeEmail, now);
            sql.run((counted, changes::replace(&change))).await?;
            Ok((user, owner.filter(|it| it.id != user_id)))
        };
        let (user, owner) = self.store.write(holder, keep).await?;
        let url = email_change::url(letters.origin, &secret);
        let letter = match owner {
            // To the address as stored: another spelling may be another mailbox.
            Some(owner) => letters.email_taken(&owner.email),
            None => letters.change_email(&email, &user.name, &url),
        };
        place.send(letter);
        Ok(())
    }

    /// The email change that a link confirms.
    ///
    /// # Errors
    /// [`Error::LinkNotValid`], also when the link is another user's; any store error.
    pub async fn get_email_change(
        &self,
        user_id: UserId,
        link: &Secret,
    ) -> Result<EmailChange, Error> {
        let (digest, now) = (link.digest(), self.now());
        let find = async move |sql: Sql<'_>| {
            let found = sql.run(changes::find(user_id, &digest, now)).await?;
            Ok(found.ok_or(Error::LinkNotValid)?)
        };
        self.store.read(user_id, find).await
    }

    /// A user's pending email change, if its link is still valid.
    ///
    /// # Errors
    /// Any store error.
    pub async fn find_email_change(&self, user_id: UserId) -> Result<Option<EmailChange>, Error> {
        let now = self.now();
        let find = async move |sql: Sql<'_>| sql.run(changes::find_pending(user_id, now)).await;
        self.store.read(user_id, find).await
    }

    /// Changes a user's email to the address that the link was mailed to, and notifies the old one: step 2.
    ///
    /// # Errors
    /// [`Error::LinkNotValid`], also when the link is another user's; [`Error::Refused`] when the email is taken by now;
    /// [`Error::InvalidToken`] when the person is no longer signed in; any store error.
    pub async fn change_email(&self, person: Person, link: &Secret) -> Result<(), Error> {
        let (outbox, letters) = self.mail()?;
        let (now, user_id, digest) = (self.now(), person.user_id, link.digest());
        // Others wait for what a change locks. So one that is refused, and may be tried again and again, locks nothing.
        self.require_reader(user_id.into(), user_id, person.session_id, None)
            .await?;
        let check = async move |sql: Sql<'_>| {
            let found = sql.run(changes::find(user_id, &digest, now)).await?;
            let email = found.ok_or(Error::LinkNotValid)?.email;
            sql.run(require_free(user_id, &email, false)).await
        };
        self.store.read(user_id, check).await?;
        let team = self.oldest_team(user_id).await?;
        let place = outbox.reserve_for(team, Occasion::EmailChanged)?;
        let event = self.event(&Actor::Person(person.clone()), Action::ChangeEmail);
        let event = event.to(user_id.0);
        let holder = Holder::from(person.session_id);
        let change = async move |sql: Sql<'_>| {
            sql.run((lock_with_teams(user_id), require_person(&person)))
                .await?;
            let spent = sql.run(changes::spend(user_id, &digest, now)).await?;
            let email = spent.ok_or(Error::LinkNotValid)?.email;
            set_email(sql, user_id, &email, &event).await
        };
        match self.store.write(holder, change).await {
            Ok(before) => {
                place.send(letters.email_changed(&before.email, &before.name));
                Ok(())
            }
            // The change may have been made, and then the old address should be notified: a human has to look.
            Err(error @ Error::Unavailable(_)) => {
                outbox.fail(
                    Occasion::EmailChanged,
                    "whether the email has changed is not known",
                );
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Changes a user's email, for the operator.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid email; [`Error::Refused`] for one that another user has; [`Error::Missing`] for an
    /// unknown user; any store error.
    pub async fn set_email(&self, user_id: UserId, email: &str) -> Result<User, Error> {
        let email = parse_email(email)?;
        let event = self.event(&Actor::Operator, Action::ChangeEmail);
        let event = event.to(user_id.0);
        let change = async move |sql: Sql<'_>| {
            sql.run(lock_with_teams(user_id)).await?;
            let before = set_email(sql, user_id, &email, &event).await?;
            let email = email.clone();
            Ok(User { email, ..before })
        };
        self.store.write(Holder::Service, change).await
    }
}

/// Steps 2 and 3, for a user who is locked with their teams. Returns the user as they were before.
async fn set_email(
    sql: Sql<'_>,
    user_id: UserId,
    email: &str,
    event: &AuditEvent,
) -> Result<User, ScriptError> {
    // Only the command line is told whose it is.
    let says_whose = event.actor.is_none();
    let before = sql.run(user::find(user_id)).await?;
    let before = before.ok_or_else(|| User::missing(user_id))?;
    if before.email == email {
        return Ok(before);
    }
    let is_another = !before.email.eq_ignore_ascii_case(email);
    sql.run((
        is_another.then(|| invitation::delete_all_of(&before.email)),
        user::lock_all(),
        require_free(user_id, email, says_whose),
    ))
    .await?;
    let account = account(&before.email);
    sql.run((
        user::set_email(user_id, email),
        one_time_link::delete_all(user_id),
        changes::delete(user_id),
        password::forget_all_wrong(&account),
        invitation::delete_of_member(user_id, email),
        audit::insert(event),
    ))
    .await?;
    Ok(before)
}

/// Refuses an email that another user has, and says whose it is, if it may.
fn require_free(user_id: UserId, email: &str, says_whose: bool) -> impl Batch<Out = ()> {
    user::find_email(email).rule(move |owner| match owner {
        Some(other) if other.id != user_id => {
            Err(User::email_taken(email, says_whose.then_some(&other)))
        }
        _ => Ok(()),
    })
}
