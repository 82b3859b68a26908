//! Operations of users on their own account (docs/decisions.md, W12, W24 and W25).
//!
//! Deleting an account is one transaction, after which sessions and much else are deleted step by step (`emptying`). The
//! user's teams are locked first, and then the user, so that no team can add them meanwhile; then all teams are left, as
//! [`super::membership`] describes. The last owner of a team with other members keeps the account until
//! another owner is named, unless the operator deletes it. This is checked before anything is locked, and once more
//! afterwards.

use std::sync::Arc;
use std::time::Duration;

use super::App;
use super::browser_session::require_person;
use super::lease;
use super::membership::{
    end_invitations, end_with_last_member, lock_with_teams, require_may_leave, tell_revoked,
};
use super::user::remove_user;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent, Person};
use crate::domain::holder::Holder;
use crate::domain::id::{AuditEventId, TeamId, UserId};
use crate::domain::input::typed_text;
use crate::domain::list::Part;
use crate::domain::member::{ListedMember, Role};
use crate::domain::refused_sign_in::RefusedSignIn;
use crate::domain::time::Timestamp;
use crate::domain::user::User;
use crate::store::{Sql, audit, invitation, member, refused_sign_in, user};

/// How far back a user's sign-ins are shown.
const SIGN_INS_SHOWN: Duration = Duration::from_hours(90 * 24);

/// How many sign-ins are shown at most.
const SIGN_INS: u32 = 100;

impl App {
    /// Changes a user's name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid name; [`Error::InvalidToken`] when the person is no longer signed in.
    pub async fn change_name(&self, person: Person, name: &str) -> Result<(), Error> {
        let name = typed_text("name", name)?;
        let user_id = person.user_id;
        let event = self.event(&Actor::Person(person.clone()), Action::ChangeName);
        let event = event.to(user_id.0);
        self.store
            .write(person.session_id, async move |sql| {
                sql.run((user::lock(user_id), require_person(&person)))
                    .await?;
                // A name that stays the same leaves no event.
                if sql.run(user::set_name(user_id, &name)).await? > 0 {
                    sql.run(audit::insert(&event)).await?;
                }
                Ok(())
            })
            .await
    }

    /// A user's sign-ins of the last 90 days, newest first; if there are very many, only the newest.
    ///
    /// # Errors
    /// Any store error.
    pub async fn list_sign_ins(&self, user_id: UserId) -> Result<Vec<AuditEvent>, Error> {
        self.done_lately(user_id, Action::SignIn).await
    }

    /// A user's passkeys that were refused in the last 90 days because there are two of them, newest first; if there are
    /// very many, only the newest.
    ///
    /// # Errors
    /// Any store error.
    pub async fn list_refused_passkeys(&self, user_id: UserId) -> Result<Vec<AuditEvent>, Error> {
        self.done_lately(user_id, Action::RefusePasskey).await
    }

