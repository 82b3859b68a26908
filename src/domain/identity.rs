//! Identities: who a user is at the OpenID provider of the deployment (docs/decisions.md, P25 to P27).
//!
//! 1. The issuer and the subject make up the identity: nobody else at that provider ever has this subject (OpenID
//!    Connect Core, section 2). An identity belongs to one user.
//! 2. An email is not an identity: people give theirs up, and providers reassign them. It finds a user once, and only
//!    if the provider says that it is proven.

use super::Error;
use super::id::{IdentityId, UserId};
use super::time::Timestamp;
use super::user::parse_email;

/// The longest subject (OpenID Connect Core, section 2).
pub const SUBJECT_LENGTH: usize = 255;

/// The most identities a user may have.
pub const IDENTITIES_PER_USER: usize = 10;

/// Who a user is at a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Identifies it here.
    pub id: IdentityId,
    /// The user it belongs to.
    pub user_id: UserId,
    /// The provider.
    pub issuer: String,
    /// Identifies the user there.
    pub subject: String,
    /// Their email there when it was linked, proven or not.
    pub email: Option<String>,
    /// When it was linked.
    pub created_at: Timestamp,
}

impl Identity {
    /// The error for an id that no identity of the user has.
    pub(crate) fn missing(id: IdentityId) -> Error {
        Error::Missing {
            noun: "identity",
            id: id.to_string(),
            remedy: "it may have been unlinked",
        }
    }
}

/// What a provider says about a user who has just signed in there, once it has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The provider.
    pub issuer: String,
    /// Identifies the user there.
    pub subject: String,
    /// Their email.
    pub email: Option<String>,
    /// Whether the provider says that it is theirs.
    pub email_verified: bool,
    /// Their name.
    pub name: Option<String>,
    /// When they proved there who they are, if the provider says so.
    pub signed_in_at: Option<Timestamp>,
}

impl Claims {
    /// Takes the claims of an ID token, as far as they can be used.
    ///
    /// # Errors
    /// [`Error::Refused`] if the subject is not valid.
    pub(crate) fn new(
        issuer: String,
        subject: String,
        email: Option<&str>,
        email_verified: bool,
        name: Option<String>,
        signed_in_at: Option<Timestamp>,
    ) -> Result<Claims, Error> {
        let is_plain = subject.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        if subject.is_empty() || subject.len() > SUBJECT_LENGTH || !is_plain {
            return Err(Error::Refused(
                "its subject is no text of 1 to 255 ASCII characters".into(),
            ));
        }
        Ok(Claims {
            issuer,
            subject,
            // Only if it is valid as it is: typed emails are trimmed, but this one is proven, and a provider may tell
            // the two apart.
            email: email
                .filter(|it| parse_email(it).is_ok_and(|email| email == *it))
                .map(str::to_owned),
            email_verified,
            name,
            signed_in_at,
        })
    }

    /// The email, if it is proven: step 2.
    pub fn proven_email(&self) -> Option<&str> {
        self.email.as_deref().filter(|_| self.email_verified)
    }

    /// Whether the claims prove that this email is theirs, ignoring ASCII case.
    pub fn prove(&self, email: &str) -> bool {
        self.proven_email()
            .is_some_and(|it| it.eq_ignore_ascii_case(email))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(subject: &str, email: Option<&str>, verified: bool) -> Result<Claims, Error> {
        Claims::new(
            "https://a.example".into(),
            subject.into(),
            email,
            verified,
            None,
            None,
        )
    }

    #[test]
    fn a_subject_is_one_to_two_hundred_and_fifty_five_ascii_characters() {
        for good in ["1", "auth0|5f", &"x".repeat(255)] {
            claims(good, None, false).unwrap();
        }
        for wrong in ["", "\u{0}", "ü", "a\nb", &"x".repeat(256)] {
            claims(wrong, None, false).unwrap_err();
        }
    }

    #[test]
    fn an_email_counts_if_it_is_proven_and_an_address() {
        let proves = |email, verified| {
            let claims = claims("1", email, verified).unwrap();
            claims.prove("Ada@example.com")
        };
        assert!(proves(Some("ada@EXAMPLE.com"), true));
        assert!(!proves(Some("ada@example.com"), false));
        assert!(!proves(Some("bo@example.com"), true));
        assert!(!proves(None, true));
        // Typed emails are trimmed; this one was not typed here.
        for other in [
            " ada@example.com",
            "ada@example.com\n",
            "\u{a0}ada@example.com",
        ] {
            assert!(!proves(Some(other), true), "{other:?}");
        }
        assert!(!claims("1", Some(""), true).unwrap().prove(""));
    }
}
