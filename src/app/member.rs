//! Members of teams.

use super::App;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor};
use crate::domain::holder::Holder;
use crate::domain::id::{BrowserSessionId, TeamId, UserId};
use crate::domain::list::Part;
use crate::domain::member::{ListedMember, Member, Role, RoleRule};
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, audit, browser_session, invitation, member, team, user};

use super::browser_session::require_person;
use super::team::require_team;
use super::user::{require_user, require_user_exists};

impl App {
    /// Makes a user a member of a team.
    ///
    /// # Errors
    /// [`Error::Missing`] for a team or user that does not exist; [`Error::Refused`] for a user who is a member already.
    pub async fn add_member(
        &self,
        team_id: TeamId,
        user_id: UserId,
        role: Role,
    ) -> Result<Member, Error> {
        let member = Member {
            team_id,
            user_id,
            role,
            created_at: self.now(),
        };
        let event = self.event(&Actor::Operator, Action::AddMember);
        let event = event.in_team(team_id).to(user_id.0).with_role(role);
        self.store
            .write(Holder::Service, async move |sql| {
                let added = add_member(sql, &member).await?;
                sql.run(audit::insert(&event)).await?;
                Ok(added)
            })
            .await
    }

    /// The members of a team, in the order in which the users were created.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown team; any store error.
    pub async fn list_members(
        &self,
        team_id: TeamId,
        part: Part<UserId>,
    ) -> Result<Vec<ListedMember>, Error> {
        let calls = async move |sql: Sql<'_>| {
            sql.run((require_team(team_id), member::list(team_id, part)))
                .await
        };
        let ((), members) = self.store.read(team_id, calls).await?;
        Ok(members)
    }

    /// The teams that a user is in, with the user's role, in the order in which the teams were created.
    ///
    /// # Errors
    /// [`Error::Missing`] for an unknown user; any store error.
    pub async fn list_memberships(
        &self,
        user_id: UserId,
        part: Part<TeamId>,
    ) -> Result<Vec<ListedMember>, Error> {
        let calls = async move |sql: Sql<'_>| {
            sql.run((
                require_user_exists(user_id),
                member::list_teams(user_id, part),
            ))
            .await
        };
        let ((), members) = self.store.read(user_id, calls).await?;
        Ok(members)
    }

    /// A user as a member of a team.
    ///
    /// # Errors
    /// [`Error::Refused`] when the user is no member; any store error.
    pub async fn get_member(
        &self,
        team_id: TeamId,
        user_id: UserId,
    ) -> Result<ListedMember, Error> {
        let calls = async move |sql: Sql<'_>| sql.run(member::find(team_id, user_id)).await;
        let found = self.store.read(Holder::Service, calls).await?;
        found.ok_or_else(|| Member::missing(team_id, user_id))
    }

    /// A team that the user is in, with the user's role, right now.
    ///
    /// # Errors
    /// [`Error::NotAMember`] when the user is no member, or there is no such team.
    pub async fn get_membership(
        &self,
        team_id: TeamId,
        user_id: UserId,
    ) -> Result<ListedMember, Error> {
        let calls = async move |sql: Sql<'_>| sql.run(member::find(team_id, user_id)).await;
        let found = self.store.read(user_id, calls).await?;
        found.ok_or(Error::NotAMember)
    }

    /// The user's role in the team, right now.
    ///
    /// # Errors
    /// [`Error::NotAMember`] when the user is no member, or there is no such team: a stranger does not
    /// learn which teams exist.
    pub async fn membership(&self, team_id: TeamId, user_id: UserId) -> Result<Role, Error> {
        self.store
            .read(user_id, async move |sql| {
                sql.run(require_member(team_id, user_id)).await
            })
            .await
    }

    /// Refuses a user who is no longer signed in or, if a team is given, no longer has a role in it that the rule allows.
    ///
    /// # Errors
    /// [`Error::InvalidToken`], [`Error::NotAMember`] and [`Error::RoleInsufficient`]; any store error.
    pub async fn require_reader(
        &self,
        holder: Holder,
        user_id: UserId,
        session_id: BrowserSessionId,
        team: Option<(TeamId, RoleRule)>,
    ) -> Result<(), Error> {
        let find = async move |sql: Sql<'_>| {
            let member = team.map(|(team_id, may)| require_role(team_id, user_id, may));
            let (session, _) = sql
                .run((browser_session::find_id(session_id), member))
                .await?;
            Ok(session)
        };
        let session = self.store.read(holder, find).await?;
        let session = session.filter(|it| it.user_id == user_id);
        session
            .ok_or(Error::InvalidToken)?
            .require_alive(self.now())
    }
}

