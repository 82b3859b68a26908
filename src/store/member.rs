//! Members of teams.

use uuid::Uuid;

use super::{Batch, Sql, fair};
use crate::domain::id::{TeamId, UserId};
use crate::domain::list::Part;
use crate::domain::member::{ListedMember, Member, Role};
use crate::domain::team::Team;
use crate::domain::time::Timestamp;
use crate::sql::value::Columns;
use crate::sql::{ScriptError, lock, sql, table, values};

table! {
    /// The rows of members.
    pub(super) mod row = "member", key [team_id, user_id];
    ()
    Member { team_id: Uuid, user_id: Uuid, role: Text, created_at: Integer }
    ()
}

/// Adds a member, unless the user already is one. Returns how many were added.
pub fn insert(member: &Member) -> impl Batch<Out = u64> {
    sql!(row::INSERT, " ON CONFLICT (team_id, user_id) DO NOTHING").with(row::values(member))
}

/// Gives a member another role.
pub fn set_role(team_id: TeamId, user_id: UserId, role: Role) -> impl Batch {
    let set = sql!("UPDATE member SET role = $3 WHERE team_id = $1 AND user_id = $2")
        .with(values![team_id, user_id, role]);
    (fair::alone(fair::Lock::Member(team_id, user_id)), set)
}

/// Whether the team has members other than this user.
pub fn has_others(team_id: TeamId, user_id: UserId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM member WHERE team_id = $1 AND user_id <> $2 LIMIT 1")
        .with(values![team_id, user_id])
        .exists()
}

/// Whether the team has an active owner other than this user.
pub fn has_another_owner(team_id: TeamId, user_id: UserId) -> impl Batch<Out = bool> {
    sql!(
        "SELECT 1 FROM member JOIN \"user\" ON \"user\".id = user_id \
         WHERE team_id = $1 AND user_id <> $2 AND role = 'owner' AND deactivated_at IS NULL LIMIT 1"
    )
    .with(values![team_id, user_id])
    .exists()
}

/// The teams in which a user is an owner and there is no other active owner, oldest first.
pub fn teams_of_last_owner(user_id: UserId) -> impl Batch<Out = Vec<Team>> {
    sql!(
        "SELECT team.id, team.name, team.created_at FROM member JOIN team ON team.id = team_id \
         WHERE user_id = $1 AND role = 'owner' AND NOT EXISTS ( \
             SELECT 1 FROM member AS other JOIN \"user\" ON \"user\".id = other.user_id \
             WHERE other.team_id = member.team_id AND other.user_id <> $1 AND other.role = 'owner' \
             AND deactivated_at IS NULL) \
         ORDER BY team.id"
    )
    .with(values![user_id])
    .all(super::team::row::read)
}

/// Prevents changes to the members of a user's teams, and to their roles, before the end of the transaction, as
/// [`team::lock`](super::team::lock) does for one team. PostgreSQL only.
pub fn lock_teams(user_id: UserId) -> impl Batch {
    lock!(
        "SELECT 1 FROM team WHERE id IN (SELECT team_id FROM member WHERE user_id = $1) ORDER BY id \
         FOR NO KEY UPDATE"
    )
    .with(values![user_id])
}

/// Prevents new work under the roles of a user before the end of the transaction, and waits for work already started.
/// PostgreSQL only.
pub fn lock_roles(user_id: UserId) -> impl Batch {
    lock!("SELECT 1 FROM member WHERE user_id = $1 ORDER BY team_id FOR UPDATE")
        .with(values![user_id])
}

/// Makes a user the owner of every team.
pub fn insert_owner_of_all(user_id: UserId, now: Timestamp) -> impl Batch {
    sql!(
        "INSERT INTO member (team_id, user_id, role, created_at) SELECT id, $1, 'owner', $2 FROM team WHERE deleted_at IS NULL"
    )
    .with(values![user_id, now])
}

/// Removes a user from a team. Returns how many were removed.
pub fn delete(team_id: TeamId, user_id: UserId) -> impl Batch<Out = u64> {
    let delete = sql!("DELETE FROM member WHERE team_id = $1 AND user_id = $2")
        .with(values![team_id, user_id]);
    (fair::alone(fair::Lock::Member(team_id, user_id)), delete).rule(|(_, deleted)| Ok(deleted))
}

