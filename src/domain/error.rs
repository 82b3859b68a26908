//! What can go wrong, in the service's own terms; nothing here knows HTTP or SQL.
//!
//! Which one to use:
//! - The caller may not do this: [`Error::InvalidToken`] (who are you?), [`Error::ScopeInsufficient`] and
//!   [`Error::NotAMember`] (you may not).
//! - Something that the published interface names: its own variant, one for each code of
//!   docs/decisions.md, "Errors".
//! - Something only the command line or a page can ask for: [`Error::Missing`], [`Error::Refused`] or, about one field,
//!   [`Error::Invalid`], whose text a person reads, so it says what to do.
//! - The store did not answer in time, or cannot now: [`Error::Unavailable`]. Trying again may help.
//! - A bug, or a broken database: [`Error::Internal`]. Trying again will not help.
//!
//! `src/http/error.rs` turns each into an answer. `Display` is for people at a terminal and for tests; its text for
//! `Unavailable` and `Internal` never includes the cause, which is only for the log: [`Error::cause`].

use std::error::Error as StdError;
use std::fmt;

use super::id::SessionId;
use super::time::Timestamp;
use crate::causes;

/// The error type of the layers `app` and `store`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The credential is missing, malformed, unknown, expired or revoked (`invalid_token`).
    #[error("the credential is not valid")]
    InvalidToken,
    /// A write with a key that may only read (`scope_insufficient`).
    #[error("the API key may only read")]
    ScopeInsufficient,
    /// The user is not a member of the team, or there is no such team (`not_a_member`).
    #[error("the user is not a member of the team")]
    NotAMember,
    /// The user is in the team, but their role does not allow this.
    #[error("the user's role in the team does not allow this")]
    RoleInsufficient,

    /// No such product in the team's catalog in this mode (`product_not_found`).
    #[error("there is no such product")]
    ProductNotFound,
    /// Another active product of the team has the sku, in this mode (`duplicate_sku`).
    #[error("another active product has this sku")]
    DuplicateSku,
    /// The product is archived already (`already_archived`).
    #[error("the product is already archived")]
    AlreadyArchived,
    /// The idempotency key was used for a different request (`idempotency_key_reused`).
    #[error("the idempotency key was used for a different request")]
    IdempotencyKeyReused,
    /// The cursor was not made by this service for this list (`invalid_query`, constraint `cursor`).
    #[error("the cursor does not belong to this list")]
    InvalidCursor,

    /// The product has changed since it was shown to the user who changes it.
    #[error("the product has changed since it was shown")]
    ProductChanged,
    /// The catalog has changed since an import was planned.
    #[error("the catalog has changed since the import was planned; plan it again")]
    CatalogChanged,
    /// No plan of that id is kept for this user, team and mode: it was carried out, replaced, or is older than an hour.
    #[error("the plan of the import is no longer kept; plan it again")]
    ImportNotKept,

    /// No such file or folder in the team (`item_not_found`).
    #[error("there is no such file or folder")]
    ItemNotFound,

    /// The code or refresh token is unknown, expired, or not this client's; RFC 6749, 5.2.
    #[error("the code or refresh token is not valid")]
    InvalidGrant,
    /// A used code or refresh token was presented again: two parties hold it, so its session was ended
    /// (`invalid_grant`). Worth a line in the log.
    #[error("the code or refresh token was used before; its session {0} was ended")]
    GrantReused(SessionId),
    /// There is no such client; RFC 6749, 5.2.
    #[error("the client is not known")]
    InvalidClient,
    /// The client may not use this grant; RFC 6749, 5.2.
    #[error("the client may not use this grant type")]
    UnauthorizedClient,

    /// A command named something that does not exist.
    #[error("there is no {noun} {id:?}; {remedy}")]
    Missing {
        /// What was looked for: `team`, `API key`.
        noun: &'static str,
        /// What the command called it.
        id: String,
        /// What to do, as a clause: "`invoicing team list` shows the teams".
        remedy: &'static str,
    },
    /// A command asked for something that the rules forbid; the text says what, and what to do.
    #[error("{0}")]
    Refused(String),

    /// The text typed into a field is refused; the message follows the field's name.
    #[error("{}", .0)]
    Invalid(Complaint),
    /// The password does not match the email, or no user has that email.
    #[error("the email or the password is wrong")]
    WrongPassword,
    /// A passkey is not known here, or its signature is not valid; the answer does not say which.
    #[error("the passkey is not accepted here, or the page was too old")]
    PasskeyRefused,
    /// There were too many wrong passwords; the account can be tried again at that time.
    #[error("there were too many wrong passwords; try again later")]
    TooManyWrongPasswords(Timestamp),
    /// The user is deactivated: reported to the operator, and to callers who have proven to be that user.
    #[error("the user is deactivated; `invoicing user activate` gives the account back")]
    Deactivated,
    /// A one-time link was used, has been replaced, or is too old.
    #[error("the link is not valid any more")]
    LinkNotValid,

    /// Passwords are switched off.
    #[error("passwords are switched off (password_sign_in)")]
    PasswordsOff,
    /// No user has the identity at the OpenID provider.
    #[error("no user has this identity")]
    IdentityUnknown,
    /// Another user has the identity at the OpenID provider.
    #[error("another user has this identity")]
    IdentityTaken,

    /// The store cannot answer in time (`unavailable`). Whether a change that was asked for has been
    /// made is then not known, only that it was not acknowledged.
    #[error("the service cannot answer right now; try again")]
    Unavailable(Cause),
    /// A bug or a broken database (`internal_error`).
    #[error("something went wrong inside the service")]
    Internal(Cause),
}

/// What is wrong with a text that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The field, as the form names it.
    pub field: &'static str,
    /// What is wrong and what to do, as the rest of a sentence that starts with the field: "is too short".
    pub message: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} {}", self.field, self.message)
    }
}

/// Why a request failed for reasons that are not the caller's; for the log, never for an answer.
pub type Cause = Box<dyn StdError + Send + Sync>;

impl Error {
    /// The store cannot answer now, because of `cause`.
    pub fn unavailable(cause: impl Into<Cause>) -> Error {
        Error::Unavailable(cause.into())
    }

    /// The text typed into `field` is refused; `message` is the rest of the sentence.
    pub(crate) fn invalid(field: &'static str, message: impl Into<String>) -> Error {
        let message = message.into();
        Error::Invalid(Complaint { field, message })
    }

    /// A bug or a broken database: `cause`.
    pub fn internal(cause: impl Into<Cause>) -> Error {
        Error::Internal(cause.into())
    }

    /// What is behind this, in one line, for the log: all causes of an `Unavailable` or `Internal`, or the error itself
    /// if a caller caused it.
    pub fn causes(&self) -> String {
        self.cause()
            .map_or_else(|| self.to_string(), |it| causes::causes(it))
    }

    /// The error and its causes in one line, for the operator.
    pub fn with_causes(&self) -> String {
        match self.cause() {
            Some(cause) => format!("{self}: {}", causes::causes(cause)),
            None => self.to_string(),
        }
    }

    /// Why a request failed, if for reasons that are not the caller's.
    pub fn cause(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        match self {
            Error::Unavailable(cause) | Error::Internal(cause) => Some(cause.as_ref()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_internal_error_shows_nothing_of_its_cause() {
        let error = Error::internal("no such table: product");
        assert_eq!(error.to_string(), "something went wrong inside the service");
        assert_eq!(error.cause().unwrap().to_string(), "no such table: product");
    }
}
