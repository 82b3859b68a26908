//! Users: the people behind mobile sessions.

use std::fmt;
use std::str::FromStr;

use super::Error;
use super::id::UserId;
use super::input::typed_text;
use super::time::Timestamp;

/// The longest address that mail can be sent to (RFC 5321, 4.5.3.1.3, without the angle brackets).
const EMAIL_LENGTH: usize = 254;

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Identifies the user.
    pub id: UserId,
    /// The user's address, as it was given. No two users share one, whatever the case of its letters.
    pub email: String,
    /// What the user is called, and what a share link shows as its creator.
    pub name: String,
    /// When the user was made.
    pub created_at: Timestamp,
    /// When the user was deactivated; `None` if they may sign in.
    pub deactivated_at: Option<Timestamp>,
}

impl User {
    /// The error for an id or an email that no user has; the command line shows it.
    pub(crate) fn missing(id: impl fmt::Display) -> Error {
        Error::Missing {
            noun: "user",
            id: id.to_string(),
            remedy: "`invoicing user list` shows the users",
        }
    }

    /// The error for an address that another user has, who may have been removed since; the command line shows it.
    pub(crate) fn email_taken(email: &str, owner: Option<&User>) -> Error {
        let who = owner.map_or_else(String::new, |user| format!(", {}", user.id));
        Error::Refused(format!(
            "a user with the email {email} exists already{who}; use that user or another address"
        ))
    }
}

/// How a command names a user: by id or by email.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedUser {
    /// By id.
    Id(UserId),
    /// By email, whatever the case of its letters.
    Email(String),
}

/// A text that names no user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write a user's email, such as ada@example.com, or an id as `invoicing user list` prints it"
)]
pub struct NotAUser;

impl FromStr for NamedUser {
    type Err = NotAUser;

    fn from_str(text: &str) -> Result<Self, NotAUser> {
        let email = || parse_email(text).map(NamedUser::Email);
        let named = text.parse().map(NamedUser::Id).or_else(|_| email());
        named.map_err(|_| NotAUser)
    }
}

impl From<UserId> for NamedUser {
    fn from(id: UserId) -> Self {
        NamedUser::Id(id)
    }
}

/// Tells an address from a typing error. Only sending mail can tell whether it arrives there.
pub(crate) fn parse_email(text: &str) -> Result<String, Error> {
    let email = typed_text("email", text)?;
    let parts = email.rsplit_once('@');
    let is_address = parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty());
    if !is_address || email.contains(char::is_whitespace) || email.len() > EMAIL_LENGTH {
        return Err(Error::invalid(
            "email",
            format!("{email:?} is no address; write it like name@example.com"),
        ));
    }
    Ok(email)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_has_two_sides_and_no_space() {
        assert_eq!(parse_email(" ada@example.com ").unwrap(), "ada@example.com");
        parse_email(&format!("{}@b", "a".repeat(252))).unwrap();
        for wrong in [
            "",
            "ada",
            "@example.com",
            "ada@",
            "a da@example.com",
            &format!("{}@b", "a".repeat(253)),
        ] {
            assert!(
                matches!(parse_email(wrong), Err(Error::Invalid(_))),
                "{wrong}"
            );
        }
    }
}
