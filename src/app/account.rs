//! What users do with their own account (docs/decisions.md, W12, W24 and W25).
//!
//! Deleting it is one transaction, behind which sessions and much else go step by step (`emptying`). The user is locked
//! first, so that nobody adds them to a team meanwhile; then their teams are locked, and left one after another, each as
//! [`super::membership`] tells. Who is the last owner of a team with others keeps the account until another owner is
//! named; the operator deletes it all the same.

use std::sync::Arc;
use std::time::Duration;

use super::App;
use super::browser_session::require_person;
use super::lease;
use super::membership::{end_invitations, leave, lock_team, tell_revoked};
use super::user::remove_user;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent, Person};
use crate::domain::id::{AuditEventId, UserId};
use crate::domain::input::typed_text;
use crate::domain::list::Part;
use crate::domain::refused_sign_in::RefusedSignIn;
use crate::domain::time::Timestamp;
use crate::store::{Sql, audit, member, refused_sign_in, user};

/// For how long back the sign-ins of a user are shown.
const SIGN_INS_SHOWN: Duration = Duration::from_hours(90 * 24);

/// As many of them are, at most.
const SIGN_INS: u32 = 100;

impl App {
    /// Gives a user another name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that is none; [`Error::InvalidToken`] when the person is not signed in any more.
    pub async fn change_name(&self, person: Person, name: &str) -> Result<(), Error> {
        let name = typed_text("name", name)?;
        let user_id = person.user_id;
        let event = self.event(&Actor::Person(person.clone()), Action::ChangeName);
        let event = event.to(user_id.0);
        self.store
            .write(user_id, async move |sql| {
                sql.run((user::lock(user_id), require_person(&person)))
                    .await?;
                // What stays as it is, is told of by nobody.
                if sql.run(user::set_name(user_id, &name)).await? > 0 {
                    sql.run(audit::insert(&event)).await?;
                }
                Ok(())
            })
            .await
    }

    /// The sign-ins of a user of the last 90 days, newest first; of very many, the newest.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn list_sign_ins(&self, user_id: UserId) -> Result<Vec<AuditEvent>, Error> {
        self.done_lately(user_id, Action::SignIn).await
    }

    /// The passkeys that were refused in the last 90 days because there are two of them, newest first; of very many, the
    /// newest.
    ///
    /// # Errors
    /// What the store answers.
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

    /// The sign-ins that were refused on a user's account in the last 90 days, newest first; of very many, the newest.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn list_refused_sign_ins(
        &self,
        user_id: UserId,
    ) -> Result<Vec<RefusedSignIn>, Error> {
        let since = self.now().before(SIGN_INS_SHOWN);
        self.refused_since(user_id, since, SIGN_INS).await
    }

    /// All of them that are kept; of more than `limit`, the newest.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn list_all_refused_sign_ins(
        &self,
        user_id: UserId,
        limit: u32,
    ) -> Result<Vec<RefusedSignIn>, Error> {
        let ever = Timestamp::from_millis(0);
        self.refused_since(user_id, ever, limit).await
    }

    async fn refused_since(
        &self,
        user_id: UserId,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<RefusedSignIn>, Error> {
        let list =
            async move |sql: Sql<'_>| sql.run(refused_sign_in::list(user_id, since, limit)).await;
        self.store.read(user_id, list).await
    }

    /// What a user has done, newest first.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn list_own_events(
        &self,
        user_id: UserId,
        part: Part<AuditEventId>,
    ) -> Result<Vec<AuditEvent>, Error> {
        let list = async move |sql: Sql<'_>| sql.run(audit::list_of(user_id, part)).await;
        self.store.read(user_id, list).await
    }

    /// Deletes the account of somebody who has lately proven who they are.
    ///
    /// # Errors
    /// [`Error::Refused`] for the last owner of a team with other members; [`Error::InvalidToken`] when the person is not
    /// signed in any more; what the store answers.
    pub async fn delete_account(&self, person: Person) -> Result<(), Error> {
        let user_id = person.user_id;
        self.delete(Actor::Person(person), user_id).await
    }

    /// Deletes the account of a user, for the operator, also of the last owner of a team. Keys and links that the user made
    /// stay. Where this ends early, the background task of a server goes on with what is left.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such user; what the store answers.
    pub async fn delete_user(&self, id: UserId) -> Result<(), Error> {
        self.delete(Actor::Operator, id).await
    }

    async fn delete(&self, by: Actor, user_id: UserId) -> Result<(), Error> {
        let now = self.now();
        let deleted = self.event(&by, Action::DeleteAccount).to(user_id.0);
        let removed = self.event(&by, Action::RemoveMember).to(user_id.0);
        let revoked = self.event(&by, Action::RevokeApiKey);
        let ids = Arc::clone(&self.ids);
        let actor = by.clone();
        let keys = self.store.write(&by, async move |sql| {
            sql.run(user::lock_to_remove(user_id)).await?;
            if let Actor::Person(person) = &actor {
                sql.run(require_person(person)).await?;
            }
            let teams = member::list_teams(user_id, Part::first(u32::MAX));
            let teams = sql.run(teams).await?;
            let mut keys = 0;
            let told = |event: &AuditEvent| AuditEvent {
                id: ids.next(now),
                ..event.clone()
            };
            for listed in teams {
                let team_id = listed.member.team_id;
                sql.run(lock_team(team_id)).await?;
                let role = sql.run(member::role(team_id, user_id)).await?;
                if let Some(role) = role {
                    sql.run(member::delete(team_id, user_id)).await?;
                    let ended = match actor {
                        Actor::Person(_) => leave(sql, team_id, user_id, role, now).await?,
                        Actor::Operator => Vec::new(),
                    };
                    let event = revoked.clone().in_team(team_id);
                    tell_revoked(sql, &event, &ids, &ended).await?;
                    keys += ended.len();
                    end_invitations(sql, team_id, user_id, None).await?;
                    let removed = told(&removed).in_team(team_id);
                    sql.run(audit::insert(&removed)).await?;
                }
            }
            remove_user(sql, user_id, now).await?;
            sql.run(audit::insert(&told(&deleted))).await?;
            Ok(keys)
        });
        if keys.await? > 0 {
            tokio::time::sleep(lease::RUN_OUT).await;
        }
        self.empty_user(user_id).await
    }
}
