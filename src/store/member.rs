//! What a store keeps of members.

use async_trait::async_trait;

use crate::domain::Error;
use crate::domain::id::{TeamId, UserId};
use crate::domain::member::{Member, Role};

/// Members in the store.
#[async_trait]
pub trait MemberStore {
    /// Adds a member.
    ///
    /// # Errors
    /// `Team::missing`, `User::missing`,
    /// `Member::exists`.
    async fn add_member(&self, member: Member) -> Result<(), Error>;

    /// Takes a member out of a team.
    ///
    /// # Errors
    /// `Member::missing`.
    async fn remove_member(&self, team_id: TeamId, user_id: UserId) -> Result<(), Error>;

    /// The role of a user in a team, if both exist and the user is in it.
    ///
    /// # Errors
    /// As every read.
    async fn membership(&self, team_id: TeamId, user_id: UserId) -> Result<Option<Role>, Error>;
}
