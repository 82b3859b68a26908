//! What can go wrong with a call, as one enum.
//!
//! An answer that is not a success becomes an error by its body, whatever its status: the Error
//! object of the APIs ([`ApiError`]), the error of the token endpoint ([`OAuthError`]), or neither
//! ([`UnexpectedResponse`]), as when a proxy answers in the service's place.

mod answer;
mod connection;

pub use answer::{ApiError, OAuthError, UnexpectedResponse};
pub(crate) use connection::is_permanent;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use crate::openapi::{catalog, mobile};

/// Why a call failed.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use invoicing_client::{Client, Code, Error};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Error> {
/// # let stub = Stub::start(|_| Reply::error(409, "conflict_error", "duplicate_sku"));
/// # let base_url = stub.url();
/// let client = Client::builder(base_url).api_key("inv_test_...").build()?;
/// let created = client.products().create("Consulting", "120.00", "EUR").sku("C-1").send().await;
/// match created {
///     Ok(product) => println!("created {}", product.id),
///     Err(Error::Api(error)) if error.code == Code::DuplicateSku => println!("C-1 exists already"),
///     Err(error) => return Err(error),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The API refused the call.
    Api(Box<ApiError>),
    /// The token endpoint refused the exchange.
    OAuth(Box<OAuthError>),
    /// The session is over: the user has to sign in again.
    SignedOut,
    /// The session could not be renewed now; the reason is shared by all calls that waited for it.
    Renewal(Arc<Error>),
    /// The user's [`SessionStore`](crate::SessionStore) failed to keep a renewed session.
    Store(Box<dyn std::error::Error + Send + Sync>),
    /// An input was found wrong before anything was sent.
    InvalidRequest(InvalidRequest),
    /// No answer came within the client's timeout.
    Timeout(reqwest::Error),
    /// The connection could not be made or broke.
    Transport(reqwest::Error),
    /// The answer is none that the documents describe.
    UnexpectedResponse(Box<UnexpectedResponse>),
}

impl Error {
    /// The status of the answer, if there was one.
    ///
    /// ```
    /// use invoicing_client::Error;
    ///
    /// assert_eq!(Error::SignedOut.status(), None);
    /// ```
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Error::Api(error) => Some(error.status),
            Error::OAuth(error) => Some(error.status),
            Error::UnexpectedResponse(error) => error.status,
            Error::Renewal(error) => error.status(),
            _ => None,
        }
    }

    /// The id under which the service logged the call, if it answered: name it when asking for help.
    ///
    /// ```
    /// use invoicing_client::Error;
    ///
    /// assert_eq!(Error::SignedOut.request_id(), None);
    /// ```
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Error::Api(error) => Some(&error.request_id),
            Error::OAuth(error) => Some(&error.request_id),
            Error::UnexpectedResponse(error) => error.request_id.as_deref(),
            Error::Renewal(error) => error.request_id(),
            _ => None,
        }
    }

    /// How long the service asked to wait before the next call.
    ///
    /// ```
    /// use invoicing_client::Error;
    ///
    /// assert_eq!(Error::SignedOut.retry_after(), None);
    /// ```
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Error::Api(error) => error.retry_after,
            Error::OAuth(error) => error.retry_after,
            Error::UnexpectedResponse(error) => error.retry_after,
            Error::Renewal(error) => error.retry_after(),
            _ => None,
        }
    }

    /// The error in an answer that is not a success in JSON.
    pub(crate) fn from_answer(status: StatusCode, headers: &HeaderMap, body: &Bytes) -> Error {
        if let Ok(answer) = serde_json::from_slice::<catalog::types::ErrorResponse>(body) {
            return Error::Api(Box::new(ApiError::new(status, headers, answer.error)));
        }
        if let Ok(answer) = serde_json::from_slice::<mobile::types::TokenError>(body) {
            return Error::OAuth(Box::new(OAuthError::new(status, headers, answer)));
        }
        let reason = match status.is_success() {
            true => "the body is not JSON",
            false => "the body is not the error that the document describes",
        };
        let answer = UnexpectedResponse::new(Some(status), headers, body.clone(), reason);
        Error::UnexpectedResponse(Box::new(answer))
    }

    pub(crate) fn from_transport(error: reqwest::Error) -> Error {
        if error.is_timeout() {
            Error::Timeout(error)
        } else if error.is_builder() {
            // Only a base URL or a header of the caller can make a request that cannot be built.
            Error::InvalidRequest(InvalidRequest::new("request", error))
        } else {
            Error::Transport(error)
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Api(error) => error.fmt(f),
            Error::OAuth(error) => error.fmt(f),
            Error::SignedOut => f.write_str("the session is over: the user has to sign in again"),
            Error::Renewal(error) => write!(f, "the session could not be renewed: {error}"),
            Error::Store(error) => write!(f, "the renewed session could not be stored: {error}"),
            Error::InvalidRequest(error) => error.fmt(f),
            Error::Timeout(_) => f.write_str("no answer came in time"),
            Error::Transport(error) => connection::tell(error, f),
            Error::UnexpectedResponse(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Renewal(error) => Some(error.as_ref()),
            Error::Store(error) => Some(error.as_ref()),
            Error::Timeout(error) | Error::Transport(error) => Some(error),
            _ => None,
        }
    }
}

