//! Users.

use super::App;
use crate::domain::Error;
use crate::domain::id::UserId;
use crate::domain::text::command_text;
use crate::domain::user::{User, parse_email};

impl App {
    /// Makes a user, who is a member of no team yet.
    ///
    /// # Errors
    /// [`Error::Refused`] for an email or a name that is not one, or an email that another user has.
    pub async fn create_user(&self, email: &str, name: &str) -> Result<User, Error> {
        let now = self.now();
        let user = User {
            id: self.ids.next(now),
            email: parse_email(email)?,
            name: command_text("user's name", name)?,
            created_at: now,
        };
        self.store.create_user(user.clone()).await?;
        Ok(user)
    }

    /// Removes a user: memberships, codes and sessions are gone at once. Links that the user made stay,
    /// and still name the user.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such user.
    pub async fn remove_user(&self, id: UserId) -> Result<(), Error> {
        self.store.remove_user(id, self.now()).await
    }
}
