//! How a request ends that is not answered by a success.
//!
//! - [`RequestError`]: what the runtime itself finds wrong with a request. It knows the violations, but not the
//!   document's words for it.
//! - [`Rejection`]: one of those, or an error of the service's own, so that `?` works in a handler for
//!   both.
//! - [`ErrorAnswer`]: a complete error answer: status, headers and the body that the document describes. A
//!   hook of the generated trait makes one of each rejection, and nothing else does.

use std::borrow::Cow;
use std::fmt::Display;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Extensions, Method, StatusCode};
use serde::Serialize;

use crate::violation::{Violation, Violations, constraint};

/// Why the runtime does not hand a request to the handler, or could not finish it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// What was judged.
    pub cause: Cause,
    /// What is wrong, for the caller; empty for [`Cause::Internal`].
    pub violations: Violations,
}

/// What a [`RequestError`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A path parameter is out of its schema (400).
    Path,
    /// A query parameter is missing, unknown, repeated or out of its schema (400).
    Query,
    /// A header is missing, repeated or out of its schema (400).
    Header,
    /// The body is not written as it should be, or out of its schema (400).
    Body,
    /// The path does not have the method (405).
    Method,
    /// The body did not arrive in time (408).
    Timeout,
    /// The body is too large (413).
    TooLarge,
    /// The body is of another media type (415).
    MediaType,
    /// A mistake of the service, which the log tells about (500).
    Internal,
}

impl Cause {
    /// The status of the answer.
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
    /// `Ok` when nothing is wrong.
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

    /// The body is not of a media type that is read; `message` says of which it must be.
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

/// A complete error answer.
#[derive(Clone, Debug)]
pub struct ErrorAnswer<E> {
    /// The status, 400 to 599.
    pub status: StatusCode,
    /// The headers besides those that every answer has.
    pub headers: HeaderMap,
    /// Notes for the hook that is told of the answer, which finds them among its extensions.
    pub notes: Extensions,
    /// The body that the document describes.
    pub body: E,
}

impl<E> ErrorAnswer<E> {
    /// An error answer without headers of its own.
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
    /// When the text cannot be the value of a header: a mistake of the caller.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: impl Display) -> ErrorAnswer<E> {
        self.headers.insert(name, header_value(value));
        self
    }
}

/// A value of a header.
///
/// # Panics
/// When the text has control characters. What a handler sends is its own or has been checked, so this
/// is a mistake of the handler; the glue answers it, like every panic, as an internal error.
pub fn header_value(value: impl Display) -> HeaderValue {
    // Without the value, which may be a secret: a panic is logged.
    HeaderValue::try_from(value.to_string())
        .unwrap_or_else(|_| panic!("the text of a header has control characters"))
}

/// The text of a header, of a value that is a scalar in JSON.
///
/// # Panics
/// As for [`header_value`]; also for what is no scalar, which the generator does not write.
pub fn header_of(value: &impl Serialize) -> HeaderValue {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => header_value(text),
        Ok(scalar) => header_value(scalar),
        Err(error) => panic!("a header cannot have this value: {error}"),
    }
}

/// Why a handler does not answer a success. `E` is the service's own error.
///
/// For `?` on that error, the service says `impl From<E> for Rejection<E>`: that cannot be said here,
/// since `E` might be [`RequestError`].
#[derive(Debug)]
pub enum Rejection<E> {
    /// The request does not pass the document.
    Request(RequestError),
    /// The service says no.
    Error(E),
}

impl<E> From<RequestError> for Rejection<E> {
    fn from(error: RequestError) -> Rejection<E> {
        Rejection::Request(error)
    }
}
