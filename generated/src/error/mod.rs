//! What can go wrong with a call, as one enum.
//!
//! A response that is not a success becomes an error according to its body, whatever its status: the
//! Error object of the APIs ([`ApiError`]), the error of the token endpoint ([`OAuthError`]), or neither
//! ([`UnexpectedResponse`]), as when a proxy responds in the service's place.

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

use crate::code::Code;
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
    /// The API refused the call: occurs for every response with an Error object, whatever its status.
    /// What to do depends on its [`code`](ApiError::code).
    Api(Box<ApiError>),
    /// The token endpoint refused a code or a refresh token: occurs only in calls of
    /// [`Sessions`](crate::sessions::Sessions).
    OAuth(Box<OAuthError>),
    /// The session is over, and the user has to sign in again: occurs in calls of a client with a
    /// [session](crate::Client::with_session), once the service has refused to renew it or another
    /// process has ended it. Further calls do not contact the service.
    SignedOut,
    /// The session could not be renewed now: occurs in calls of a client with a session if the access
    /// token has expired, and the service or the store failed. The next call tries again; all calls that
    /// waited for the renewal share the reason.
    Renewal(Arc<Error>),
    /// The program's [`SessionStore`](crate::SessionStore) failed: occurs as the reason of a
    /// [`Renewal`](Error::Renewal), and in [`TokenSource::open`](crate::TokenSource::open).
    Store(Box<dyn std::error::Error + Send + Sync>),
    /// An input was invalid, and nothing was sent: occurs in `build`, and in `send` for the inputs of a
    /// call. Names the input.
    InvalidRequest(InvalidRequest),
    /// No response arrived within the timeout: occurs once all attempts are used up. The service may have
    /// executed the call.
    Timeout(reqwest::Error),
    /// The connection could not be made, or broke before the whole response had arrived: occurs once all
    /// attempts are used up, or at once if the other side speaks another protocol.
    Transport(reqwest::Error),
    /// The documents do not describe the response: occurs if something in front of the service responds,
    /// such as a proxy or a captive portal, and if a success does not match its schema.
    UnexpectedResponse(Box<UnexpectedResponse>),
}

impl Error {
    /// Returns the status of the response, if there was one.
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

    /// Returns the id under which the service logged the call, if it responded: quote it when asking for
    /// help.
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

    /// Returns how long the service asked to wait before the next call.
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

    /// Returns all headers of the response, if there was one.
    ///
    /// ```
    /// use invoicing_client::Error;
    ///
    /// assert!(Error::SignedOut.headers().is_none());
    /// ```
    pub fn headers(&self) -> Option<&HeaderMap> {
        match self {
            Error::Api(error) => Some(&error.headers),
            Error::OAuth(error) => Some(&error.headers),
            Error::UnexpectedResponse(error) => error.status.map(|_| &error.headers),
            Error::Renewal(error) => error.headers(),
            _ => None,
        }
    }

    /// Returns whether the service has nothing under the requested id: no such product, or no such file
    /// or folder. A proxy's 404 page does not count.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::start(|_| Reply::error(404, "not_found_error", "product_not_found"));
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// # let id = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49";
    /// let product = match client.products().get(id).send().await {
    ///     Err(error) if error.is_not_found() => None,
    ///     result => Some(result?),
    /// };
    /// assert!(product.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_not_found(&self) -> bool {
        let Error::Api(error) = self else {
            return false;
        };
        matches!(error.code, Code::ProductNotFound | Code::ItemNotFound)
    }

    /// Returns whether the same call may succeed later: there was no response, or one that says that the
    /// service is busy or unavailable. The client has already tried as often as its
    /// [`RetryPolicy`](crate::RetryPolicy) allows; wait for at least [`retry_after`](Error::retry_after).
    /// This does not tell whether the call has been executed: repeat a write under the same idempotency
    /// key.
    ///
    /// ```
    /// use invoicing_client::{Client, Error};
    ///
    /// let error = Client::builder("no url").build().unwrap_err();
    /// assert!(!error.is_retryable());
    /// assert!(!Error::SignedOut.is_retryable());
    /// ```
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::Timeout(_) => true,
            Error::Transport(error) => !is_permanent(error),
            Error::Renewal(error) => error.is_retryable(),
            _ => matches!(
                self.status().map(|it| it.as_u16()),
                Some(408 | 429 | 502 | 503 | 504)
            ),
        }
    }

    /// The error in a response that is not a success in JSON.
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
            // Only the caller's base URL or header can make a request impossible to build.
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

/// Converts what is left of [`progenitor_client::Error`] once the hooks of `transport` have turned every
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
            // A success may contain secrets, so its body stays out of the error.
            Generated::InvalidResponsePayload(_, reason) => {
                let (none, body) = (HeaderMap::new(), Bytes::new());
                unexpected(UnexpectedResponse::new(None, &none, body, reason))
            }
        }
    }
}

/// An input that was invalid, so nothing was sent.
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
    /// The input, by the name of its method or argument.
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
