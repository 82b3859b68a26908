//! Why a request gets no success.

use openapi_dropshot_runtime::Rejection;

use crate::admin::Shortage;
use crate::domain;
use crate::limit::Verdict;
use crate::log::Caller;

/// What a caller proves itself with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// The key of an integration.
    ApiKey,
    /// The token of a signed-in device.
    AccessToken,
    /// The cookie of a browser in which somebody is signed in.
    Cookie,
}

/// Why a caller gets no success, as far as the document does not know it already. Callers are in a box, so that results stay
/// small.
#[derive(Debug)]
pub enum Error {
    /// What the rules of the service say.
    Domain(domain::Error),
    /// The caller has not proven who it is.
    Unauthenticated {
        /// What should have been presented.
        credential: Credential,
        /// Whether anything was.
        sent: bool,
    },
    /// The server has enough to do, or is about to stop.
    Overloaded(Shortage),
    /// The caller has used up its quota.
    RateLimited {
        /// What the limiter said.
        verdict: Verdict,
        /// Who it is, for the log.
        who: Box<Caller>,
    },
    /// The caller leaves too much unread.
    Unread {
        /// What the limiter said, if there is one.
        verdict: Option<Verdict>,
        /// Who it is, for the log.
        who: Box<Caller>,
    },
    /// An interceptor has ended the request.
    Intercepted {
        /// What it is answered with.
        error: domain::Error,
        /// What the limiter said, if there is one.
        verdict: Option<Verdict>,
        /// Who it is, for the log.
        who: Box<Caller>,
    },
}

impl Error {
    /// What there is not enough of, if that is why.
    pub(super) fn shortage(&self) -> Option<Shortage> {
        match self {
            Error::Overloaded(shortage) => Some(*shortage),
            Error::Unread { .. } => Some(Shortage::Answers),
            _ => None,
        }
    }
}

impl From<domain::Error> for Rejection<Error> {
    fn from(error: domain::Error) -> Rejection<Error> {
        Rejection::Error(Error::Domain(error))
    }
}
