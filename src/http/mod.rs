//! The published interface over HTTP: the generated traits, implemented on [`App`].
//!
//! Nothing is decided here and nothing is stored here. What a request passes through, in this order
//! (decisions.md, "Both APIs"), and where it is:
//!
//! 1. whether it is written as a route is (404), and the method (405), by the runtime and the generated registration;
//! 2. who calls (401), unless the server has enough to do (503, `slots`), then how often (429): `credential`;
//! 3. whether the caller may, by scope or membership (403), then the request itself (413, 415, 408,
//!    400), then what the service has to say (404, 409): the handlers in `product`, `session` and
//!    `link`, each named after its operationId;
//! 4. whatever is not a success becomes an answer in `error`, and only there.

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

use std::sync::Arc;
use std::time::Duration;

use codegen_runtime::{Methods, Operation};
use dropshot::{ApiDescription, ApiDescriptionRegisterError, Body};
use http::header::{CONNECTION, HeaderValue, STRICT_TRANSPORT_SECURITY};
use http::{Response, Version};
use slog::Logger;

use crate::app::App;
use crate::client_address::client_address;
use crate::generated::{catalog, mobile};
use crate::limit::Limits;
use crate::log;
use crate::operations::Operations;
use crate::settings::{Settings, TrustedProxies};

pub use error::Error;
use rehearsal::Rehearsal;
use slots::Slots;

/// What all requests share.
pub struct Context {
    app: Arc<App>,
    limits: Limits,
    slots: Slots,
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

/// What is done with every answer of a published operation: it is counted, and goes the way of all answers.
fn answered(
    context: &RequestContext,
    operation: &'static Operation,
    answer: &mut Response<Body>,
    latency: Duration,
) {
    let metrics = &context.context().operations.metrics;
    metrics.answered(operation.id, answer.status(), latency);
    send_off(context, operation.path, answer, latency);
}

/// The way of all answers: over TLS, browsers may be told to stay with it; while the server drains, the connection ends with
/// the answer; and it has a line in the log.
fn send_off(
    context: &RequestContext,
    route: &'static str,
    answer: &mut Response<Body>,
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
