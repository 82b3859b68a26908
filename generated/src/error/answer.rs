//! The errors that are responses, from the service or from something in front of it.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use crate::code::{Code, OAuthCode};
use crate::openapi::{catalog, mobile};
use crate::retry::retry_after;
use crate::types::{ErrorDetail, ErrorType};

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
    /// The status of the response.
    pub status: StatusCode,
    /// The class of the refusal.
    pub error_type: ErrorType,
    /// The exact reason.
    pub code: Code,
    /// The reason in English, for people.
    pub message: String,
    /// All violations of the request, when `error_type` is a validation error.
    pub details: Vec<ErrorDetail>,
    /// The id under which the service logged the call.
    pub request_id: String,
    /// How long to wait before the next call; with 429 and 503.
    pub retry_after: Option<Duration>,
    /// All headers of the response.
    pub headers: HeaderMap,
    /// Whether an earlier attempt of the same call may have been executed although no response to
    /// it arrived, so that this response may be about its effect.
    pub after_lost_answer: bool,
}

impl ApiError {
    pub(super) fn new(
        status: StatusCode,
        headers: &HeaderMap,
        error: catalog::types::Error,
    ) -> ApiError {
        ApiError {
            status,
            error_type: error.error_type,
            code: Code::from(error.code.as_str()),
            message: error.message.into(),
            details: error.details.unwrap_or_default(),
            request_id: error.request_id.into(),
            retry_after: retry_after(headers),
            headers: headers.clone(),
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
        for (index, detail) in self.details.iter().enumerate() {
            let separator = if index == 0 { ": " } else { "; " };
            let path = match detail.path.as_str() {
                "" => "the body",
                path => path,
            };
            write!(f, "{separator}{path} {}", detail.message)?;
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
    /// The status of the response.
    pub status: StatusCode,
    /// The reason.
    pub code: OAuthCode,
    /// The reason in English, for people.
    pub description: String,
    /// The id under which the service logged the call.
    pub request_id: String,
    /// How long to wait before the next call; with 429 and 503.
    pub retry_after: Option<Duration>,
    /// All headers of the response.
    pub headers: HeaderMap,
}

impl OAuthError {
    pub(super) fn new(
        status: StatusCode,
        headers: &HeaderMap,
        error: mobile::types::TokenError,
    ) -> Self {
        OAuthError {
            status,
            code: OAuthCode::from(error.error.as_str()),
            description: error.error_description.into(),
            request_id: error.request_id.into(),
            retry_after: retry_after(headers),
            headers: headers.clone(),
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

/// A response that the documents do not describe, such as a proxy's error page.
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
    /// The status of the response; `None` for a success whose JSON does not match its schema.
    pub status: Option<StatusCode>,
    /// The id under which the service logged the call, if the response had one.
    pub request_id: Option<String>,
    /// How long the response asked to wait before the next call.
    pub retry_after: Option<Duration>,
    /// All headers of the response; empty for a success whose JSON does not match its schema.
    pub headers: HeaderMap,
    /// The body of the response; empty for a success in JSON, which may contain secrets.
    pub body: Bytes,
    /// Why it is unexpected.
    pub reason: String,
}

impl UnexpectedResponse {
    pub(super) fn new(
        status: Option<StatusCode>,
        headers: &HeaderMap,
        body: Bytes,
        reason: impl fmt::Display,
    ) -> UnexpectedResponse {
        let request_id = headers
            .get("x-request-id")
            .and_then(|value| value.to_str().ok());
        UnexpectedResponse {
            status,
            request_id: request_id.map(str::to_owned),
            retry_after: retry_after(headers),
            headers: headers.clone(),
            body,
            reason: reason.to_string(),
        }
    }
}

impl fmt::Display for UnexpectedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Enough to recognize an error page.
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
        // If the API itself finds nothing, it returns its Error object.
        if self.status == Some(StatusCode::NOT_FOUND) {
            write!(
                f,
                "; nothing is at this address: the base URL is probably wrong, which ends before /api"
            )?;
        }
        match &self.request_id {
            Some(request_id) => write!(f, " (request {request_id})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnexpectedResponse {}
