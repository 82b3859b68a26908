//! Invitations: somebody with this email may become a member of a team (docs/decisions.md, P6 to P9).
//!
//! 1. An invitation is a link that is good for seven days. Its secret has 256 bits, and the database the SHA-256. A newer one
//!    of the same team and email replaces it, and only a POST spends it, as of every link ([`super::one_time_link`]).
//! 2. It gives a way to sign in only to an email that no user has. A user who exists signs in, and confirms: the link alone
//!    gives nobody an account that there is already.
//! 3. It ends when whoever made it may no longer make it. What the operator has made ends by time alone.

use std::time::Duration;

use super::id::{InvitationId, TeamId, UserId};
use super::member::Role;
use super::secret::Secret;
use super::time::Timestamp;
use super::user::User;

/// The most invitations that a team has at once: they end together when their maker is removed, and are shown on one page.
pub const INVITATIONS_PER_TEAM: i64 = 200;

/// For how long an invitation is good.
pub const LIFETIME: Duration = Duration::from_hours(7 * 24);

/// An invitation, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Identifies it; no secret.
    pub id: InvitationId,
    /// The team.
    pub team_id: TeamId,
    /// Who is invited.
    pub email: String,
    /// As what.
    pub role: Role,
    /// Who made it; none for the operator.
    pub invited_by: Option<UserId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// The first instant at which it is no longer good.
    pub expires_at: Timestamp,
}

impl Invitation {
    /// Step 3; `inviter` is what whoever made it is in the team now.
    pub fn is_in_force(&self, inviter: Option<Role>) -> bool {
        match (self.invited_by, inviter) {
            (None, _) => true,
            (Some(_), Some(role)) => role.may_give(self.role),
            (Some(_), None) => false,
        }
    }

    /// Whether it is the user who is invited: the same email, whatever the case of its letters.
    pub fn is_to(&self, user: &User) -> bool {
        self.email.eq_ignore_ascii_case(&user.email)
    }
}

/// An invitation, with whoever made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedInvitation {
    /// The invitation.
    pub invitation: Invitation,
    /// What its maker is in the team now.
    pub inviter_role: Option<Role>,
    /// What its maker is called.
    pub inviter_name: Option<String>,
}

/// An invitation as whoever has the link sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundInvitation {
    /// The invitation.
    pub invitation: Invitation,
    /// What the team is called.
    pub team_name: String,
    /// Whether a user has the email: step 2.
    pub has_user: bool,
}

/// An invitation that was just made; this is the only time that its secret is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedInvitation {
    /// The invitation.
    pub invitation: Invitation,
    /// The secret of its link.
    pub secret: Secret,
}

impl IssuedInvitation {
    /// The address of the page, below where people reach the service.
    pub fn url(&self, origin: &str) -> Secret {
        url(origin, &self.secret)
    }
}

/// The address of the page of an invitation.
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
