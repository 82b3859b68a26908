//! Users in SQLite.

use async_trait::async_trait;
use rusqlite::params;

use super::Sqlite;
use super::session::end_sessions_of;
use super::sql::Sql;
use crate::domain::Error;
use crate::domain::id::UserId;
use crate::domain::time::Timestamp;
use crate::domain::user::User;
use crate::store::UserStore;

#[async_trait]
impl UserStore for Sqlite {
    async fn create_user(&self, user: User) -> Result<(), Error> {
        let taken = "SELECT 1 FROM user WHERE lower(email) = lower(?1) AND removed_at IS NULL";
        let insert = "INSERT INTO user (id, email, name, created_at) VALUES (?1, ?2, ?3, ?4)";
        self.write(move |sql| {
            if sql.optional(taken, [&user.email], |_| Ok(()))?.is_some() {
                return Err(User::email_taken(&user.email));
            }
            sql.execute(
                insert,
                params![user.id, user.email, user.name, user.created_at],
            )?;
            Ok(())
        })
        .await
    }

    async fn remove_user(&self, id: UserId, now: Timestamp) -> Result<(), Error> {
        let remove = "UPDATE user SET removed_at = ?2 WHERE id = ?1 AND removed_at IS NULL";
        self.write(move |sql| {
            if sql.execute(remove, params![id, now])? == 0 {
                return Err(User::missing(id));
            }
            sql.execute("DELETE FROM member WHERE user_id = ?1", [id])?;
            sql.execute("DELETE FROM auth_code WHERE user_id = ?1", [id])?;
            end_sessions_of(sql, id, now)
        })
        .await
    }
}

/// Refuses an id that no user has, or a removed one. For use inside a transaction.
pub(super) fn require_user(sql: Sql<'_>, id: UserId) -> Result<(), Error> {
    let select = "SELECT 1 FROM user WHERE id = ?1 AND removed_at IS NULL";
    sql.optional(select, [id], |_| Ok(()))?
        .ok_or_else(|| User::missing(id))
}
