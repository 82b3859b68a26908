//! Which ways to sign in are switched on, and which of them a user has (docs/decisions.md, P3, P16 and P30).
//!
//! All kinds are checked here and nowhere else. A way that is switched off does not count, nor does a passkey of a host
//! other than the origin's, nor an identity at another provider.

use uuid::Uuid;

use super::App;
use super::browser_session::{end_other_browsers, require_person};
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, Person};
use crate::domain::id::UserId;
use crate::domain::passkey::RelyingParty;
use crate::domain::ways_to_sign_in::{SwitchedOn, WaysToSignIn};
use crate::store::{Batch, Sql, audit, user, ways_to_sign_in};

impl App {
    /// Switches on these ways to sign in.
    #[must_use]
    pub fn signing_in_by(self, switched_on: SwitchedOn) -> App {
        App {
            switched_on,
            ..self
        }
    }

    /// Which ways to sign in are switched on.
    pub fn switched_on(&self) -> &SwitchedOn {
        &self.switched_on
    }

    /// The host at which passkeys are valid, if they are offered.
    pub fn relying_party(&self) -> Option<&RelyingParty> {
        self.switched_on.relying_party.as_ref()
    }

    /// Refuses if passwords are switched off.
    ///
    /// # Errors
    /// [`Error::PasswordsOff`].
    pub(crate) fn require_passwords(&self) -> Result<(), Error> {
        match self.switched_on.password {
            true => Ok(()),
            false => Err(Error::PasswordsOff),
        }
    }

    /// The ways in which a user can sign in, of those that are switched on.
    ///
    /// # Errors
    /// Any store error.
    pub async fn ways_to_sign_in(&self, user_id: UserId) -> Result<WaysToSignIn, Error> {
        let on = self.switched_on.clone();
        let find = async move |sql: Sql<'_>| sql.run(ways_to_sign_in::of(user_id, &on)).await;
        self.store.read(user_id, find).await
    }

    /// Removes a way to sign in of a user who has recently proven who they are, and ends the sessions of their other
    /// browsers: it may be another person's, who has signed in with it.
    ///
    /// # Errors
    /// What `delete` returns; [`Error::Refused`] for the last way to sign in; [`Error::InvalidToken`] when the person is no
    /// longer signed in.
    pub(super) async fn take_away<D: Batch<Out = ()>>(
        &self,
        person: Person,
        action: Action,
        subject: Uuid,
        delete: impl Fn() -> D + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let user_id = person.user_id;
        let actor = Actor::Person(person.clone());
        let events = [action, Action::EndBrowserSession].map(|action| self.event(&actor, action));
        let [event, ended] = events;
        let (event, ended) = (event.to(subject), ended.to(user_id.0));
        let on = self.switched_on.clone();
        self.store
            .write(person.session_id, async move |sql| {
                // Of two calls that remove the last two ways, one comes second.
                sql.run(user::lock(user_id)).await?;
                let before = (require_person(&person), ways_to_sign_in::of(user_id, &on));
                let ((), before) = sql.run(before).await?;
                let left = (delete(), ways_to_sign_in::of(user_id, &on));
                let ((), left) = sql.run(left).await?;
                // A way that does not count, such as a passkey of another host, may be removed even if no other is left.
                if left.is_none() && !before.is_none() {
                    let why = "it is your last way to sign in; add another one first";
                    return Err(Error::Refused(why.to_owned()).into());
                }
                end_other_browsers(sql, &person, &ended).await?;
                sql.run(audit::insert(&event)).await.map(drop)
            })
            .await
    }
}
