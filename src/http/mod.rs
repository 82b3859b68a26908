//! The published interface over HTTP: the generated traits, implemented on [`App`].
//!
//! Nothing is decided here and nothing is stored here. What a request passes through, in this order
//! (decisions.md, "Both APIs"), and where it is:
//!
//! 1. the method (405), by the generated registration;
//! 2. who calls (401), then how often (429): `credential`;
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
mod unpublished;

use std::sync::Arc;
use std::time::Duration;

use dropshot::{ApiDescription, ApiDescriptionRegisterError, Body};
use http::Response;
use slog::Logger;

use crate::app::App;
use crate::generated::{catalog, mobile};
use crate::limit::Limits;
use crate::log;
use crate::settings::{Settings, TrustedProxies};

pub use error::Error;
use rehearsal::Rehearsal;

/// What all requests share.
pub struct Context {
    app: Arc<App>,
    limits: Limits,
    trusted_proxies: TrustedProxies,
    log: Logger,
    rehearsal: Option<Box<dyn Rehearsal>>,
}

/// A request as dropshot hands it over.
type RequestContext = dropshot::RequestContext<Context>;

impl Context {
    /// The state of a server of `app`; requests are logged to `log`.
    pub fn new(app: Arc<App>, settings: &Settings, log: &Logger) -> Context {
        Context {
            app,
            limits: Limits::new(settings),
            trusted_proxies: settings.trusted_proxies.clone(),
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

/// Everything that the server answers: both published interfaces, their documents, and pages that show them.
///
/// # Errors
/// When two endpoints are in each other's way, which a test shows.
pub fn api() -> Result<ApiDescription<Context>, ApiDescriptionRegisterError> {
    let mut api = ApiDescription::new();
    catalog::register::<Service>(&mut api)?;
    mobile::register::<Service>(&mut api)?;
    document::register(&mut api)?;
    docs::register(&mut api)?;
    Ok(api)
}

/// Writes the line of a request.
fn write_log(
    context: &RequestContext,
    route: &'static str,
    answer: &Response<Body>,
    latency: Duration,
) {
    let caller = answer.extensions().get().copied();
    log::request(
        &context.context().log,
        &log::Request {
            method: context.request.method().as_str(),
            route: Some(route),
            status: answer.status().as_u16(),
            latency,
            request_id: &context.request_id,
            caller: caller.unwrap_or(log::Caller::Unknown),
        },
    );
}
