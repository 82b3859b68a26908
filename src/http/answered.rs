//! Counts, logs and sends every answer.

use std::time::Duration;

use bytes::Bytes;
use dropshot::Body;
use http::header::{CONNECTION, HeaderValue, STRICT_TRANSPORT_SECURITY};
use http::{Method, Response, StatusCode, Version};
use http_body::Body as _;
use openapi_dropshot_runtime::{ErrorAnswer, Operation, Rejection};
use serde::Serialize;

use super::compression::compress;
use super::context::RequestContext;
use super::credential;
use super::rate_limit::RATE_LIMIT_HEADERS;
use super::rejection::Error;
use super::rest::Rest;
use super::span;
use crate::admin::{NO_METHOD, PREFLIGHT, Shortage};
use crate::client_address::client_address;
use crate::domain::holder::Bearer;
use crate::{log, traffic};

/// Adds the headers that let pages of other origins read an answer of a published operation, if any may; it is then
/// [`sent`].
pub(super) fn answered<E: Serialize>(
    context: &RequestContext,
    operation: &'static Operation,
    mut answer: Response<Bytes>,
    latency: Duration,
    overloaded: impl FnOnce(Rejection<Error>) -> ErrorAnswer<E>,
) -> Response<Body> {
    let headers = context.request.headers();
    let cors = context.context().cors.as_ref();
    if let Some(cors) = cors {
        cors.preflight(context.request.method(), headers, &mut answer);
    }
    let overloaded = |rejection| overloaded(rejection).into_response();
    // An answer that no operation made counts for none: it would distort what metrics say of the operation's latency.
    let name = match answer.status() {
        StatusCode::METHOD_NOT_ALLOWED => NO_METHOD,
        _ if context.request.method() == Method::OPTIONS => PREFLIGHT,
        _ => operation.id,
    };
    let of = (operation.path, name);
    let mut answer = sent(context, of, answer, latency, overloaded);
    if let Some(cors) = cors {
        cors.allow(headers, answer.headers_mut());
    }
    answer
}

/// Counts, logs and sends an answer of this route; `name` is its name in metrics. `overloaded` makes the answer that
/// replaces it when the caller leaves too much unread, unless it reports something that has happened: the caller must not
/// believe that it has not.
pub(super) fn sent(
    context: &RequestContext,
    (route, name): (&'static str, &'static str),
    mut answer: Response<Bytes>,
    latency: Duration,
    overloaded: impl FnOnce(Rejection<Error>) -> Response<Bytes>,
) -> Response<Body> {
    let shared = context.context();
    let bearer = answer.extensions().get().copied();
    let bearer = bearer.unwrap_or_else(|| Bearer::from(credential::stranger(context)));
    let under_way = answer.extensions().get::<traffic::Request>().is_some();
    let rest = answer.extensions_mut().remove::<Rest>();
    if rest.is_none() {
        compress(context.request.headers(), &mut answer);
    }
    let is_refused = answer.status().is_client_error() || answer.status().is_server_error();
    let has_happened = !context.request.method().is_safe() && !is_refused;
    let bytes = std::mem::take(answer.body_mut());
    let unsent = match rest {
        Some(_) => &shared.unsent.of_download(),
        None => &shared.unsent,
    };
    let body = match has_happened {
        true => Some(unsent.body_anyway(bearer, bytes, under_way)),
        false => unsent.body(bearer, bytes, under_way),
    };
    let body = body.unwrap_or_else(|| {
        let failure = overloaded(Rejection::Error(Error::Overloaded(Shortage::Answers)));
        let bytes = put_in_place(failure, &mut answer);
        shared.unsent.body_anyway(bearer, bytes, under_way)
    });
    let body = match rest.filter(|_| answer.status().is_success()) {
        Some(rest) => rest.after(body, unsent, bearer, under_way),
        None => body,
    };
    let metrics = &shared.replica.metrics;
    metrics.answered(name, answer.status(), latency);
    let mut answer = answer.map(|_| body);
    finish(context, route, &mut answer, latency);
    answer
}

