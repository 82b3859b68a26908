//! Signing in through the OpenID provider, and a user's linked identities (docs/decisions.md, P26, P27, P30 and V10).
//!
//! 1. The provider's claims are checked before they get here (`crate::oidc`).
//! 2. A user is found by issuer and subject. Failing that, a user is found by a proven email, once, if they have no other
//!    way to sign in that is switched on; the identity is linked then. A person who follows an invitation to their proven
//!    email, and is not a user yet, becomes one.
//! 3. Everybody else signs in first, then links the identity. That is refused if another user has it.
//! 4. What was found before a transaction is checked again in it. Linking and unlinking lock the user first, so that the
//!    last way to sign in stays, whatever else is taken away at the same time.

use super::browser_session::{confirm_session, require_person};
use super::invitation::accept;
use super::sign_in::Browser;
use super::user::require_user;
use super::{App, shared_secret};
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, Person};
use crate::domain::authentication_request::{
    AuthenticationRequest, AuthenticationRequests, Purpose,
};
use crate::domain::browser_session::InBrowser;
use crate::domain::id::{IdentityId, UserId};
use crate::domain::identity::{Claims, IDENTITIES_PER_USER, Identity};
use crate::domain::input::typed_text;
use crate::domain::secret::Secret;
use crate::domain::user::User;
use crate::domain::ways_to_sign_in::{SwitchedOn, Way};
use crate::sql::ScriptError;
use crate::store::secret::SharedSecret;
use crate::store::{Batch, Sql, audit, identity, team, user, ways_to_sign_in};

impl App {
    /// A new trip to the provider, and the cookie that goes with it.
    ///
    /// # Errors
    /// Any store error.
    pub async fn begin_authentication(
        &self,
        purpose: Purpose,
        next: &str,
    ) -> Result<(AuthenticationRequest, Secret), Error> {
        let request = AuthenticationRequest::new(purpose, next, self.now());
        let cookie = self.authentication_requests().await?.seal(&request)?;
        Ok((request, cookie))
    }

    /// The trip that a cookie describes, if the cookie is valid.
    ///
    /// # Errors
    /// Any store error.
    pub async fn find_authentication(
        &self,
        cookie: &str,
    ) -> Result<Option<AuthenticationRequest>, Error> {
        let requests = self.authentication_requests().await?;
        Ok(requests.open(cookie, self.now()))
    }

    /// The value of the cookie that a browser keeps in which this user came back with a good code.
    ///
    /// # Errors
    /// Any store error.
    pub async fn returning_browser(&self, user_id: UserId) -> Result<Secret, Error> {
        let requests = self.authentication_requests().await?;
        requests.seal_returning(user_id, self.now())
    }

    /// The user who came back to the browser with this cookie, if it is valid.
    ///
    /// # Errors
    /// Any store error.
    pub async fn find_returning_browser(&self, cookie: &str) -> Result<Option<UserId>, Error> {
        let requests = self.authentication_requests().await?;
        Ok(requests.open_returning(cookie, self.now()))
    }

    async fn authentication_requests(&self) -> Result<&AuthenticationRequests, Error> {
        if let Some(made) = self.authentication_requests.get() {
            return Ok(made);
        }
        let key = shared_secret(&self.store, SharedSecret::AuthenticationRequest).await?;
        let made = AuthenticationRequests::new(key)?;
        Ok(self.authentication_requests.get_or_init(|| made))
    }

    /// Signs in the user whom the provider identifies: step 2. Returns who it is, and the session's cookie.
    ///
    /// # Errors
    /// [`Error::IdentityUnknown`] for a person who has to sign in first; [`Error::Deactivated`]; any store error.
    pub async fn sign_in_by_provider(
        &self,
        claims: Claims,
        browser: Browser,
    ) -> Result<(UserId, Secret), Error> {
        let (wanted, on) = (claims.clone(), self.switched_on.clone());
        let find = async move |sql: Sql<'_>| find_user(sql, &wanted, &on).await;
        let found = self.store.read(browser.looks_up_for(), find).await;
        let (user_id, is_new) = self.counts.provider.refusing(found)?;
        let (mut begin, cookie) = self.new_browser_session(user_id, Way::Provider, &browser);
        begin.prove_at(claims.signed_in_at);
        let made = self.new_identity(user_id, &claims);
        let linked = begin.event_of(Action::LinkIdentity, self.ids.next(self.now()));
        let linked = linked.to(made.id.0);
        let on = self.switched_on.clone();
        self.store
            .write(user_id, async move |sql| {
                if is_new {
                    sql.run(user::lock(user_id)).await?;
                }
                sql.run(require_user(user_id)).await?;
                // Again, now that this user cannot gain or lose a way to sign in.
                let found = find_user(sql, &claims, &on).await?;
                if !is_still((user_id, is_new), found) {
                    return Err(Error::IdentityUnknown.into());
                }
                // Of two concurrent sign-ins, the first has linked it.
                if found.1 {
                    insert(sql, &made).await?;
                    sql.run(audit::insert(&linked)).await?;
                }
                begin.carry_out(sql).await
            })
            .await?;
        self.counts.provider.good.one();
        Ok((user_id, cookie))
    }

