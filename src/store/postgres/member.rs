//! Members in PostgreSQL.

use async_trait::async_trait;

use super::Postgres;
use super::sql::{Failure, Sql};
use super::team::require_team;
use super::user::require_user;
use super::values::params;
use crate::domain::Error;
use crate::domain::id::{TeamId, UserId};
use crate::domain::member::{Member, Role};
use crate::store::MemberStore;

#[async_trait]
impl MemberStore for Postgres {
    async fn add_member(&self, member: Member) -> Result<(), Error> {
        let insert = "INSERT INTO member (team_id, user_id, role, created_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (team_id, user_id) DO NOTHING";
        let Member {
            team_id,
            user_id,
            role,
            created_at,
        } = member;
        self.write(|sql| async move {
            require_team(&sql, team_id).await?;
            require_user(&sql, user_id).await?;
            let values = params![team_id, user_id, role, created_at];
            if sql.execute(insert, values).await? == 0 {
                // Whoever has removed the member meanwhile leaves the role that was asked for.
                let found = role_of(&sql, team_id, user_id, "").await?;
                let found = found.unwrap_or(role);
                return Err(Member::exists(team_id, user_id, found).into());
            }
            Ok(())
        })
        .await
    }

    async fn remove_member(&self, team_id: TeamId, user_id: UserId) -> Result<(), Error> {
        let delete = "DELETE FROM member WHERE team_id = $1 AND user_id = $2";
        self.write(|sql| async move {
            match sql.execute(delete, params![team_id, user_id]).await? {
                0 => Err(Member::missing(team_id, user_id).into()),
                _ => Ok(()),
            }
        })
        .await
    }

    async fn membership(&self, team_id: TeamId, user_id: UserId) -> Result<Option<Role>, Error> {
        self.read(|sql| async move { role_of(&sql, team_id, user_id, "").await })
            .await
    }
}

/// What a user is in a team, if anything; and a lock on it if `locking` says so.
pub(super) async fn role_of(
    sql: &Sql,
    team_id: TeamId,
    user_id: UserId,
    locking: &str,
) -> Result<Option<Role>, Failure> {
    let select = &format!("SELECT role FROM member WHERE team_id = $1 AND user_id = $2 {locking}");
    let values = params![team_id, user_id];
    sql.optional(select, values, |row| row.try_get("role"))
        .await
}
