//! Why a request does not succeed.

use openapi_dropshot_runtime::Rejection;

use crate::admin::Shortage;
use crate::domain;
use crate::limit::Verdict;
use crate::log::Caller;

/// What a caller authenticates with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// The key of an integration.
    ApiKey,
    /// The token of a signed-in device.
    AccessToken,
    /// The cookie of a browser in which a user is signed in.
    Cookie,
}

/// Why a request does not succeed, except for what its document rules out. Callers are boxed, so that results stay small.
#[derive(Debug)]
pub enum Error {
    /// An error of the service itself.
    Domain(domain::Error),
    /// The caller has not proven who it is.
    Unauthenticated {
        /// What should have been presented.
        credential: Credential,
        /// Whether anything was.
        sent: bool,
    },
    /// The server is too busy, or about to stop.
    Overloaded(Shortage),
    /// The caller has used up its quota.
    RateLimited {
        /// The limiter's verdict.
        verdict: Verdict,
        /// Who it is, for the log.
        who: Box<Caller>,
    },
    /// There is not enough of something for this caller.
    Short {
        /// Of what.
        shortage: Shortage,
        /// The limiter's verdict, if there is one.
        verdict: Option<Verdict>,
        /// Who it is, for the log.
        who: Box<Caller>,
    },
    /// An interceptor has ended the request.
    Intercepted {
        /// What it is answered with.
        error: domain::Error,
        /// The limiter's verdict, if there is one.
        verdict: Option<Verdict>,
        /// Who it is, for the log.
        who: Box<Caller>,
    },
}

impl Error {
    /// Returns what there is not enough of, if that is why.
    pub(super) fn shortage(&self) -> Option<Shortage> {
        match self {
            Error::Overloaded(shortage) => Some(*shortage),
            Error::Short { shortage, .. } => Some(*shortage),
            _ => None,
        }
    }
}

impl From<domain::Error> for Rejection<Error> {
    fn from(error: domain::Error) -> Rejection<Error> {
        Rejection::Error(Error::Domain(error))
    }
}
