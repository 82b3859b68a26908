//! The published interface over HTTP: the generated traits, implemented on [`App`].
//!
//! Nothing is decided here and nothing is stored here. What a request passes through, in this order
//! (docs/decisions.md, B1), and where it is:
//!
//! 1. whether it has too many headers (431) or is framed in a doubtful way (400), by the runtime; whether it is written
//!    as a route is (404), and the method (405), by the runtime and the generated registration;
//! 2. who calls (401), unless the server has enough to do (503, `slots`) or nobody wants to know any more (429), then how
//!    often (429): `credential`;
//! 3. whether the caller may, by scope or membership (403), then the request itself (413, 415, 408,
//!    400), then what the service has to say (404, 409): the handlers in `product`, `session` and
//!    `link`, each named after its operationId, and `received` for the body;
//! 4. whatever is not a success becomes an answer in `error`, and only there;
//! 5. the answer waits to be sent in `unsent`, which bounds what callers leave unread.

mod credential;
mod docs;
mod document;
mod error;
mod link;
mod product;
pub(crate) mod rehearsal;
mod session;
pub(crate) mod sign_in;
mod slots;
mod unpublished;
mod unsent;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use codegen_runtime::{Failure, Methods, Operation, Rejection, Request, Unchecked, json};
use dropshot::{ApiDescription, ApiDescriptionRegisterError, Body, RequestInfo};
use http::header::{CONNECTION, HeaderValue, STRICT_TRANSPORT_SECURITY};
use http::{Response, Version};
use serde::Serialize;
use slog::Logger;

use crate::app::App;
use crate::budget::Budget;
use crate::client_address::client_address;
use crate::domain::holder::Holder;
use crate::generated::{catalog, mobile};
use crate::limit::Limits;
use crate::log;
use crate::operations::Operations;
use crate::settings::{Settings, TrustedProxies};
use crate::traffic;

pub use error::Error;
use rehearsal::Rehearsal;
use slots::{Slot, Slots};
use unsent::Unsent;

/// What all requests share.
pub struct Context {
    app: Arc<App>,
    limits: Limits,
    slots: Slots,
    /// The bodies that are on their way, and the heads of their requests.
    bodies: Arc<Budget>,
    unsent: Unsent,
    trusted_proxies: TrustedProxies,
    operations: Arc<Operations>,
    hsts: Option<HeaderValue>,
    log: Logger,
    rehearsal: Option<Box<dyn Rehearsal>>,
}

/// A request as dropshot hands it over.
type RequestContext = dropshot::RequestContext<Context>;

impl Context {
    /// The state of a server of `app`; requests are logged to `log`.
    pub async fn new(
        app: Arc<App>,
        settings: &Settings,
        operations: Arc<Operations>,
        log: &Logger,
    ) -> Context {
        Context {
            app,
            limits: Limits::start(settings, &operations.metrics.limits, log).await,
            slots: Slots::new(settings.max_concurrent_requests),
            bodies: Budget::new(settings.transfer_bytes()),
            unsent: Unsent::new(settings.transfer_bytes(), Arc::clone(&operations.traffic)),
            trusted_proxies: settings.trusted_proxies.clone(),
            operations,
            hsts: settings.hsts(),
            log: log.clone(),
            rehearsal: None,
        }
    }

    /// The same, but requests get the answers that they ask for by this rehearsal.
    pub(crate) fn rehearsing(self, rehearsal: impl Rehearsal + 'static) -> Context {
        Context {
            rehearsal: Some(Box::new(rehearsal)),
            ..self
        }
    }
}

/// The implementation of the generated traits.
pub enum Service {}

/// What a server answers.
pub struct Api {
    /// Every method of every path.
    pub endpoints: ApiDescription<Context>,
    /// What is said to methods that nobody knows.
    pub methods: Methods,
}

/// Everything that the server answers: both published interfaces, their documents, and pages that show them.
///
/// # Errors
/// When two endpoints are in each other's way, which a test shows.
pub fn api() -> Result<Api, ApiDescriptionRegisterError> {
    let mut api = Api {
        endpoints: ApiDescription::new(),
        methods: Methods::default(),
    };
    catalog::register::<Service>(&mut api.endpoints)?;
    api.methods.add_published(catalog::OPERATIONS);
    mobile::register::<Service>(&mut api.endpoints)?;
    api.methods.add_published(mobile::OPERATIONS);
    document::register(&mut api)?;
    docs::register(&mut api)?;
    Ok(api)
}

/// What a request holds for as long as its body is on the way, besides its head and body: the stream or the buffers of its
/// connection, and what waits for it. Measured over HTTP/2: 12 KB in a release build, 20 KB in a debug build, and a part of
/// what a connection takes.
const WAITING: usize = 24 * 1024;

/// What a header holds meanwhile, besides its name and value: dropshot has all of them twice, 104 bytes each, and h2 a
/// piece of memory for each name and value.
const HEADER: usize = 300;

