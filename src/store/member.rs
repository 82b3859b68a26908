//! Members of teams.

use super::Batch;
use crate::domain::id::{TeamId, UserId};
use crate::domain::member::{Member, Role};
use crate::sql::{sql, table, values};

table! {
    /// The rows of members.
    pub(super) mod row = "member", key [team_id, user_id];
    ()
    Member { team_id: Uuid, user_id: Uuid, role: Text, created_at: Integer }
    ()
}

/// Adds a member, unless the user is one. Says how many were added.
pub fn insert(member: &Member) -> impl Batch<Out = u64> {
    sql!(row::INSERT, " ON CONFLICT (team_id, user_id) DO NOTHING").with(row::values(member))
}

/// Takes a user out of a team. Says how many were.
pub fn delete(team_id: TeamId, user_id: UserId) -> impl Batch<Out = u64> {
    sql!("DELETE FROM member WHERE team_id = $1 AND user_id = $2").with(values![team_id, user_id])
}

/// Takes a user out of all teams.
pub fn delete_all(user_id: UserId) -> impl Batch {
    sql!("DELETE FROM member WHERE user_id = $1").with(values![user_id])
}

/// What a user is in a team, if anything.
pub fn role(team_id: TeamId, user_id: UserId) -> impl Batch<Out = Option<Role>> {
    sql!("SELECT role FROM member WHERE team_id = $1 AND user_id = $2")
        .with(values![team_id, user_id])
        .first(|row| Ok(row.take()?))
}

/// The same; nobody removes the member before the end of the transaction.
pub fn hold_role(team_id: TeamId, user_id: UserId) -> impl Batch<Out = Option<Role>> {
    sql!("SELECT role FROM member WHERE team_id = $1 AND user_id = $2 FOR SHARE")
        .with(values![team_id, user_id])
        .first(|row| Ok(row.take()?))
}
