//! Invitations: let the person with a given email become a member of a team (docs/decisions.md, P6 to P9).
//!
//! 1. An invitation is a link that is valid for seven days. Its secret has 256 bits; the database has the SHA-256. A newer
//!    one for the same team and email replaces it, and only a POST spends it, as with every link ([`super::one_time_link`]).
//! 2. It gives a way to sign in only if no user has the email. An existing user signs in and confirms: the link alone gives
//!    nobody access to an existing account.
//! 3. It ends when its maker may no longer make it. One made by the operator ends only when it expires.

use std::time::Duration;

use super::id::{InvitationId, TeamId, UserId};
use super::member::Role;
use super::secret::Secret;
use super::time::Timestamp;
use super::user::User;

/// The most invitations a team may have at once: they end together when their maker is removed, and are shown on one page.
pub const INVITATIONS_PER_TEAM: i64 = 200;

/// How long an invitation is valid.
pub const LIFETIME: Duration = Duration::from_hours(7 * 24);

/// An invitation, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Identifies it; not a secret.
    pub id: InvitationId,
    /// The team.
    pub team_id: TeamId,
    /// The email of the person invited.
    pub email: String,
    /// The role that is offered.
    pub role: Role,
    /// Who made it; `None` for the operator.
    pub invited_by: Option<UserId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// The first instant at which it is no longer valid.
    pub expires_at: Timestamp,
}

impl Invitation {
    /// Whether it is in force: step 3. `inviter` is its maker's role in the team now.
    pub fn is_in_force(&self, inviter: Option<Role>) -> bool {
        match (self.invited_by, inviter) {
            (None, _) => true,
            (Some(_), Some(role)) => role.may_give(self.role),
            (Some(_), None) => false,
        }
    }

    /// Whether this user is the one invited: the same email, ignoring ASCII case.
    pub fn is_to(&self, user: &User) -> bool {
        self.email.eq_ignore_ascii_case(&user.email)
    }
}

/// An invitation, with its maker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedInvitation {
    /// The invitation.
    pub invitation: Invitation,
    /// Its maker's role in the team now.
    pub inviter_role: Option<Role>,
    /// Its maker's name.
    pub inviter_name: Option<String>,
}

/// An invitation as seen by anyone who has the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundInvitation {
    /// The invitation.
    pub invitation: Invitation,
    /// The team's name.
    pub team_name: String,
    /// Whether a user has the email: step 2.
    pub has_user: bool,
}

/// An invitation that was just made; its secret is shown only this once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedInvitation {
    /// The invitation.
    pub invitation: Invitation,
    /// The secret of its link.
    pub secret: Secret,
}

impl IssuedInvitation {
    /// The URL of its page, under the origin at which people reach the service.
    pub fn url(&self, origin: &str) -> Secret {
        url(origin, &self.secret)
    }
}

/// The URL of an invitation's page.
pub(crate) fn url(origin: &str, secret: &Secret) -> Secret {
    Secret::from_text(format!("{origin}/invitation/{}", secret.reveal()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn an_invitation_ends_with_the_right_to_make_it() {
        let made_by = |invited_by| Invitation {
            id: InvitationId(Uuid::nil()),
            team_id: TeamId(Uuid::nil()),
            email: "Bo@example.com".into(),
            role: Role::Admin,
            invited_by,
            created_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(1),
        };
        assert!(made_by(None).is_in_force(None));
        let by_user = made_by(Some(UserId(Uuid::nil())));
        assert!(by_user.is_in_force(Some(Role::Owner)));
        assert!(by_user.is_in_force(Some(Role::Admin)));
        assert!(!by_user.is_in_force(Some(Role::Member)));
        assert!(!by_user.is_in_force(None));
    }
}
