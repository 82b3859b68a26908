//! Changes to the members and roles of a team, under one lock (docs/decisions.md, W22 to W24).
//!
//! 1. Every change to a team's members, roles or invitations locks the team first (but for the invitations of an address that
//!    end in all teams at once, because its user has got another, or is deleted). So such changes run one after another,
//!    and none decides on state that another is about to change: of two owners who remove each other, one stays. Changes
//!    that only refer to the team, such as to a product, do not wait. A change that locks several teams does so in the order
//!    of their ids, and before it holds or locks a user: two transactions would otherwise wait for each other.
//! 2. A person must still be signed in, and manage the team; nobody reaches above their own role. The operator may do
//!    everything.
//! 3. The last owner of a team with other members stays one, unless the operator decides otherwise. If there are no other
//!    members, the team's keys, links and invitations end with the last member who leaves; if those are too many to end at
//!    once, the member stays. Others wait for what is locked meanwhile: on SQLite everybody who changes something.
//! 4. An invitation ends with its maker's right to make it, in the same transaction. The keys that a removed member made
//!    stay valid, since other people's programs may use them, unless the remover wants them revoked. The
//!    membership is deleted first: whoever revokes a key holds their role, and then the key.

use std::sync::Arc;

use super::App;
use super::browser_session::require_person;
use super::lease;
use super::member::{forget_invitation, require_manager};
use super::team::require_team;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent};
use crate::domain::holder::Holder;
use crate::domain::id::{ApiKeyId, IdSource, TeamId, UserId};
use crate::domain::member::{Member, Role};
use crate::domain::team::Team;
use crate::domain::time::Timestamp;
use crate::sql::ScriptError;
use crate::store::{Sql, api_key, audit, invitation, member, share_link, team, user};

/// How many keys may end at once with those who leave. Each takes a lock, of which PostgreSQL has some thousands.
const KEYS_THAT_END: i64 = 2_000;

/// How many links may. It takes half a second.
const LINKS_THAT_END: i64 = 10_000;

impl App {
    /// Changes a member's role.
    ///
    /// # Errors
    /// [`Error::Refused`] for a user who is no member, and for the last owner (step 3); [`Error::NotAMember`] and
    /// [`Error::RoleInsufficient`] for a person who is not allowed to (step 2); any store error.
    pub async fn set_role(
        &self,
        by: &Actor,
        team_id: TeamId,
        user_id: UserId,
        role: Role,
    ) -> Result<(), Error> {
        let event = self.event(by, Action::SetRole).in_team(team_id);
        let event = event.to(user_id.0).with_role(role);
        let actor = by.clone();
        self.store
            .write(Holder::ending(by), async move |sql| {
                sql.run(lock_team(team_id)).await?;
                let own = require_manager(sql, &actor, team_id).await?;
                let current = sql.run(member::role(team_id, user_id)).await?;
                let current = current.ok_or_else(|| Member::missing(team_id, user_id))?;
                require_reach(own, current)?;
                require_reach(own, role)?;
                if current == role {
                    return Ok(());
                }
                if own.is_some() && current == Role::Owner {
                    if !sql.run(member::has_others(team_id, user_id)).await? {
                        return Err(Member::only_member().into());
                    }
                    require_another_owner(sql, user_id, &[team_id]).await?;
                }
                sql.run(member::set_role(team_id, user_id, role)).await?;
                end_invitations(sql, user_id, &[team_id], Some(role)).await?;
                sql.run(audit::insert(&event)).await.map(drop)
            })
            .await
    }

