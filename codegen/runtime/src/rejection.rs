//! Errors: how a request ends without a success.
//!
//! - [`RequestError`]: what the runtime itself finds wrong with a request. It has the violations, but not in
//!   the document's form.
//! - [`Rejection`]: one of those, or an error of the service's own, so that `?` works for both in a handler.
//! - [`ErrorAnswer`]: a complete error response: status, headers and the body that the document describes. A
//!   hook of the generated trait makes one from each rejection, and nothing else does.

use std::borrow::Cow;
use std::fmt::Display;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Extensions, Method, StatusCode};
use serde::Serialize;

use crate::violation::{Violation, Violations, constraint};

/// Why the runtime does not pass a request to the handler, or could not finish it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// What was checked.
    pub cause: Cause,
    /// What is wrong, for the caller; empty for [`Cause::Internal`].
    pub violations: Violations,
}

/// What a [`RequestError`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A path parameter does not match its schema (400).
    Path,
    /// A query parameter is missing, unknown, repeated or does not match its schema (400).
    Query,
    /// A header is missing, repeated or does not match its schema (400).
    Header,
    /// The body has a syntax error, or does not match its schema (400).
    Body,
    /// The path does not have the method (405).
    Method,
    /// The body did not arrive in time (408).
    Timeout,
    /// The body is too large (413).
    TooLarge,
    /// The body is of another media type (415).
    MediaType,
    /// A bug in the service, which the log reports (500).
    Internal,
}

impl Cause {
    /// Returns the status of the response.
    pub fn status(self) -> StatusCode {
        match self {
            Cause::Path | Cause::Query | Cause::Header | Cause::Body => StatusCode::BAD_REQUEST,
            Cause::Method => StatusCode::METHOD_NOT_ALLOWED,
            Cause::Timeout => StatusCode::REQUEST_TIMEOUT,
            Cause::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Cause::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Cause::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl RequestError {
    /// Returns `Ok` if nothing is wrong.
    pub(crate) fn unless_empty(cause: Cause, violations: Violations) -> Result<(), RequestError> {
        if violations.is_empty() {
            Ok(())
        } else {
            Err(RequestError { cause, violations })
        }
    }

    pub(crate) fn internal() -> RequestError {
        RequestError {
            cause: Cause::Internal,
            violations: Violations::default(),
        }
    }

    pub(crate) fn too_large(limit: usize) -> RequestError {
        RequestError::of_body(
            Cause::TooLarge,
            constraint::MAX_BYTES,
            format!("must have at most {limit} bytes"),
        )
    }

    pub(crate) fn timeout(seconds: u64) -> RequestError {
        RequestError::of_body(
            Cause::Timeout,
            constraint::TIMEOUT,
            format!("must be complete {seconds} seconds after the headers"),
        )
    }

    /// The body is not of a supported media type; `message` says which it must be.
    pub fn media_type(message: impl Into<Cow<'static, str>>) -> RequestError {
        RequestError::of_body(Cause::MediaType, constraint::CONTENT_TYPE, message)
    }

    pub(crate) fn method(method: &Method, allowed: &str) -> RequestError {
        let message = format!("must be one of {allowed}, but is {method}");
        RequestError::of_body(Cause::Method, constraint::METHOD, message)
    }

    fn of_body(
        cause: Cause,
        constraint: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> RequestError {
        RequestError {
            cause,
            violations: Violation::new("", constraint, message).into(),
        }
    }
}

/// A complete error response.
#[derive(Clone, Debug)]
pub struct ErrorAnswer<E> {
    /// The status, 400 to 599.
    pub status: StatusCode,
    /// The headers besides those that every response has.
    pub headers: HeaderMap,
    /// Notes for the hook that gets the response, which finds them among its extensions.
    pub notes: Extensions,
    /// The body that the document describes.
    pub body: E,
}

impl<E> ErrorAnswer<E> {
    /// Creates an error response without headers of its own.
    pub fn new(status: StatusCode, body: E) -> ErrorAnswer<E> {
        ErrorAnswer {
            status,
            headers: HeaderMap::new(),
            notes: Extensions::new(),
            body,
        }
    }

    /// Adds a header.
    ///
    /// # Panics
    /// If the text is not a valid header value: a mistake of the calling code.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: impl Display) -> ErrorAnswer<E> {
        self.headers.insert(name, header_value(value));
        self
    }
}

/// Returns a header value.
///
/// # Panics
/// If the text has control characters. What a handler sends is its own or has been checked, so this is a bug in
/// the handler; the glue turns it, like every panic, into an internal error.
pub fn header_value(value: impl Display) -> HeaderValue {
    // Without the value, which may be a secret: a panic is logged.
    HeaderValue::try_from(value.to_string())
        .unwrap_or_else(|_| panic!("the text of a header has control characters"))
}

/// Returns the text of a header, for a value that is a scalar in JSON.
///
/// # Panics
/// As for [`header_value`]; also for a value that is not a scalar, which the generator does not write.
pub fn header_of(value: &impl Serialize) -> HeaderValue {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => header_value(text),
        Ok(scalar) => header_value(scalar),
        Err(error) => panic!("a header cannot have this value: {error}"),
    }
}

/// Why a handler does not return a success. `E` is the service's own error.
///
/// To use `?` on that error, the service writes `impl From<E> for Rejection<E>`: a generic one here is not
/// possible, since `E` might be [`RequestError`].
#[derive(Debug)]
pub enum Rejection<E> {
    /// The request does not conform to the document.
    Request(RequestError),
    /// The service refuses or fails.
    Error(E),
}

impl<E> From<RequestError> for Rejection<E> {
    fn from(error: RequestError) -> Rejection<E> {
        Rejection::Request(error)
    }
}