async fn add_member(sql: Sql<'_>, member: &Member) -> Result<Member, ScriptError> {
    let Member {
        team_id,
        user_id,
        role,
        ..
    } = *member;
    let (_, _, (), (), added) = sql
        .run((
            user::share_joins(user_id),
            team::lock(team_id),
            require_team(team_id),
            require_user(user_id),
            member::insert(member),
        ))
        .await?;
    if added == 0 {
        // If the member was removed in between, report the role that was requested.
        let found = sql
            .run(member::role(team_id, user_id))
            .await?
            .unwrap_or(role);
        return Err(Member::exists(team_id, user_id, found).into());
    }
    forget_invitation(sql, team_id, user_id).await?;
    Ok(member.clone())
}

/// Ends the invitation of a user who has become a member without it, or is no longer one: old links let nobody back in.
pub(super) async fn forget_invitation(
    sql: Sql<'_>,
    team_id: TeamId,
    user_id: UserId,
) -> Result<(), ScriptError> {
    let Some(user) = sql.run(user::find(user_id)).await? else {
        return Ok(());
    };
    if let Some(old) = sql
        .run(invitation::find_email(team_id, &user.email))
        .await?
    {
        sql.run(invitation::delete(team_id, old.id)).await?;
    }
    Ok(())
}

/// Refuses a person who is no longer signed in, or does not manage the team; that right cannot be taken away before the end
/// of the transaction. Returns the person's role, or `None` for the operator, who has none and may do everything.
pub(super) async fn require_manager(
    sql: Sql<'_>,
    by: &Actor,
    team_id: TeamId,
) -> Result<Option<Role>, ScriptError> {
    require_actor(sql, by, team_id, Role::may_manage).await
}

/// Like [`require_manager`], for the right to change products and links.
pub(super) async fn require_writer(
    sql: Sql<'_>,
    by: &Actor,
    team_id: TeamId,
) -> Result<Option<Role>, ScriptError> {
    require_actor(sql, by, team_id, Role::may_write).await
}

async fn require_actor(
    sql: Sql<'_>,
    by: &Actor,
    team_id: TeamId,
    may: RoleRule,
) -> Result<Option<Role>, ScriptError> {
    let Actor::Person(person) = by else {
        return Ok(None);
    };
    let role = hold_role(team_id, person.user_id, may);
    let ((), role) = sql.run((require_person(person), role)).await?;
    Ok(Some(role))
}

/// Refuses a user whose role in a team does not allow it; the role cannot be taken away before the end of the transaction.
pub(super) fn hold_role(team_id: TeamId, user_id: UserId, may: RoleRule) -> impl Batch<Out = Role> {
    member::hold_role(team_id, user_id).rule(move |role| allowed(role, may))
}

/// Like [`hold_role`], for reads: the role is not held.
pub(super) fn require_role(
    team_id: TeamId,
    user_id: UserId,
    may: RoleRule,
) -> impl Batch<Out = Role> {
    member::role(team_id, user_id).rule(move |role| allowed(role, may))
}

fn allowed(role: Option<Role>, may: RoleRule) -> Result<Role, Error> {
    match role {
        Some(role) if may(role) => Ok(role),
        Some(_) => Err(Error::RoleInsufficient),
        None => Err(Error::NotAMember),
    }
}

/// Refuses a user who is not in a team.
pub(super) fn require_member(team_id: TeamId, user_id: UserId) -> impl Batch<Out = Role> {
    require_role(team_id, user_id, |_| true)
}
