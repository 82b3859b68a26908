//! The audit: who did what to whom or what, when and from where (docs/decisions.md, T1 to T5).
//!
//! 1. An event is written in the transaction of the change that it tells of: there is neither without the other.
//! 2. It has ids, and no name and no email: what somebody is called is looked up when it is shown, so a user who is deleted is
//!    erased from it, too. It never has a secret.
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
    /// Whoever can open the database by the command line, and may do everything.
    Operator,
    /// Somebody in a browser.
    Person(Person),
}

impl Actor {
    /// Who it is; none for the operator, who is no user.
    pub fn user_id(&self) -> Option<UserId> {
        match self {
            Actor::Operator => None,
            Actor::Person(person) => Some(person.user_id),
        }
    }
}

/// Somebody who is signed in, in a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Who it is.
    pub user_id: UserId,
    /// The browser session, which has to be there still when something is changed.
    pub session_id: BrowserSessionId,
    /// Where the request came from.
    pub visitor: Visitor,
}

/// Where a request of a browser came from.
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
        /// Somebody signed in.
        SignIn = "sign-in",
        /// Somebody signed out.
        SignOut = "sign-out",
        /// A session of an app was ended, by it or by somebody else, or all of a user or an app. So is one of which a code or a
        /// token came twice.
        EndSession = "end-session",
        /// A session of a browser was ended from another, or all of a user.
        EndBrowserSession = "end-browser-session",
        /// The operator made a user a member.
        AddMember = "add-member",
        /// Somebody was invited.
        Invite = "invite",
        /// An invitation was withdrawn.
        Uninvite = "uninvite",
        /// Somebody who was invited became a member.
        AcceptInvitation = "accept-invitation",
        /// A member was given another role.
        SetRole = "set-role",
        /// A member left, or was removed.
        RemoveMember = "remove-member",
        /// The operator made a user.
        CreateUser = "create-user",
        /// The operator deactivated a user.
        DeactivateUser = "deactivate-user",
        /// The operator gave a user the account back.
        ActivateUser = "activate-user",
        /// The operator was given all that is stored about a user.
        ExportUser = "export-user",
        /// The operator made a team.
        CreateTeam = "create-team",
        /// The operator gave a team another name.
        RenameTeam = "rename-team",
        /// The operator deleted a team.
        DeleteTeam = "delete-team",
        /// The operator was given a link by which the first owner is made.
        PrintSetUpLink = "print-set-up-link",
        /// The operator was given a link by which a user sets a password anew.
        PrintResetLink = "print-reset-link",
        /// A user was given another name.
        ChangeName = "change-name",
        /// A user was given another email.
        ChangeEmail = "change-email",
        /// A user deleted their account, or the operator did.
        DeleteAccount = "delete-account",
        /// A key was made.
        CreateApiKey = "create-api-key",
        /// A key was made in the place of another.
        RotateApiKey = "rotate-api-key",
        /// A key was revoked.
        RevokeApiKey = "revoke-api-key",
        /// A share link was made.
        CreateLink = "create-link",
        /// A share link was revoked.
        RevokeLink = "revoke-link",
        /// A folder was made.
        CreateFolder = "create-folder",
        /// A folder was given another name.
        RenameFolder = "rename-folder",
        /// A folder was deleted.
        DeleteFolder = "delete-folder",
        /// A file was made.
        CreateFile = "create-file",
        /// A file was given another name.
        RenameFile = "rename-file",
        /// A file was deleted, alone or with its folder.
        DeleteFile = "delete-file",
        /// An app was registered.
        CreateOauthClient = "create-oauth-client",
        /// An app was given another name or other redirect URIs.
        UpdateOauthClient = "update-oauth-client",
        /// An app was deleted.
        DeleteOauthClient = "delete-oauth-client",
        /// A code was issued by the command line.
        IssueAuthCode = "issue-auth-code",
        /// A password was set by the link of a reset.
        ResetPassword = "reset-password",
        /// A password was changed.
        ChangePassword = "change-password",
        /// Products were imported: a file, or a step of one.
        ImportProducts = "import-products",
        /// A passkey was added.
        AddPasskey = "add-passkey",
        /// A passkey was removed.
        RemovePasskey = "remove-passkey",
        /// A passkey was refused, as there are two of the same key.
        RefusePasskey = "refuse-passkey",
        /// An identity at the OpenID provider became a way to sign in.
        LinkIdentity = "link-identity",
        /// It is none any more.
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
    /// Who did it; none for the command line.
    pub actor: Option<UserId>,
    /// What was done.
    pub action: Action,
    /// To which key, link, session, import, file, folder, user or team.
    pub subject: Option<Uuid>,
    /// What else there is to say, such as a role or a mode.
    pub detail: Option<String>,
    /// From where.
    pub client_address: Option<String>,
    /// By which browser.
    pub user_agent: Option<String>,
    /// When.
    pub created_at: Timestamp,
}

/// An event, with what people call whoever did it and what it was done to, as far as these are there still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedAuditEvent {
    /// The event.
    pub event: AuditEvent,
    /// The name of whoever did it.
    pub actor: Option<String>,
    /// The name of the user, key, link, folder or file.
    pub subject: Option<String>,
}

impl AuditEvent {
    /// Something that `actor` does now.
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

    /// The same, with a role as what else there is to say.
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

    /// The same, with the key that took another's place.
    #[must_use]
    pub(crate) fn with_successor(self, id: ApiKeyId) -> Self {
        AuditEvent {
            detail: Some(id.to_string()),
            ..self
        }
    }

    /// The same, with the way to sign in as what else there is to say.
    #[must_use]
    pub(crate) fn by(self, way: Way) -> Self {
        AuditEvent {
            detail: Some(way.as_str().to_owned()),
            ..self
        }
    }

    /// The same, with an app as what else there is to say: its id is no UUID.
    #[must_use]
    pub(crate) fn of_client(self, id: &ClientId) -> Self {
        AuditEvent {
            detail: Some(id.to_string()),
            ..self
        }
    }

    /// The same, done to this.
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