/// Replaces an answer by a failure, and returns the failure's body. The answer keeps its caller, and the headers that tell
/// where the caller stands with its limit (docs/decisions.md, R2); the other headers were about the old body.
fn put_in_place(failure: Response<Bytes>, answer: &mut Response<Bytes>) -> Bytes {
    let (head, bytes) = failure.into_parts();
    let code = head.extensions.get::<log::ErrorCode>().copied();
    if let Some(code) = code {
        answer.extensions_mut().insert(code);
    }
    let mut headers = head.headers;
    for name in RATE_LIMIT_HEADERS {
        if let Some(value) = answer.headers_mut().remove(&name) {
            headers.insert(name, value);
        }
    }
    *answer.status_mut() = head.status;
    *answer.headers_mut() = headers;
    bytes
}

/// Does what all answers have in common: over TLS, it may tell browsers to stay with it; while the server drains, it closes
/// the connection with the answer; and it writes the line in the log.
pub(super) fn finish(
    context: &RequestContext,
    route: &'static str,
    answer: &mut Response<Body>,
    latency: Duration,
) {
    if let Some(hsts) = &context.context().hsts {
        let headers = answer.headers_mut();
        headers.insert(STRICT_TRANSPORT_SECURITY, hsts.clone());
    }
    // HTTP/2 has no such header: its GOAWAY says the same.
    if context.context().replica.draining() && context.request.version() <= Version::HTTP_11 {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
    }
    let (request, shared) = (&context.request, context.context());
    let caller = answer.extensions().get().copied();
    let caller = caller.unwrap_or(log::Caller::Unknown);
    let peer = request.remote_addr().ip();
    let client_address = client_address(peer, request.headers(), &shared.trusted_proxies);
    let bytes = match *request.method() {
        Method::HEAD => Some(0),
        _ => answer.body().size_hint().exact(),
    };
    let place = span::place(context);
    let line = log::Request {
        method: request.method().as_str(),
        route: Some(route),
        path: None,
        status: answer.status().as_u16(),
        error_code: answer.extensions().get().copied(),
        bytes,
        latency,
        request_id: &context.request_id,
        changes: !request.method().is_safe()
            && answer.status().is_success()
            && answer.extensions().get::<log::NothingChanged>().is_none(),
        caller,
        client_address: Some(client_address),
        trace_id: place.as_ref().map(|(_, place)| place.trace_id()),
    };
    shared.replica.quotas.request(&shared.log, &line);
    if let Some((traces, place)) = place {
        traces.tell(&place, || span::of(context, &line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_answer_keeps_only_where_the_caller_stands() {
        let mut answer = Response::builder()
            .status(StatusCode::CREATED)
            .header("content-type", "application/json")
            .header("location", "/api/v1/products/1")
            .header("idempotency-replayed", "true")
            .header("ratelimit", "\"default\";r=1;t=1")
            .header("ratelimit-policy", "\"default\";q=2;w=1")
            .extension(log::Caller::Unknown)
            .body(Bytes::from_static(b"a product"))
            .unwrap();
        let failure = Response::builder()
            .status(StatusCode::SERVICE_UNAVAILABLE)
            .header("content-type", "application/json")
            .header("retry-after", "1")
            .extension(log::ErrorCode("unavailable"))
            .body(Bytes::from_static(b"later"))
            .unwrap();
        assert_eq!(put_in_place(failure, &mut answer), "later");
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        let mut names: Vec<_> = answer.headers().keys().map(|name| name.as_str()).collect();
        names.sort_unstable();
        let kept = [
            "content-type",
            "ratelimit",
            "ratelimit-policy",
            "retry-after",
        ];
        assert_eq!(names, kept);
        assert!(answer.extensions().get::<log::Caller>().is_some());
        let code = answer.extensions().get::<log::ErrorCode>();
        assert_eq!(code.map(|it| it.0), Some("unavailable"));
    }
}