/// The most bytes of memory that the head of a request takes while its body is on the way, with what waits for that.
fn price_of_head(request: &RequestInfo) -> usize {
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len() + HEADER);
    // What was asked for stands in the logger of the request once more.
    let uri = request.uri();
    let path_and_query = uri.path().len() + uri.query().map_or(0, str::len);
    WAITING + 2 * path_and_query + headers.sum::<usize>()
}

/// The request, once its body is there and all of it has passed the document, with a slot to work on it.
///
/// # Errors
/// [`Error::Overloaded`] when `holder` has too many requests on the way, or there is no slot for it; otherwise what is wrong with
/// the request.
async fn received<R: Request>(
    context: &RequestContext,
    holder: Holder,
    request: Unchecked<R>,
) -> Result<(R, Slot), Rejection<Error>> {
    let (request, (), slot) = received_noting(context, holder, request, |_, _| ()).await?;
    Ok((request, slot))
}

/// The same, and what `note` makes of the request and of its body as it came.
///
/// # Errors
/// As of [`received`].
async fn received_noting<R: Request, T>(
    context: &RequestContext,
    holder: Holder,
    request: Unchecked<R>,
    note: impl FnOnce(&R, &json::Value<'_>) -> T,
) -> Result<(R, T, Slot), Rejection<Error>> {
    let shared = context.context();
    let _on_its_way = match request.expected_bytes() {
        0 => None,
        bytes => {
            let bytes = bytes + price_of_head(&context.request);
            let charge = shared.bodies.charge(holder, bytes);
            Some(charge.ok_or(Rejection::Error(Error::Overloaded))?)
        }
    };
    let (request, noted) = request.check_noting(note).await?;
    let slot = shared.slots.take(holder).map_err(Rejection::Error)?;
    Ok((request, noted, slot))
}

/// What is done with every answer of a published operation: it is counted, logged and sent. `overloaded` is what takes
/// its place when the caller leaves too much unread, unless it tells of something that has happened: nobody may believe
/// that it has not.
fn answered<E: Serialize>(
    context: &RequestContext,
    operation: &'static Operation,
    mut answer: Response<Bytes>,
    latency: Duration,
    overloaded: impl FnOnce(Rejection<Error>) -> Failure<E>,
) -> Response<Body> {
    let shared = context.context();
    let holder = answer.extensions().get().copied();
    let holder = holder.unwrap_or_else(|| credential::stranger(context));
    let under_way = answer.extensions().get::<traffic::Request>().is_some();
    let has_happened = !operation.method.is_safe() && answer.status().is_success();
    let bytes = std::mem::take(answer.body_mut());
    let body = match has_happened {
        true => Some(shared.unsent.body_anyway(holder, bytes, under_way)),
        false => shared.unsent.body(holder, bytes, under_way),
    };
    let body = body.unwrap_or_else(|| {
        let failure = overloaded(Rejection::Error(Error::Overloaded)).into_response();
        let bytes = put_in_place(failure, &mut answer);
        shared.unsent.body_anyway(holder, bytes, under_way)
    });
    let metrics = &shared.operations.metrics;
    metrics.answered(operation.id, answer.status(), latency);
    finish(context, operation.path, &mut answer, latency);
    answer.map(|_| body)
}

/// Puts a failure in the place of an answer, and gives its body. What stays is whose the answer is, and where the caller
/// stands with its limit (docs/decisions.md, R2); what else the headers said was about the other body.
fn put_in_place(failure: Response<Bytes>, answer: &mut Response<Bytes>) -> Bytes {
    let (head, bytes) = failure.into_parts();
    let mut headers = head.headers;
    for name in credential::RATE_LIMIT_HEADERS {
        if let Some(value) = answer.headers_mut().remove(&name) {
            headers.insert(name, value);
        }
    }
    *answer.status_mut() = head.status;
    *answer.headers_mut() = headers;
    bytes
}

/// What all answers have in common: over TLS, browsers may be told to stay with it; while the server drains, the connection
/// ends with the answer; and it has a line in the log.
fn finish<B>(
    context: &RequestContext,
    route: &'static str,
    answer: &mut Response<B>,
    latency: Duration,
) {
    if let Some(hsts) = &context.context().hsts {
        let headers = answer.headers_mut();
        headers.insert(STRICT_TRANSPORT_SECURITY, hsts.clone());
    }
    // HTTP/2 has no such header, and says goodbye by itself.
    if context.context().operations.draining() && context.request.version() <= Version::HTTP_11 {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
    }
    let (request, shared) = (&context.request, context.context());
    let caller = answer.extensions().get().copied();
    let caller = caller.unwrap_or(log::Caller::Unknown);
    let client_address = (caller == log::Caller::Unknown).then(|| {
        let peer = request.remote_addr().ip();
        client_address(peer, request.headers(), &shared.trusted_proxies)
    });
    let line = log::Request {
        method: request.method().as_str(),
        route: Some(route),
        status: answer.status().as_u16(),
        latency,
        request_id: &context.request_id,
        caller,
        client_address,
    };
    shared.operations.strangers.request(&shared.log, &line);
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    #[test]
    fn of_an_answer_that_another_takes_the_place_of_stays_where_the_caller_stands_and_nothing_else()
    {
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
    }
}