    /// Creates a user through an invitation, if the provider proves that the email is theirs, and signs the browser in: step
    /// 2.
    ///
    /// # Errors
    /// [`Error::LinkNotValid`], also when a user already has the email; [`Error::Refused`] for another email, or one that is
    /// not proven; [`Error::IdentityTaken`]; any store error.
    pub async fn join_by_provider(
        &self,
        link: &Secret,
        claims: Claims,
        browser: Browser,
    ) -> Result<(UserId, Secret), Error> {
        let found = self.get_invitation(link).await?;
        if found.has_user {
            return Err(Error::LinkNotValid);
        }
        let (email, team_id) = (found.invitation.email, found.invitation.team_id);
        if !claims.prove(&email) {
            return Err(Error::Refused(match claims.proven_email() {
                Some(other) => format!("{email} is invited, and you signed in there as {other}"),
                None => format!(
                    "{email} is invited, and the account there does not prove that it is yours"
                ),
            }));
        }
        let now = self.now();
        let made = User {
            id: self.ids.next(now),
            name: name(&claims, &email),
            email,
            created_at: now,
            deactivated_at: None,
        };
        let user_id = made.id;
        let identity = self.new_identity(user_id, &claims);
        let (mut begin, cookie) = self.new_browser_session(user_id, Way::Provider, &browser);
        begin.prove_at(claims.signed_in_at);
        let event = begin.event_of(Action::AcceptInvitation, self.ids.next(now));
        let digest = link.digest();
        self.store
            .write(team_id, async move |sql| {
                // The team before any user (`membership`, step 1).
                sql.run(team::lock(team_id)).await?;
                // Waits for, or holds up, a concurrent creation of a user with this email.
                if sql.run(user::insert(&made)).await? == 0 {
                    return Err(Error::LinkNotValid.into());
                }
                insert(sql, &identity).await?;
                accept(sql, &digest, &made, now, &event).await?;
                begin.carry_out(sql).await
            })
            .await?;
        self.counts.provider.good.one();
        Ok((user_id, cookie))
    }

    /// Takes a sign-in at the provider as proof that it is still the user who is signed in here. Returns the session's new
    /// cookie.
    ///
    /// # Errors
    /// [`Error::IdentityUnknown`] when the identity is not this user's; [`Error::InvalidToken`] when the session has ended.
    pub async fn confirm_by_provider(
        &self,
        in_browser: &InBrowser,
        claims: Claims,
    ) -> Result<Secret, Error> {
        let (user_id, session_id) = (in_browser.user.id, in_browser.session.id);
        let (now, cookie) = (self.now(), self.new_cookie(user_id));
        let digest = cookie.digest();
        self.store
            .write(session_id, async move |sql| {
                // The user is held, so that the identity is not unlinked meanwhile.
                sql.run(require_user(user_id)).await?;
                let found = identity::find(&claims.issuer, &claims.subject);
                let found = sql.run(found).await?.filter(|it| it.user_id == user_id);
                found.ok_or(Error::IdentityUnknown)?;
                sql.run(confirm_session(session_id, &digest, now)).await
            })
            .await?;
        Ok(cookie)
    }

    /// The identities of a user, oldest first.
    ///
    /// # Errors
    /// Any store error.
    pub async fn list_identities(&self, user_id: UserId) -> Result<Vec<Identity>, Error> {
        let list = async move |sql: Sql<'_>| sql.run(identity::list(user_id)).await;
        self.store.read(user_id, list).await
    }

