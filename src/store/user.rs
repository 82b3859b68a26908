//! What a store keeps of users.

use async_trait::async_trait;

use crate::domain::Error;
use crate::domain::id::UserId;
use crate::domain::time::Timestamp;
use crate::domain::user::User;

/// Users in the store.
#[async_trait]
pub trait UserStore {
    /// Adds a user.
    ///
    /// # Errors
    /// `User::email_taken`, compared without regard to the case of ASCII letters.
    async fn create_user(&self, user: User) -> Result<(), Error>;

    /// Removes a user with memberships and codes, and ends the sessions, in one change.
    ///
    /// # Errors
    /// `User::missing`.
    async fn remove_user(&self, id: UserId, now: Timestamp) -> Result<(), Error>;
}
