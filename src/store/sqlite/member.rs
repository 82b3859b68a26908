//! Members in SQLite.

use async_trait::async_trait;
use rusqlite::params;

use super::Sqlite;
use super::sql::Sql;
use super::team::require_team;
use super::user::require_user;
use crate::domain::Error;
use crate::domain::id::{TeamId, UserId};
use crate::domain::member::{Member, Role};
use crate::store::MemberStore;

#[async_trait]
impl MemberStore for Sqlite {
    async fn add_member(&self, member: Member) -> Result<(), Error> {
        let insert =
            "INSERT INTO member (team_id, user_id, role, created_at) VALUES (?1, ?2, ?3, ?4)";
        self.write(move |sql| {
            let Member {
                team_id,
                user_id,
                role,
                created_at,
            } = member;
            require_team(sql, team_id)?;
            require_user(sql, user_id)?;
            if let Some(role) = role_of(sql, team_id, user_id)? {
                return Err(Member::exists(team_id, user_id, role));
            }
            sql.execute(insert, params![team_id, user_id, role, created_at])?;
            Ok(())
        })
        .await
    }

    async fn remove_member(&self, team_id: TeamId, user_id: UserId) -> Result<(), Error> {
        let delete = "DELETE FROM member WHERE team_id = ?1 AND user_id = ?2";
        self.write(
            move |sql| match sql.execute(delete, params![team_id, user_id])? {
                0 => Err(Member::missing(team_id, user_id)),
                _ => Ok(()),
            },
        )
        .await
    }

    async fn membership(&self, team_id: TeamId, user_id: UserId) -> Result<Option<Role>, Error> {
        self.read(|sql| role_of(sql, team_id, user_id))
    }
}

/// What a user is in a team, if anything.
pub(super) fn role_of(
    sql: Sql<'_>,
    team_id: TeamId,
    user_id: UserId,
) -> Result<Option<Role>, Error> {
    let select = "SELECT role FROM member WHERE team_id = ?1 AND user_id = ?2";
    sql.optional(select, params![team_id, user_id], |row| row.get("role"))
}
