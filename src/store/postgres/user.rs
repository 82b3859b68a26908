//! Users in PostgreSQL.

use async_trait::async_trait;

use super::Postgres;
use super::session::end_sessions_of;
use super::sql::{Failure, Sql};
use super::values::params;
use crate::domain::Error;
use crate::domain::id::UserId;
use crate::domain::time::Timestamp;
use crate::domain::user::User;
use crate::store::UserStore;

#[async_trait]
impl UserStore for Postgres {
    async fn create_user(&self, user: User) -> Result<(), Error> {
        let insert = "INSERT INTO \"user\" (id, email, name, created_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (lower(email COLLATE \"C\")) WHERE removed_at IS NULL DO NOTHING";
        let user = &user;
        self.write(|sql| async move {
            let values = params![user.id, user.email, user.name, user.created_at];
            match sql.execute(insert, values).await? {
                0 => Err(User::email_taken(&user.email).into()),
                _ => Ok(()),
            }
        })
        .await
    }

    /// The row of the user is locked first, as `require_user` does: what others are about to add to the
    /// user is there before this, or refused after it.
    async fn remove_user(&self, id: UserId, now: Timestamp) -> Result<(), Error> {
        let remove = "UPDATE \"user\" SET removed_at = $2 WHERE id = $1 AND removed_at IS NULL";
        self.write(|sql| async move {
            if sql.execute(remove, params![id, now]).await? == 0 {
                return Err(User::missing(id).into());
            }
            for delete in [
                "DELETE FROM member WHERE user_id = $1",
                "DELETE FROM auth_code WHERE user_id = $1",
            ] {
                sql.execute(delete, params![id]).await?;
            }
            end_sessions_of(&sql, id, now).await
        })
        .await
    }
}

/// Refuses an id that no user has, or a removed one, and keeps the user from being removed until the
/// end of the transaction.
pub(super) async fn require_user(sql: &Sql, id: UserId) -> Result<(), Failure> {
    let select = "SELECT 1 FROM \"user\" WHERE id = $1 AND removed_at IS NULL FOR SHARE";
    match sql.exists(select, params![id]).await? {
        true => Ok(()),
        false => Err(User::missing(id).into()),
    }
}
