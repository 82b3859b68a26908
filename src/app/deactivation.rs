//! Deactivating users (docs/decisions.md, X62): such a user is let in nowhere, and nothing else of theirs changes.
//!
//! 1. Only active users are let in. That is checked where it happens: where a browser session starts
//!    ([`BeginSession::carry_out`](super::sign_in), after whatever proof), where a code is issued, and in the statements
//!    that look up a cookie, an access token or a refresh token, so that no request needs an extra one. Only a caller who
//!    has proven to be the user is told why.
//! 2. Deactivation is one short transaction. It deletes unused codes and links, and waits for anything that is using one, or
//!    the user's role. It also waits for changes to the members of the user's teams, such as an owner who leaves: each of
//!    the two sees what the other has done. The teams are locked before the user, as in every change to a
//!    team (`membership`).
//! 3. The sessions, which let nobody in by then, are deleted step by step (`emptying`). Anything under way in a session
//!    holds it, and is waited for, too: when the command returns, nothing of the user's is under way.
//! 4. Activation first deletes what may be left of the sessions, if step 3 was interrupted. So none of them comes back.

use super::App;
use super::membership::lock_with_teams;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor};
use crate::domain::holder::Holder;
use crate::domain::id::UserId;
use crate::domain::team::Team;
use crate::domain::user::User;
use crate::store::{Batch, Sql, audit, auth_code, email_change, member, one_time_link, user};

impl App {
    /// Deactivates a user, at once and everywhere, for the operator; repeating it changes nothing. Returns the user as they
    /// are now, and the teams that no longer have an active owner.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown user; any store error.
    pub async fn deactivate_user(&self, id: UserId) -> Result<(User, Vec<Team>), Error> {
        let now = self.now();
        let event = self.event(&Actor::Operator, Action::DeactivateUser);
        let event = event.to(id.0);
        let deactivate = async move |sql: Sql<'_>| {
            sql.run(lock_with_teams(id)).await?;
            if sql.run(user::set_deactivated(id, Some(now))).await? > 0 {
                sql.run(member::lock_roles(id)).await?;
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

    /// Reactivates a user, for the operator. Returns the user as they are now.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown user; any store error.
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

/// Step 1: refuses an unknown or deactivated user, and keeps the user active until the end of the transaction.
pub(super) fn require_active(id: UserId) -> impl Batch<Out = ()> {
    user::hold_standing(id).rule(move |is_active| match is_active {
        Some(true) => Ok(()),
        Some(false) => Err(Error::Deactivated),
        None => Err(User::missing(id)),
    })
}
