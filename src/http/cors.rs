//! CORS: lets pages of other origins call the published operations and read the documents (docs/decisions.md, O1 to O5).
//!
//! 1. A browser asks before it sends a credential: OPTIONS with `Access-Control-Request-Method`, the preflight. If its
//!    origin is allowed, it is answered with the methods of that path and the headers that operations read, instead of the
//!    405 that OPTIONS gets otherwise ([`Cors::preflight`]). It needs no credential, and reveals nothing that the documents
//!    do not.
//! 2. An answer to an allowed origin says so, and which of its headers the page may read ([`Cors::allow`]).
//! 3. No answer has `Access-Control-Allow-Credentials`, and no cookie is read: a page has the rights of the credential that
//!    it holds itself, and no others.
//! 4. Without the setting, none of this applies, and no answer depends on `Origin`.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW,
    CONTENT_TYPE, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use http::{Method, Response, StatusCode};
use openapi_dropshot_runtime::{Location, Operation, header_value};

use crate::generated::{catalog, mobile};
use crate::settings::CorsOrigins;

/// For how many seconds a browser need not ask again: the most that Chromium accepts.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

/// The allowed origins, and what their pages are told.
pub(super) struct Cors {
    origins: CorsOrigins,
    /// The headers that operations read.
    read: HeaderValue,
    /// The headers that answers carry.
    sent: HeaderValue,
}

impl Cors {
    /// Returns `None` if no origin is allowed.
    pub(super) fn new(origins: &CorsOrigins) -> Option<Cors> {
        let operations = || catalog::OPERATIONS.iter().chain(mobile::OPERATIONS);
        (*origins != CorsOrigins::None).then(|| Cors {
            origins: origins.clone(),
            read: list(
                operations().flat_map(|it| read(it)),
                &["Authorization", "Content-Type"],
            ),
            sent: list(
                operations().flat_map(|it| sent(it)),
                &["ETag", "x-request-id"],
            ),
        })
    }

    /// Step 1: if the request is a preflight of an allowed origin, turns `answer`, a 405 with `Allow`, into its answer.
    pub(super) fn preflight(
        &self,
        method: &Method,
        request: &HeaderMap,
        answer: &mut Response<Bytes>,
    ) {
        let asks = method == Method::OPTIONS && request.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if !asks || self.allowed(request).is_none() {
            return;
        }
        *answer.status_mut() = StatusCode::NO_CONTENT;
        *answer.body_mut() = Bytes::new();
        let headers = answer.headers_mut();
        headers.remove(CONTENT_TYPE);
        if let Some(methods) = headers.remove(ALLOW) {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        }
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, self.read.clone());
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    }

    /// Step 2.
    pub(super) fn allow(&self, request: &HeaderMap, answer: &mut HeaderMap) {
        if self.origins != CorsOrigins::Any {
            // Even if the origin is not allowed: a cache must not give that answer to one that is.
            answer.append(VARY, HeaderValue::from_static("Origin"));
        }
        if let Some(origin) = self.allowed(request) {
            answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, self.sent.clone());
        }
    }

    /// Returns the value of `Access-Control-Allow-Origin`, if the origin is allowed.
    fn allowed(&self, request: &HeaderMap) -> Option<HeaderValue> {
        let mut origins = request.get_all(ORIGIN).iter();
        let origin = origins.next().filter(|_| origins.next().is_none())?;
        match &self.origins {
            CorsOrigins::Any => Some(HeaderValue::from_static("*")),
            listed => listed.contains(origin.as_bytes()).then(|| origin.clone()),
        }
    }
}

/// The names of the headers that an operation reads.
fn read(operation: &Operation) -> impl Iterator<Item = &'static str> {
    let headers = operation.parameters.iter();
    let headers = headers.filter(|it| it.location == Location::Header);
    headers.map(|it| it.name)
}

/// The names of the headers that its answers carry.
fn sent(operation: &Operation) -> impl Iterator<Item = &'static str> {
    let answers = operation.errors.iter().chain([&operation.success]);
    answers.flat_map(|it| it.headers).map(|it| it.name)
}

/// Lists each of these names once.
fn list(of_documents: impl Iterator<Item = &'static str>, more: &[&'static str]) -> HeaderValue {
    let names: BTreeSet<_> = of_documents.chain(more.iter().copied()).collect();
    header_value(names.into_iter().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_of_the_documents_are_listed_each_once() {
        let cors = Cors::new(&CorsOrigins::Any).unwrap();
        assert_eq!(
            cors.read,
            "Authorization, Content-Type, Idempotency-Key, X-Team-Id"
        );
        for name in ["Location", "RateLimit", "Retry-After", "x-request-id"] {
            let sent = cors.sent.to_str().unwrap();
            assert_eq!(
                sent.split(", ").filter(|it| *it == name).count(),
                1,
                "{sent}"
            );
        }
    }

    #[test]
    fn without_the_setting_there_is_nothing() {
        assert!(Cors::new(&CorsOrigins::None).is_none());
    }
}
