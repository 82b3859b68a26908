//! Members: who belongs to which team, and in which role.
//!
//! A mobile token names a user and no team; the team comes with each request. So membership is looked
//! up on each request and never remembered: removing a member takes effect at once.

use super::Error;
use super::id::{TeamId, UserId};
use super::string_enum::string_enum;
use super::time::Timestamp;

/// A user's place in a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The team.
    pub team_id: TeamId,
    /// The user.
    pub user_id: UserId,
    /// The user's role in the team.
    pub role: Role,
    /// When the user became a member.
    pub created_at: Timestamp,
}

/// A member, with the names of the team and the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedMember {
    /// The member.
    pub member: Member,
    /// The team's name.
    pub team_name: String,
    /// The user's email.
    pub email: String,
    /// The user's name.
    pub user_name: String,
}

string_enum! {
    /// A member's role in a team. Every role may list share links; nothing else that is published depends on it.
    Role {
        /// Owns the team.
        Owner = "owner",
        /// Runs the team.
        Admin = "admin",
        /// Works in the team.
        Member = "member",
        /// Looks on.
        Viewer = "viewer",
    }
}

/// Which roles may do something, such as [`Role::may_manage`].
pub type RoleRule = fn(Role) -> bool;

impl Role {
    /// Whether it may change who is in the team and which keys exist, and see what was done.
    pub fn may_manage(self) -> bool {
        matches!(self, Role::Owner | Role::Admin)
    }

    /// Whether it may give that role, and change, remove or uninvite those who have it: nobody reaches above their own
    /// role (docs/decisions.md, W22).
    pub fn may_give(self, role: Role) -> bool {
        self.may_manage() && self.rank() <= role.rank()
    }

    /// The highest role has the lowest rank.
    fn rank(self) -> u8 {
        match self {
            Role::Owner => 0,
            Role::Admin => 1,
            Role::Member => 2,
            Role::Viewer => 3,
        }
    }

    /// Whether it may change products and links.
    pub fn may_write(self) -> bool {
        self != Role::Viewer
    }
}

impl Member {
    /// The error for a user who is not in the team; the command line shows it.
    pub(crate) fn missing(team_id: TeamId, user_id: UserId) -> Error {
        Error::Refused(format!(
            "user {user_id} is no member of team {team_id}; `invoicing member add` makes them one"
        ))
    }

    /// The error for a user who is in the team already. Adding again does not change the role: turning an owner into a
    /// viewer should not be a side effect.
    pub(crate) fn exists(team_id: TeamId, user_id: UserId, role: Role) -> Error {
        Error::Refused(format!(
            "user {user_id} is a member of team {team_id} already, as {role}; \
             `invoicing member set-role` gives them another role"
        ))
    }

    /// The error for the only member of a team, if a change would leave it without anyone to manage it.
    pub(crate) fn only_member() -> Error {
        Error::Refused(
            "you are alone in this team, and it needs an owner; leave it instead, which ends it"
                .into(),
        )
    }

    /// The error for a user with whom too many keys would end.
    pub(crate) fn too_many_keys() -> Error {
        Error::Refused(
            "too many API keys would end with the teams in which you are alone, with those that expired within a day; leave \
             some of these teams first"
                .into(),
        )
    }

    /// The error for a user with whom too many share links would end.
    pub(crate) fn too_many_links() -> Error {
        Error::Refused(
            "too many share links would end with the teams in which you are alone; \
             leave some of these first, or ask whoever runs the service to delete files of theirs"
                .into(),
        )
    }

    /// The error for a change that would leave a team with other members without an owner.
    pub(crate) fn last_owner(team_name: &str) -> Error {
        Error::Refused(format!(
            "{team_name} has other members and no other owner; make one of them an owner first"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gives_a_role_above_their_own() {
        use Role::{Admin, Member, Owner, Viewer};
        for (own, may_give) in [
            (Owner, &[Owner, Admin, Member, Viewer][..]),
            (Admin, &[Admin, Member, Viewer]),
            (Member, &[]),
            (Viewer, &[]),
        ] {
            for role in Role::ALL {
                assert_eq!(own.may_give(*role), may_give.contains(role), "{own} {role}");
            }
        }
    }
}