    /// Removes a user from a team, at once; also how a person leaves. The user's sessions stay, since they may serve other
    /// teams. `with_keys` revokes the keys that the user made; it returns when no process accepts them any more.
    ///
    /// # Errors
    /// As for [`set_role`](App::set_role), and [`Error::Refused`] if too many keys or links would end.
    pub async fn remove_member(
        &self,
        by: &Actor,
        team_id: TeamId,
        user_id: UserId,
        with_keys: bool,
    ) -> Result<(), Error> {
        let now = self.now();
        let removed = self.event(by, Action::RemoveMember).in_team(team_id);
        let removed = removed.to(user_id.0);
        let revoked = self.event(by, Action::RevokeApiKey);
        let ids = Arc::clone(&self.ids);
        let actor = by.clone();
        let holder = Holder::ending(by);
        let ends_keys = self.store.write(holder, async move |sql| {
            sql.run(lock_team(team_id)).await?;
            let current = require_may_remove(sql, &actor, team_id, user_id).await?;
            let alone = match actor {
                Actor::Person(_) => {
                    require_may_leave(sql, user_id, &[(team_id, current)], now).await?
                }
                Actor::Operator => Vec::new(),
            };
            sql.run(member::delete(team_id, user_id)).await?;
            forget_invitation(sql, team_id, user_id).await?;
            let mut ended = end_with_last_member(sql, &alone, now).await?;
            end_invitations(sql, user_id, &[team_id], None).await?;
            if with_keys {
                let theirs = (&[team_id][..], Some(user_id));
                ended.extend(api_key::revoke_all(sql, theirs, now).await?);
            }
            tell_revoked(sql, &revoked, &ids, &ended).await?;
            sql.run(audit::insert(&removed)).await?;
            // Also if there was none: somebody else may have revoked one a moment ago.
            Ok(with_keys || !alone.is_empty())
        });
        if ends_keys.await? {
            tokio::time::sleep(lease::RUN_OUT).await;
        }
        Ok(())
    }
}

/// Step 1.
pub(super) fn lock_team(team_id: TeamId) -> impl crate::store::Batch {
    (team::lock(team_id), require_team(team_id))
}

/// Locks the teams of a user, and then the user (step 1). The user joins no other team meanwhile.
pub(super) fn lock_with_teams(user_id: UserId) -> impl crate::store::Batch {
    let joins = user::lock_joins(user_id);
    (joins, member::lock_teams(user_id), user::lock(user_id))
}

/// Step 2: refuses a person who does not reach that role; `own` is what [`require_manager`] returned.
pub(super) fn require_reach(own: Option<Role>, role: Role) -> Result<(), Error> {
    match own.is_none_or(|own| own.may_give(role)) {
        true => Ok(()),
        false => Err(Error::RoleInsufficient),
    }
}

/// Refuses an actor who may not remove the user. Returns the user's role.
async fn require_may_remove(
    sql: Sql<'_>,
    by: &Actor,
    team_id: TeamId,
    user_id: UserId,
) -> Result<Role, ScriptError> {
    let find = async || {
        let found = sql.run(member::role(team_id, user_id)).await?;
        Ok::<_, ScriptError>(found.ok_or_else(|| Member::missing(team_id, user_id))?)
    };
    match by {
        Actor::Person(person) if person.user_id == user_id => {
            sql.run(require_person(person)).await?;
            find().await
        }
        by => {
            let own = require_manager(sql, by, team_id).await?;
            let role = find().await?;
            require_reach(own, role)?;
            Ok(role)
        }
    }
}

/// Step 3, for an owner who is about to lose that role in these teams, and is alone in none of them.
async fn require_another_owner(
    sql: Sql<'_>,
    user_id: UserId,
    teams: &[TeamId],
) -> Result<(), ScriptError> {
    let find = |id: &TeamId| (member::has_another_owner(*id, user_id), team::find(*id));
    let found = sql.run(teams.iter().map(find).collect::<Vec<_>>()).await?;
    for (id, (has_owner, team)) in teams.iter().zip(found) {
        // A deactivated owner does not count, since they can do nothing for the team.
        if !has_owner {
            let team = team.ok_or_else(|| Team::missing(*id))?;
            return Err(Member::last_owner(&team.name).into());
        }
    }
    Ok(())
}

