//! The audit: who did what to whom or what, when and from where (docs/decisions.md, T1 to T5).
//!
//! 1. An event is written in the transaction of the change that it records: neither exists without the other.
//! 2. It has ids, and no name and no email: names are looked up when it is shown, so deleting a user erases them from the
//!    audit, too. It never has a secret.
//! 3. It is kept for 400 days.

use std::net::IpAddr;

use super::catalog::Catalog;
use super::id::{ApiKeyId, AuditEventId, BrowserSessionId, TeamId, UserId};
use super::member::Role;
use super::oauth_client::ClientId;
use super::string_enum::string_enum;
use super::time::Timestamp;
use super::ways_to_sign_in::Way;
use uuid::Uuid;

/// On whose behalf something is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Anyone who can open the database with the command line; may do everything.
    Operator,
    /// A user in a browser.
    Person(Person),
}

impl Actor {
    /// The user; `None` for the operator, who is not a user.
    pub fn user_id(&self) -> Option<UserId> {
        match self {
            Actor::Operator => None,
            Actor::Person(person) => Some(person.user_id),
        }
    }
}

/// A user who is signed in, in a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The user.
    pub user_id: UserId,
    /// The browser session, which must still exist when something is changed.
    pub session_id: BrowserSessionId,
    /// Where the request came from.
    pub visitor: Visitor,
}

/// Where a browser's request came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visitor {
    /// The client address.
    pub address: IpAddr,
    /// What the browser calls itself.
    pub user_agent: Option<String>,
}

string_enum! {
    /// What was done.
    Action {
        /// The first owner was made.
        SetUp = "set-up",
        /// A user signed in.
        SignIn = "sign-in",
        /// A user signed out.
        SignOut = "sign-out",
        /// A session of an app was ended, by the app or by someone else, or all sessions of a user or an app. Also recorded
        /// for a session of which a code or a token came twice.
        EndSession = "end-session",
        /// A browser session was ended from another one, or all of a user's were.
        EndBrowserSession = "end-browser-session",
        /// The operator made a user a member.
        AddMember = "add-member",
        /// An invitation was made.
        Invite = "invite",
        /// An invitation was withdrawn.
        Uninvite = "uninvite",
        /// A person who was invited became a member.
        AcceptInvitation = "accept-invitation",
        /// A member was given another role.
        SetRole = "set-role",
        /// A member left, or was removed.
        RemoveMember = "remove-member",
        /// The operator made a user.
        CreateUser = "create-user",
        /// The operator deactivated a user.
        DeactivateUser = "deactivate-user",
        /// The operator reactivated a user.
        ActivateUser = "activate-user",
        /// The operator exported everything stored about a user.
        ExportUser = "export-user",
        /// The operator made a team.
        CreateTeam = "create-team",
        /// The operator renamed a team.
        RenameTeam = "rename-team",
        /// The operator deleted a team.
        DeleteTeam = "delete-team",
        /// The operator printed a link for creating the first owner.
        PrintSetUpLink = "print-set-up-link",
        /// The operator printed a link with which a user resets their password.
        PrintResetLink = "print-reset-link",
        /// A user's name was changed.
        ChangeName = "change-name",
        /// A user's email was changed.
        ChangeEmail = "change-email",
        /// A user deleted their account, or the operator did.
        DeleteAccount = "delete-account",
        /// A key was made.
        CreateApiKey = "create-api-key",
        /// A key was made to replace another.
        RotateApiKey = "rotate-api-key",
        /// A key was revoked.
        RevokeApiKey = "revoke-api-key",
        /// A share link was made.
        CreateLink = "create-link",
        /// A share link was revoked.
        RevokeLink = "revoke-link",
        /// A folder was made.
        CreateFolder = "create-folder",
        /// A folder was renamed.
        RenameFolder = "rename-folder",
        /// A folder was deleted.
        DeleteFolder = "delete-folder",
        /// A file was made.
        CreateFile = "create-file",
        /// A file was renamed.
        RenameFile = "rename-file",
        /// A file was deleted, alone or with its folder.
        DeleteFile = "delete-file",
        /// An app was registered.
        CreateOauthClient = "create-oauth-client",
        /// An app's name or redirect URIs were changed.
        UpdateOauthClient = "update-oauth-client",
        /// An app was deleted.
        DeleteOauthClient = "delete-oauth-client",
        /// A code was issued on the command line.
        IssueAuthCode = "issue-auth-code",
        /// A password was set with a reset link.
        ResetPassword = "reset-password",
        /// A password was changed.
        ChangePassword = "change-password",
        /// Products were imported: a file, or a step of one.
        ImportProducts = "import-products",
        /// A passkey was added.
        AddPasskey = "add-passkey",
        /// A passkey was removed.
        RemovePasskey = "remove-passkey",
        /// A passkey was refused, because there are two copies of its key.
        RefusePasskey = "refuse-passkey",
        /// An identity at the OpenID provider became a way to sign in.
        LinkIdentity = "link-identity",
        /// An identity is no longer a way to sign in.
        UnlinkIdentity = "unlink-identity",
    }
}

