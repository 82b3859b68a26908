//! Which ways to sign in are switched on, and which of them a user has (docs/decisions.md, P3, P16 and P30).
//!
//! Every kind of way is asked for here and nowhere else. One that is switched off does not count, nor does a passkey of another
//! host than that of the origin, nor an identity at another provider.

use super::App;
use crate::domain::Error;
use crate::domain::id::UserId;
use crate::domain::passkey::RelyingParty;
use crate::domain::ways_to_sign_in::{SwitchedOn, WaysToSignIn};
use crate::store::{Batch, Sql, ways_to_sign_in};

impl App {
    /// The same, with these ways to sign in switched on.
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

    /// Where passkeys are good, if they are offered.
    pub fn relying_party(&self) -> Option<&RelyingParty> {
        self.switched_on.relying_party.as_ref()
    }

    /// Refuses what needs a password where these are switched off.
    ///
    /// # Errors
    /// [`Error::PasswordsOff`].
    pub(crate) fn require_passwords(&self) -> Result<(), Error> {
        match self.switched_on.password {
            true => Ok(()),
            false => Err(Error::PasswordsOff),
        }
    }

    /// How a user can sign in, by what is switched on.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn ways_to_sign_in(&self, user_id: UserId) -> Result<WaysToSignIn, Error> {
        let on = self.switched_on.clone();
        let find = async move |sql: Sql<'_>| sql.run(ways_to_sign_in::of(user_id, &on)).await;
        self.store.read(user_id, find).await
    }
}

/// Refuses to leave a user without a way to sign in: for whoever has just removed one, in the same transaction, in which the
/// user is locked.
pub(super) fn require_a_way_to_sign_in(user_id: UserId, on: &SwitchedOn) -> impl Batch<Out = ()> {
    ways_to_sign_in::of(user_id, on).rule(|left| match left.is_none() {
        false => Ok(()),
        true => Err(Error::Refused(
            "it is your last way to sign in; add another one first".to_owned(),
        )),
    })
}