/// What is left of [`progenitor_client::Error`] once the hooks of `transport` have turned every
/// refusal into an `UnexpectedResponse` with its body beside it.
impl<E> From<progenitor_client::Error<E>> for Error {
    fn from(error: progenitor_client::Error<E>) -> Error {
        use progenitor_client::Error as Generated;
        let unexpected = |answer| Error::UnexpectedResponse(Box::new(answer));
        let unlisted = |status, headers: &HeaderMap| {
            let reason = "the document lists no such answer";
            unexpected(UnexpectedResponse::new(
                Some(status),
                headers,
                Bytes::new(),
                reason,
            ))
        };
        match error {
            Generated::InvalidRequest(reason) | Generated::Custom(reason) => {
                Error::InvalidRequest(InvalidRequest::new("request", reason))
            }
            Generated::CommunicationError(error)
            | Generated::ResponseBodyError(error)
            | Generated::InvalidUpgrade(error) => Error::from_transport(error),
            Generated::UnexpectedResponse(answer) => crate::transport::refusal(&answer)
                .unwrap_or_else(|| unlisted(answer.status(), answer.headers())),
            Generated::ErrorResponse(answer) => unlisted(answer.status(), answer.headers()),
            // A success may hold secrets, so its body stays out of the error.
            Generated::InvalidResponsePayload(_, reason) => {
                let (none, body) = (HeaderMap::new(), Bytes::new());
                unexpected(UnexpectedResponse::new(None, &none, body, reason))
            }
        }
    }
}

/// An input that was found wrong before anything was sent.
///
/// ```
/// use invoicing_client::{Client, Error};
///
/// let Err(Error::InvalidRequest(error)) = Client::builder("invoices.example").build() else { panic!() };
/// assert_eq!(error.field, "base_url");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidRequest {
    /// The input, by the name of the method or argument that takes it.
    pub field: &'static str,
    /// Why it is not acceptable.
    pub reason: String,
}

impl InvalidRequest {
    pub(crate) fn new(field: &'static str, reason: impl fmt::Display) -> InvalidRequest {
        InvalidRequest {
            field,
            reason: reason.to_string(),
        }
    }
}

impl fmt::Display for InvalidRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not acceptable: {}", self.field, self.reason)
    }
}

impl std::error::Error for InvalidRequest {}

impl From<InvalidRequest> for Error {
    fn from(error: InvalidRequest) -> Error {
        Error::InvalidRequest(error)
    }
}