/// Something that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEvent {
    /// Identifies it; later events have greater ids.
    pub id: AuditEventId,
    /// The team in which it was done, if it was in one.
    pub team_id: Option<TeamId>,
    /// The user who did it; `None` for the command line.
    pub actor: Option<UserId>,
    /// What was done.
    pub action: Action,
    /// The key, link, session, import, file, folder, user or team that it was done to.
    pub subject: Option<Uuid>,
    /// A further detail, such as a role or a mode.
    pub detail: Option<String>,
    /// The client address.
    pub client_address: Option<String>,
    /// The browser's user agent.
    pub user_agent: Option<String>,
    /// When.
    pub created_at: Timestamp,
}

/// An event, with the names of its actor and its subject, as far as these still exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedAuditEvent {
    /// The event.
    pub event: AuditEvent,
    /// The actor's name.
    pub actor: Option<String>,
    /// The name of the user, key, link, folder or file.
    pub subject: Option<String>,
}

impl AuditEvent {
    /// An event for what `actor` does now.
    pub(crate) fn new(id: AuditEventId, actor: &Actor, action: Action, now: Timestamp) -> Self {
        let (user_id, visitor) = match actor {
            Actor::Operator => (None, None),
            Actor::Person(person) => (Some(person.user_id), Some(&person.visitor)),
        };
        AuditEvent {
            id,
            team_id: None,
            actor: user_id,
            action,
            subject: None,
            detail: None,
            client_address: visitor.map(|it| it.address.to_string()),
            user_agent: visitor.and_then(|it| it.user_agent.clone()),
            created_at: now,
        }
    }

    /// The same, in a team.
    #[must_use]
    pub(crate) fn in_team(self, team_id: TeamId) -> Self {
        AuditEvent {
            team_id: Some(team_id),
            ..self
        }
    }

    /// The same, with a role as the detail.
    #[must_use]
    pub(crate) fn with_role(self, role: Role) -> Self {
        AuditEvent {
            detail: Some(role.as_str().to_owned()),
            ..self
        }
    }

    /// The same, in one of the team's catalogs.
    #[must_use]
    pub(crate) fn in_catalog(self, catalog: Catalog) -> Self {
        AuditEvent {
            team_id: Some(catalog.team_id),
            detail: Some(catalog.mode.as_str().to_owned()),
            ..self
        }
    }

    /// The same, with the key that took another's place as the detail.
    #[must_use]
    pub(crate) fn with_successor(self, id: ApiKeyId) -> Self {
        AuditEvent {
            detail: Some(id.to_string()),
            ..self
        }
    }

    /// The same, with the way to sign in as the detail.
    #[must_use]
    pub(crate) fn by(self, way: Way) -> Self {
        AuditEvent {
            detail: Some(way.as_str().to_owned()),
            ..self
        }
    }

    /// The same, with an app as the detail, since an app's id is not a UUID.
    #[must_use]
    pub(crate) fn of_client(self, id: &ClientId) -> Self {
        AuditEvent {
            detail: Some(id.to_string()),
            ..self
        }
    }

    /// The same, done to `subject`.
    #[must_use]
    pub(crate) fn to(self, subject: Uuid) -> Self {
        AuditEvent {
            subject: Some(subject),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_else_there_is_to_say_is_a_role_or_the_mode_of_a_catalog() {
        let event = || {
            let (id, now) = (uuid::Uuid::nil().into(), Timestamp::from_millis(0));
            AuditEvent::new(id, &Actor::Operator, Action::AddMember, now)
        };
        assert_eq!(
            event().with_role(Role::Admin).detail.as_deref(),
            Some("admin")
        );
        let catalog = Catalog {
            team_id: uuid::Uuid::from_u128(1).into(),
            mode: crate::domain::catalog::Mode::Test,
        };
        let told = event().in_catalog(catalog);
        assert_eq!(told.team_id, Some(catalog.team_id));
        assert_eq!(told.detail.as_deref(), Some("test"));
    }
}