    /// Links an identity to a user who has recently proven who they are: step 3. Does nothing if it is theirs already.
    ///
    /// # Errors
    /// [`Error::IdentityTaken`]; [`Error::Refused`] for one too many; [`Error::InvalidToken`] when the person is no longer
    /// signed in.
    pub async fn link_identity(&self, person: Person, claims: Claims) -> Result<(), Error> {
        let user_id = person.user_id;
        let made = self.new_identity(user_id, &claims);
        let event = self.event(&Actor::Person(person.clone()), Action::LinkIdentity);
        let event = event.to(made.id.0);
        self.store
            .write(person.session_id, async move |sql| {
                sql.run(user::lock(user_id)).await?;
                sql.run(require_person(&person)).await?;
                let own = sql.run(identity::list(user_id)).await?;
                let is_this =
                    |it: &Identity| (&it.issuer, &it.subject) == (&made.issuer, &made.subject);
                if own.iter().any(is_this) {
                    return Ok(());
                }
                if own.len() >= IDENTITIES_PER_USER {
                    let why = "you have ten identities already; unlink one first";
                    return Err(Error::Refused(why.into()).into());
                }
                insert(sql, &made).await?;
                sql.run(audit::insert(&event)).await.map(drop)
            })
            .await
    }

    /// Unlinks an identity of a user who has recently proven who they are, and ends their sessions in other browsers: the
    /// identity may be another person's, who has signed in with it.
    ///
    /// # Errors
    /// [`Error::Refused`] for the last way to sign in; [`Error::Missing`] when there is none; [`Error::InvalidToken`] when
    /// the person is no longer signed in.
    pub async fn unlink_identity(&self, person: Person, id: IdentityId) -> Result<(), Error> {
        let user_id = person.user_id;
        let delete = move || {
            identity::delete(user_id, id).rule(move |deleted| match deleted {
                0 => Err(Identity::missing(id)),
                _ => Ok(()),
            })
        };
        let action = Action::UnlinkIdentity;
        self.take_away(person, action, id.0, delete).await
    }

    fn new_identity(&self, user_id: UserId, claims: &Claims) -> Identity {
        let now = self.now();
        Identity {
            id: self.ids.next(now),
            user_id,
            issuer: claims.issuer.clone(),
            subject: claims.subject.clone(),
            email: claims.email.clone(),
            created_at: now,
        }
    }
}

/// Step 2: the user, and whether the identity is still to be linked.
async fn find_user(
    sql: Sql<'_>,
    claims: &Claims,
    on: &SwitchedOn,
) -> Result<(UserId, bool), ScriptError> {
    let find = || identity::find(&claims.issuer, &claims.subject);
    if let Some(found) = sql.run(find()).await? {
        return Ok((found.user_id, false));
    }
    let email = claims.proven_email().ok_or(Error::IdentityUnknown)?;
    let user = sql.run(user::find_email(email)).await?;
    let user = user.ok_or(Error::IdentityUnknown)?;
    if sql.run(ways_to_sign_in::of(user.id, on)).await?.is_none() {
        return Ok((user.id, true));
    }
    // A concurrent sign-in may just have linked it: then that is the way to sign in that there is.
    match sql.run(find()).await? {
        Some(found) => Ok((found.user_id, false)),
        None => Err(Error::IdentityUnknown.into()),
    }
}

/// Whether the user found now is the one found before. An identity that was known then and is new now has been unlinked.
fn is_still((user_id, was_new): (UserId, bool), (found, is_new): (UserId, bool)) -> bool {
    found == user_id && (was_new || !is_new)
}

async fn insert(sql: Sql<'_>, made: &Identity) -> Result<(), ScriptError> {
    match sql.run(identity::insert(made)).await? {
        0 => Err(Error::IdentityTaken.into()),
        _ => Ok(()),
    }
}

/// The user's name: the provider's, or else the local part of the email.
fn name(claims: &Claims, email: &str) -> String {
    let said = claims.name.as_deref().unwrap_or_default();
    let of_email = || email.split('@').next().unwrap_or(email).to_owned();
    typed_text("name", said).unwrap_or_else(|_| of_email())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_that_was_unlinked_or_given_to_another_meanwhile_finds_nobody() {
        let [ada, ben] = [1, 2].map(|id| UserId(uuid::Uuid::from_u128(id)));
        assert!(is_still((ada, false), (ada, false)));
        assert!(is_still((ada, true), (ada, true)));
        assert!(
            is_still((ada, true), (ada, false)),
            "linked by the first of two"
        );
        assert!(!is_still((ada, false), (ada, true)), "unlinked");
        for (was_new, is_new) in [(false, false), (true, false), (true, true)] {
            assert!(!is_still((ada, was_new), (ben, is_new)));
        }
    }
}
