//! What can go wrong with a call, as one enum.
//!
//! An answer that is not a success becomes an error by its body, whatever its status: the Error
//! object of the APIs ([`ApiError`]), the error of the token endpoint ([`OAuthError`]), or neither
//! ([`UnexpectedResponse`]), as when a proxy answers in the service's place.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use crate::code::{Code, OAuthCode};
use crate::openapi::{catalog, mobile};
use crate::retry::retry_after;
use crate::types::{ErrorDetail, ErrorType};

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
///     Ok(product) => println!("created {}", *product.id),
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

    /// The error in an answer that is not a success.
    pub(crate) fn from_answer(status: StatusCode, headers: &HeaderMap, body: &Bytes) -> Error {
        if let Ok(answer) = serde_json::from_slice::<catalog::types::ErrorResponse>(body) {
            return Error::Api(Box::new(ApiError::new(status, headers, answer.error)));
        }
        if let Ok(answer) = serde_json::from_slice::<mobile::types::TokenError>(body) {
            return Error::OAuth(Box::new(OAuthError::new(status, headers, answer)));
        }
        let reason = "the body is not the error that the document describes".to_owned();
        Error::UnexpectedResponse(Box::new(UnexpectedResponse {
            status: Some(status),
            request_id: request_id(headers),
            retry_after: retry_after(headers),
            body: body.clone(),
            reason,
        }))
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
            Error::Renewal(_) => f.write_str("the session could not be renewed"),
            Error::Store(_) => f.write_str("the renewed session could not be stored"),
            Error::InvalidRequest(error) => error.fmt(f),
            Error::Timeout(_) => f.write_str("no answer came in time"),
            Error::Transport(_) => f.write_str("the connection failed"),
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
        let unexpected = |status, headers: &HeaderMap, body, reason: String| {
            Error::UnexpectedResponse(Box::new(UnexpectedResponse {
                status,
                request_id: request_id(headers),
                retry_after: retry_after(headers),
                body,
                reason,
            }))
        };
        match error {
            Generated::InvalidRequest(reason) | Generated::Custom(reason) => {
                Error::InvalidRequest(InvalidRequest::new("request", reason))
            }
            Generated::CommunicationError(error)
            | Generated::ResponseBodyError(error)
            | Generated::InvalidUpgrade(error) => Error::from_transport(error),
            Generated::UnexpectedResponse(answer) => match crate::transport::refusal(&answer) {
                Some(error) => error,
                None => unexpected(
                    Some(answer.status()),
                    answer.headers(),
                    Bytes::new(),
                    "the document lists no such answer".to_owned(),
                ),
            },
            Generated::ErrorResponse(answer) => unexpected(
                Some(answer.status()),
                answer.headers(),
                Bytes::new(),
                "the answer was not read by this crate's hooks".to_owned(),
            ),
            // A success may hold secrets, so its body stays out of the error.
            Generated::InvalidResponsePayload(_, error) => {
                unexpected(None, &HeaderMap::new(), Bytes::new(), error.to_string())
            }
        }
    }
}

/// A refusal by the API: its Error object, and what came with it.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use invoicing_client::{Client, Code, Error};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Error> {
/// # let stub = Stub::start(|_| Reply::error(404, "not_found_error", "product_not_found"));
/// # let base_url = stub.url();
/// let client = Client::builder(base_url).api_key("inv_test_...").build()?;
/// let id = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49";
/// let Err(Error::Api(error)) = client.products().get(id).send().await else { panic!() };
/// assert_eq!(error.code, Code::ProductNotFound);
/// assert_eq!(error.status, 404);
/// eprintln!("{error}; to the support: {}", error.request_id);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiError {
    /// The status of the answer.
    pub status: StatusCode,
    /// The class of the refusal.
    pub error_type: ErrorType,
    /// What exactly it is.
    pub code: Code,
    /// The same for a reader, in English.
    pub message: String,
    /// All violations of the request, when `error_type` is a validation error.
    pub details: Vec<ErrorDetail>,
    /// The id under which the service logged the call.
    pub request_id: String,
    /// How long to wait before the next call; with 429 and 503.
    pub retry_after: Option<Duration>,
    /// Whether an earlier attempt of the same call may have been executed although no answer to it
    /// came, so that this answer may be about its effect.
    pub after_lost_answer: bool,
}

