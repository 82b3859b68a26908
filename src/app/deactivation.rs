//! Users who are deactivated (docs/decisions.md, X62): nobody is let in as them, and nothing else of theirs changes.
//!
//! 1. Whoever is let in has an active user, and that is asked where it happens: where a browser session begins
//!    ([`BeginSession::carry_out`](super::sign_in), after whatever proof), where a code is issued, and in the statements that
//!    look up a cookie, an access token or a refresh token, so that no request needs one more. Only who has proven to be the
//!    user is told why.
//! 2. To deactivate is one short transaction. Codes and links that were not used yet go in it, and whoever is using one, or
//!    the user's role, is waited for. So is whoever changes the members of a team of the user's, as an owner does who leaves:
//!    either of the two sees what the other has done. The user comes first, as where an account is deleted (`account`).
//! 3. The sessions, which let nobody in by then, are deleted step by step (`emptying`). Whoever is doing something in one holds
//!    it, and is waited for, too: when the command returns, nothing of the user's is under way.
//! 4. To activate deletes first what may be left of the sessions, if step 3 was interrupted. So none of them comes back.

use super::App;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor};
use crate::domain::holder::Holder;
use crate::domain::id::UserId;
use crate::domain::team::Team;
use crate::domain::user::User;
use crate::store::{Batch, Sql, audit, auth_code, email_change, member, one_time_link, user};

impl App {
    /// Deactivates a user, at once and everywhere, for the operator; to do it again changes nothing. The user as they are now,
    /// and the teams of which no active user is an owner any more.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown user; what the store answers.
    pub async fn deactivate_user(&self, id: UserId) -> Result<(User, Vec<Team>), Error> {
        let now = self.now();
        let event = self.event(&Actor::Operator, Action::DeactivateUser);
        let event = event.to(id.0);
        let deactivate = async move |sql: Sql<'_>| {
            sql.run(user::lock(id)).await?;
            if sql.run(user::set_deactivated(id, Some(now))).await? > 0 {
                sql.run((member::lock_teams(id), member::lock_roles(id)))
                    .await?;
                sql.run(auth_code::delete_unused(id)).await?;
                let links = (one_time_link::delete_all(id), email_change::delete(id));
                sql.run((links, audit::insert(&event))).await?;
            }
            let teams = member::teams_of_last_owner(id);
            let (user, teams) = sql.run((user::find(id), teams)).await?;
            Ok((user.ok_or_else(|| User::missing(id))?, teams))
        };
        let deactivated = self.store.write(Holder::Service, deactivate).await?;
        self.end_sessions_of_inactive(id).await?;
        Ok(deactivated)
    }

    /// Gives a deactivated user the account back, for the operator. The user as they are now.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown user; what the store answers.
    pub async fn activate_user(&self, id: UserId) -> Result<User, Error> {
        self.end_sessions_of_inactive(id).await?;
        let event = self.event(&Actor::Operator, Action::ActivateUser);
        let event = event.to(id.0);
        let activate = async move |sql: Sql<'_>| {
            sql.run(user::lock(id)).await?;
            if sql.run(user::set_deactivated(id, None)).await? > 0 {
                sql.run(audit::insert(&event)).await?;
            }
            let user = sql.run(user::find(id)).await?;
            Ok(user.ok_or_else(|| User::missing(id))?)
        };
        self.store.write(Holder::Service, activate).await
    }
}

/// Step 1: refuses an id that no user has, or a deactivated one, and keeps the user active until the end of the transaction.
pub(super) fn require_active(id: UserId) -> impl Batch<Out = ()> {
    user::hold_standing(id).rule(move |is_active| match is_active {
        Some(true) => Ok(()),
        Some(false) => Err(Error::Deactivated),
        None => Err(User::missing(id)),
    })
}