    async fn done_lately(&self, user_id: UserId, action: Action) -> Result<Vec<AuditEvent>, Error> {
        let since = self.now().before(SIGN_INS_SHOWN);
        let list = async move |sql: Sql<'_>| {
            sql.run(audit::list_done(user_id, action, since, SIGN_INS))
                .await
        };
        self.store.read(user_id, list).await
    }

    /// The sign-ins that were refused on a user's account in the last 90 days, newest first; if there are very many, only
    /// the newest.
    ///
    /// # Errors
    /// Any store error.
    pub async fn list_refused_sign_ins(
        &self,
        user_id: UserId,
    ) -> Result<Vec<RefusedSignIn>, Error> {
        let since = self.now().before(SIGN_INS_SHOWN);
        self.refused_since(user_id.into(), user_id, since, SIGN_INS)
            .await
    }

    /// All refused sign-ins that are kept, for an export; if there are more than `limit`, only the newest.
    ///
    /// # Errors
    /// Any store error.
    pub async fn list_all_refused_sign_ins(
        &self,
        user_id: UserId,
        limit: u32,
    ) -> Result<Vec<RefusedSignIn>, Error> {
        let ever = Timestamp::from_millis(0);
        self.refused_since(Holder::Parts, user_id, ever, limit)
            .await
    }

    async fn refused_since(
        &self,
        holder: Holder,
        user_id: UserId,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<RefusedSignIn>, Error> {
        let list =
            async move |sql: Sql<'_>| sql.run(refused_sign_in::list(user_id, since, limit)).await;
        self.store.read(holder, list).await
    }

    /// The events of what a user has done, newest first, for an export.
    ///
    /// # Errors
    /// Any store error.
    pub async fn list_own_events(
        &self,
        user_id: UserId,
        part: Part<AuditEventId>,
    ) -> Result<Vec<AuditEvent>, Error> {
        let list = async move |sql: Sql<'_>| sql.run(audit::list_of(user_id, part)).await;
        self.store.read(Holder::Parts, list).await
    }

    /// Deletes the account of a user who has recently proven who they are. The background task deletes what is then left
    /// (`emptying`, step 5).
    ///
    /// # Errors
    /// [`Error::Refused`] for the last owner of a team with other members, and for somebody with whom too many keys or links
    /// would end; [`Error::InvalidToken`] when the person is no longer signed in; any store error.
    pub async fn delete_account(&self, person: Person) -> Result<(), Error> {
        let user_id = person.user_id;
        // Others wait for what a deletion locks. So one that is refused, and may be tried again and again, locks nothing.
        self.require_reader(user_id.into(), user_id, person.session_id, None)
            .await?;
        let now = self.now();
        let may_leave = async move |sql: Sql<'_>| {
            let teams = member::list_teams(user_id, Part::first(u32::MAX));
            let left = memberships(&sql.run(teams).await?);
            require_may_leave(sql, user_id, &left, now).await
        };
        self.store.read(user_id, may_leave).await?;
        self.delete(Actor::Person(person), user_id).await
    }

    /// Deletes a user's account for the operator, even the last owner's of a team. Keys and links that the user made stay.
    /// If this ends early, a server's background task continues with what is left.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such user; any store error.
    pub async fn delete_user(&self, id: UserId) -> Result<(), Error> {
        self.delete(Actor::Operator, id).await?;
        self.empty_user(id).await
    }

    async fn delete(&self, by: Actor, user_id: UserId) -> Result<(), Error> {
        let now = self.now();
        let deleted = self.event(&by, Action::DeleteAccount).to(user_id.0);
        let removed = self.event(&by, Action::RemoveMember).to(user_id.0);
        let revoked = self.event(&by, Action::RevokeApiKey);
        let ids = Arc::clone(&self.ids);
        let actor = by.clone();
        // Where no mail is sent, nobody has proven that the email is theirs: the invitations that other teams have made may be
        // for somebody else (P9).
        let is_proven = matches!(by, Actor::Operator) || self.mail().is_ok();
        let ends_keys = self.store.write(&by, async move |sql| {
            sql.run(lock_with_teams(user_id)).await?;
            if let Actor::Person(person) = &actor {
                sql.run(require_person(person)).await?;
            }
            let teams = member::list_teams(user_id, Part::first(u32::MAX));
            // What is done in each team is sent together: they may be many, and the database may be far away.
            let left = memberships(&sql.run(teams).await?);
            let teams: Vec<_> = left.iter().map(|(id, _)| *id).collect();
            let told = |event: &AuditEvent| AuditEvent {
                id: ids.next(now),
                ..event.clone()
            };
            let alone = match actor {
                Actor::Person(_) => require_may_leave(sql, user_id, &left, now).await?,
                Actor::Operator => Vec::new(),
            };
            let deletes = teams.iter().map(|id| member::delete(*id, user_id));
            sql.run(deletes.collect::<Vec<_>>()).await?;
            let ended = end_with_last_member(sql, &alone, now).await?;
            tell_revoked(sql, &revoked, &ids, &ended).await?;
            end_invitations(sql, user_id, &teams, None).await?;
            let events = teams.iter().map(|id| told(&removed).in_team(*id));
            let events: Vec<_> = events.collect();
            let inserts = events.iter().map(audit::insert);
            sql.run(inserts.collect::<Vec<_>>()).await?;
            let User { email, .. } = remove_user(sql, user_id, now).await?;
            sql.run(is_proven.then(|| invitation::delete_all_of(&email)))
                .await?;
            sql.run(audit::insert(&told(&deleted))).await?;
            // Also if there was none: somebody else may have revoked one a moment ago.
            Ok(!alone.is_empty())
        });
        if ends_keys.await? {
            tokio::time::sleep(lease::RUN_OUT).await;
        }
        Ok(())
    }
}

/// Where a user is a member, and with which role.
fn memberships(teams: &[ListedMember]) -> Vec<(TeamId, Role)> {
    let teams = teams.iter().map(|it| &it.member);
    teams.map(|it| (it.team_id, it.role)).collect()
}