impl ApiError {
    fn new(status: StatusCode, headers: &HeaderMap, error: catalog::types::Error) -> ApiError {
        ApiError {
            status,
            error_type: error.type_,
            code: Code::from(error.code.as_str()),
            message: error.message.into(),
            details: error.details.unwrap_or_default(),
            request_id: error.request_id.into(),
            retry_after: retry_after(headers),
            after_lost_answer: false,
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}: {}",
            self.status.as_u16(),
            self.code,
            self.message
        )?;
        for detail in &self.details {
            write!(f, "; {} {}", *detail.path, *detail.message)?;
        }
        write!(f, " (request {})", self.request_id)
    }
}

impl std::error::Error for ApiError {}

/// A refusal by the token endpoint (RFC 6749, section 5.2).
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use invoicing_client::{Client, Error, OAuthCode, Pkce};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Error> {
/// # let stub = Stub::start(|_| Reply::oauth_error(400, "invalid_grant"));
/// # let (base_url, code, pkce) = (stub.url(), "late", Pkce::generate());
/// let client = Client::builder(base_url).build()?;
/// let exchanged = client
///     .sessions()
///     .exchange_code(code, pkce.verifier(), "com.example.app:/signed-in", "mobile-app")
///     .send()
///     .await;
/// let Err(Error::OAuth(error)) = exchanged else { panic!() };
/// assert_eq!(error.code, OAuthCode::InvalidGrant);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OAuthError {
    /// The status of the answer.
    pub status: StatusCode,
    /// What it is about.
    pub code: OAuthCode,
    /// The same for a reader, in English.
    pub description: String,
    /// The id under which the service logged the call.
    pub request_id: String,
    /// How long to wait before the next call; with 429 and 503.
    pub retry_after: Option<Duration>,
}

impl OAuthError {
    fn new(status: StatusCode, headers: &HeaderMap, error: mobile::types::TokenError) -> Self {
        OAuthError {
            status,
            code: OAuthCode::from(error.error.as_str()),
            description: error.error_description.into(),
            request_id: error.request_id.into(),
            retry_after: retry_after(headers),
        }
    }
}

impl fmt::Display for OAuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (status, request_id) = (self.status.as_u16(), &self.request_id);
        write!(
            f,
            "{status} {}: {} (request {request_id})",
            self.code, self.description
        )
    }
}

impl std::error::Error for OAuthError {}

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

/// An answer that the documents do not describe, such as a proxy's error page.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use invoicing_client::{Client, Error};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Error> {
/// # let stub = Stub::start(|_| Reply::new(502).body("<h1>Bad gateway</h1>"));
/// # let base_url = stub.url();
/// let client = Client::builder(base_url).api_key("inv_test_...").build()?;
/// let listed = client.products().list().send().await;
/// let Err(Error::UnexpectedResponse(answer)) = listed else { panic!() };
/// assert_eq!(answer.status.unwrap(), 502);
/// assert_eq!(answer.body, "<h1>Bad gateway</h1>");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnexpectedResponse {
    /// The status of the answer; none for a success whose body is not of its schema.
    pub status: Option<StatusCode>,
    /// The id under which the service logged the call, if the answer named one.
    pub request_id: Option<String>,
    /// How long the answer asked to wait before the next call.
    pub retry_after: Option<Duration>,
    /// The body of the answer; empty for a success, which may hold secrets.
    pub body: Bytes,
    /// Why it is unexpected.
    pub reason: String,
}

impl fmt::Display for UnexpectedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Enough to recognize an error page by.
        const SHOWN: usize = 200;
        write!(f, "unexpected answer")?;
        if let Some(status) = self.status {
            write!(f, " {}", status.as_u16())?;
        }
        write!(f, ": {}", self.reason)?;
        if !self.body.is_empty() {
            let start = &self.body[..self.body.len().min(SHOWN)];
            write!(f, "; it begins {:?}", String::from_utf8_lossy(start))?;
        }
        match &self.request_id {
            Some(request_id) => write!(f, " (request {request_id})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnexpectedResponse {}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("x-request-id")?.to_str().ok()?;
    Some(value.to_owned())
}