/// Removes all members of a team, which is locked.
///
/// # Errors
/// As for every script.
pub async fn delete_all_of_team(sql: Sql<'_>, team_id: TeamId) -> Result<(), ScriptError> {
    // In a larger team, the others could keep this waiting: PostgreSQL has room for some thousands of these locks.
    let some = sql!("SELECT user_id FROM member WHERE team_id = $1 ORDER BY user_id LIMIT 1000");
    let some = some.with(values![team_id]).all(|row| Ok(row.take()?));
    let users: Vec<UserId> = sql.run(some).await?;
    let locks = users.into_iter().map(|it| fair::Lock::Member(team_id, it));
    fair::all_alone(sql, locks).await?;
    let delete = sql!("DELETE FROM member WHERE team_id = $1").with(values![team_id]);
    sql.run(delete).await.map(drop)
}

/// Removes a user from all teams.
pub fn delete_all(user_id: UserId) -> impl Batch {
    sql!("DELETE FROM member WHERE user_id = $1").with(values![user_id])
}

/// The role of a user in a team, if any.
pub fn role(team_id: TeamId, user_id: UserId) -> impl Batch<Out = Option<Role>> {
    sql!("SELECT role FROM member WHERE team_id = $1 AND user_id = $2")
        .with(values![team_id, user_id])
        .first(|row| Ok(row.take()?))
}

/// As [`role`]; the member is not removed before the end of the transaction.
pub fn hold_role(team_id: TeamId, user_id: UserId) -> impl Batch<Out = Option<Role>> {
    let hold = sql!("SELECT role FROM member WHERE team_id = $1 AND user_id = $2 FOR SHARE")
        .with(values![team_id, user_id])
        .first(|row| Ok(row.take()?));
    (fair::share(fair::Lock::Member(team_id, user_id)), hold).rule(|(_, role)| Ok(role))
}

/// A member as [`read_listed`] reads it.
const LISTED: &str = "SELECT team_id, user_id, role, member.created_at, team.name, email, \"user\".name \
     FROM member JOIN team ON team.id = team_id JOIN \"user\" ON \"user\".id = user_id ";

fn read_listed(row: &mut Columns<'_>) -> Result<ListedMember, ScriptError> {
    Ok(ListedMember {
        member: Member {
            team_id: row.take()?,
            user_id: row.take()?,
            role: row.take()?,
            created_at: row.take()?,
        },
        team_name: row.take()?,
        email: row.take()?,
        user_name: row.take()?,
    })
}

/// The members of a team, in the order in which the users were created.
pub fn list(team_id: TeamId, part: Part<UserId>) -> impl Batch<Out = Vec<ListedMember>> {
    let after = part.after.unwrap_or(UserId(Uuid::nil()));
    sql!(
        LISTED,
        "WHERE team_id = $1 AND user_id > $2 ORDER BY user_id LIMIT $3"
    )
    .with(values![team_id, after, part.limit])
    .all(read_listed)
}

/// The memberships of one user, oldest team first.
pub fn list_teams(user_id: UserId, part: Part<TeamId>) -> impl Batch<Out = Vec<ListedMember>> {
    let after = part.after.unwrap_or(TeamId(Uuid::nil()));
    sql!(
        LISTED,
        "WHERE user_id = $1 AND team_id > $2 ORDER BY team_id LIMIT $3"
    )
    .with(values![user_id, after, part.limit])
    .all(read_listed)
}

/// The oldest team that the user is a member of. Before PostgreSQL has counted the rows, it would rather walk through the
/// teams in their order: hence the inner query.
pub fn find_oldest_team(user_id: UserId) -> impl Batch<Out = Option<TeamId>> {
    sql!(
        "WITH of_user AS MATERIALIZED (SELECT team_id FROM member WHERE user_id = $1) \
         SELECT team_id FROM of_user ORDER BY team_id LIMIT 1"
    )
    .with(values![user_id])
    .first(|row| Ok(row.take()?))
}

/// A user as a member of a team.
pub fn find(team_id: TeamId, user_id: UserId) -> impl Batch<Out = Option<ListedMember>> {
    sql!(LISTED, "WHERE team_id = $1 AND user_id = $2")
        .with(values![team_id, user_id])
        .first(read_listed)
}