/// Step 3, for a user who is about to leave the teams of these memberships now. Returns the teams that have no other members.
pub(super) async fn require_may_leave(
    sql: Sql<'_>,
    user_id: UserId,
    left: &[(TeamId, Role)],
    now: Timestamp,
) -> Result<Vec<TeamId>, ScriptError> {
    let has_others = left.iter().map(|(id, _)| member::has_others(*id, user_id));
    let has_others = sql.run(has_others.collect::<Vec<_>>()).await?;
    let (others, alone): (Vec<_>, Vec<_>) = left
        .iter()
        .zip(has_others)
        .partition(|(_, has_others)| *has_others);
    let owned = others
        .into_iter()
        .filter(|((_, role), _)| *role == Role::Owner);
    let owned: Vec<_> = owned.map(|((id, _), _)| *id).collect();
    require_another_owner(sql, user_id, &owned).await?;
    let alone: Vec<_> = alone.into_iter().map(|((id, _), _)| *id).collect();
    require_few_end(sql, &alone, now).await?;
    Ok(alone)
}

/// Step 3: refuses if too much would end with the last members of these teams.
async fn require_few_end(
    sql: Sql<'_>,
    teams: &[TeamId],
    now: Timestamp,
) -> Result<(), ScriptError> {
    let count = |id: &TeamId| {
        (
            api_key::count_that_end(*id, now),
            share_link::count_unrevoked(*id, LINKS_THAT_END + 1),
        )
    };
    let counts = sql.run(teams.iter().map(count).collect::<Vec<_>>()).await?;
    let (keys, links): (Vec<_>, Vec<_>) = counts.into_iter().unzip();
    if keys.into_iter().flatten().sum::<i64>() > KEYS_THAT_END {
        return Err(Member::too_many_keys().into());
    }
    if links.into_iter().flatten().sum::<i64>() > LINKS_THAT_END {
        return Err(Member::too_many_links().into());
    }
    Ok(())
}

/// Step 3, for teams whose last members leave. Returns the keys that have ended.
pub(super) async fn end_with_last_member(
    sql: Sql<'_>,
    teams: &[TeamId],
    now: Timestamp,
) -> Result<Vec<(TeamId, ApiKeyId)>, ScriptError> {
    // Most who leave are not the last: that takes no round trip.
    if teams.is_empty() {
        return Ok(Vec::new());
    }
    let end = |id: &TeamId| {
        let links = share_link::revoke_all(*id, now);
        (links, invitation::delete_all(*id))
    };
    sql.run(teams.iter().map(end).collect::<Vec<_>>()).await?;
    api_key::revoke_all(sql, (teams, None), now).await
}

/// Step 4, for the invitations to these teams made by a user who has this role from now on.
pub(super) async fn end_invitations(
    sql: Sql<'_>,
    user_id: UserId,
    teams: &[TeamId],
    role: Option<Role>,
) -> Result<(), ScriptError> {
    let made = teams
        .iter()
        .map(|id| invitation::list_made_by(*id, user_id));
    let made = sql.run(made.collect::<Vec<_>>()).await?;
    let ended = made.iter().flatten().filter(|it| !it.is_in_force(role));
    // Together: there may be two hundred to each team, and the database may be far away.
    let deletes = ended.map(|it| invitation::delete(it.team_id, it.id));
    sql.run(deletes.collect::<Vec<_>>()).await.map(drop)
}

/// Records an event for each of the keys that were revoked together; `event` is what they have in common.
pub(super) async fn tell_revoked(
    sql: Sql<'_>,
    event: &AuditEvent,
    ids: &IdSource,
    keys: &[(TeamId, ApiKeyId)],
) -> Result<(), ScriptError> {
    let event_of = |(team_id, key): &(TeamId, ApiKeyId)| AuditEvent {
        id: ids.next(event.created_at),
        ..event.clone().in_team(*team_id).to(key.0)
    };
    let events: Vec<AuditEvent> = keys.iter().map(event_of).collect();
    let inserts: Vec<_> = events.iter().map(audit::insert).collect();
    sql.run(inserts).await.map(drop)
}
