//! Why a request for a page gets something other than the page.

use std::time::Duration;

use bytes::Bytes;
use http::Response;
use openapi_dropshot_runtime::{Rejection, RequestError};

use crate::domain;
use crate::http::Error;
use crate::log::ErrorCode;

/// Why a request for a page gets something else.
#[derive(Debug)]
pub(super) enum Failure {
    /// No user is signed in.
    NotSignedIn,
    /// A change that no page of ours has asked for.
    OtherOrigin,
    /// Another site has sent the user to a download.
    DownloadFromElsewhere,
    /// The request needs a password, and passwords are switched off.
    PasswordsOff,
    /// There is no such page, or not for this person.
    NotFound,
    /// Others have waited for the team's imports so long that it has to wait for this time.
    ImportTooSoon(Duration),
    /// The team has sent so many files to import that the next has to wait for so long.
    FileTooSoon(Duration),
    /// So many people have just joined the team that the next has to wait.
    JoinTooSoon,
    /// An app has sent the user here with a wrong request, and cannot be told.
    WrongApp(&'static str),
    /// Something has to come first, such as a proof of identity.
    Answered(Box<Response<Bytes>>),
    /// An error of the service or of the request.
    Rejected(Rejection<Error>),
}

impl Failure {
    /// Returns the code that is logged, unless the answer has one already.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        match self {
            Failure::NotSignedIn | Failure::Answered(_) | Failure::Rejected(_) => None,
            Failure::OtherOrigin | Failure::DownloadFromElsewhere => {
                Some(ErrorCode("other_origin"))
            }
            Failure::PasswordsOff => Some(ErrorCode("passwords_off")),
            Failure::NotFound => Some(ErrorCode("not_found")),
            Failure::ImportTooSoon(_) => Some(ErrorCode("import_too_soon")),
            Failure::FileTooSoon(_) => Some(ErrorCode("file_too_soon")),
            Failure::JoinTooSoon => Some(ErrorCode("join_too_soon")),
            Failure::WrongApp(_) => Some(ErrorCode("wrong_app")),
        }
    }
}

impl From<domain::Error> for Failure {
    fn from(error: domain::Error) -> Failure {
        match error {
            domain::Error::InvalidToken => Failure::NotSignedIn,
            domain::Error::PasswordsOff => Failure::PasswordsOff,
            // A user who is not a member learns nothing (docs/decisions.md, W21).
            domain::Error::NotAMember
            | domain::Error::Missing { .. }
            | domain::Error::LinkNotValid => Failure::NotFound,
            error => Failure::Rejected(error.into()),
        }
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Failure {
        Failure::Rejected(error.into())
    }
}

impl From<Rejection<Error>> for Failure {
    fn from(rejection: Rejection<Error>) -> Failure {
        match rejection {
            Rejection::Error(Error::Domain(error)) => error.into(),
            rejection => Failure::Rejected(rejection),
        }
    }
}
