//! What a replica tells those who operate it: on a listener of its own, apart from the published interface.
//!
//! - `/healthz` is 200 as long as the process answers. It asks for nothing else: a process is not made
//!   well by a restart because its database is away.
//! - `/readyz` is 200 while requests should be sent here: the database answers within a second, has every
//!   migration that this binary knows, and the server is not draining. Otherwise it is 503, and its body
//!   says which of these fails: `{"ready":false,"failing":["database"]}`.
//! - `/metrics` has the counters in the text format of Prometheus ([`metrics`]).
//!
//! Draining, which a balancer needs to take a replica away without a failed request:
//!
//! 1. The server is asked to stop. `/readyz` turns 503, and everything else goes on as before, for the
//!    time that the balancer takes to see it (`drain_delay`).
//! 2. Meanwhile every answer of HTTP/1 carries `Connection: close`, so that nobody has a connection left
//!    to send a request on at the very moment at which the server closes it.
//! 3. Then the server stops, by the steps of [`crate::server`].
//!
//! The listener does not speak TLS and asks for no credential: it belongs on an address that only the
//! operators reach.

pub mod metrics;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codegen_runtime::without_body;
use dropshot::{
    ApiDescription, Body, ConfigDropshot, HttpError, HttpServer, RequestContext, ServerBuilder,
    endpoint,
};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{Response, StatusCode};
use serde_json::json;
use slog::{Logger, info};

use crate::app::App;
use crate::app::health::Ailment;
use crate::log::{self, Strangers};
use crate::server::StartError;
use crate::traffic::Traffic;
use metrics::Metrics;

/// What a replica knows of itself.
#[derive(Default)]
pub struct Operations {
    draining: AtomicBool,
    /// What is under way, which the server waits for before it stops.
    pub(crate) traffic: Arc<Traffic>,
    /// The counters.
    pub metrics: Metrics,
    /// The lines of the log that strangers have had.
    pub strangers: Arc<Strangers>,
}

impl Operations {
    /// Step 1.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the server was asked to stop.
    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// What the endpoints here share.
pub struct Context {
    app: Arc<App>,
    operations: Arc<Operations>,
}

/// The listener; it ends when this is dropped.
pub type Listener = HttpServer<Context>;

/// Starts the listener on `address`.
///
/// # Errors
/// [`StartError`], whose text is for the person who starts the program.
pub fn listen(
    address: SocketAddr,
    app: Arc<App>,
    operations: Arc<Operations>,
    log: &Logger,
) -> Result<Listener, StartError> {
    let mut api = ApiDescription::new();
    api.register(healthz)?;
    api.register(healthz_head)?;
    api.register(readyz)?;
    api.register(readyz_head)?;
    api.register(metrics_page)?;
    api.register(metrics_head)?;
    let config = ConfigDropshot {
        bind_address: address,
        ..ConfigDropshot::default()
    };
    let context = Context { app, operations };
    let listener = ServerBuilder::new(api, context, log::for_framework(log))
        .config(config)
        .start()
        .map_err(|error| StartError::building("--operations-listen", error))?;
    let url = format!("http://{}", listener.local_addr());
    info!(log, "listening for operators"; "url" => url);
    Ok(listener)
}

type Answered = Result<Response<Body>, HttpError>;

/// Whether the process runs.
#[endpoint { method = GET, path = "/healthz", unpublished = true }]
async fn healthz(_: RequestContext<Context>) -> Answered {
    alive()
}

/// The same without its body.
#[endpoint { method = HEAD, path = "/healthz", unpublished = true }]
async fn healthz_head(_: RequestContext<Context>) -> Answered {
    alive().map(without_body)
}

fn alive() -> Answered {
    answer(StatusCode::OK, JSON, json!({ "alive": true }).to_string())
}

/// Whether requests should be sent here.
#[endpoint { method = GET, path = "/readyz", unpublished = true }]
async fn readyz(context: RequestContext<Context>) -> Answered {
    ready(context.context()).await
}

/// The same without its body.
#[endpoint { method = HEAD, path = "/readyz", unpublished = true }]
async fn readyz_head(context: RequestContext<Context>) -> Answered {
    ready(context.context()).await.map(without_body)
}

async fn ready(Context { app, operations }: &Context) -> Answered {
    let ailment = app.check_health().await.err().map(|ailment| match ailment {
        Ailment::Database => "database",
        Ailment::Migrations => "migrations",
    });
    let draining = operations.draining().then_some("draining");
    let failing: Vec<&str> = ailment.into_iter().chain(draining).collect();
    if failing.is_empty() {
        return answer(StatusCode::OK, JSON, json!({ "ready": true }).to_string());
    }
    let body = json!({ "ready": false, "failing": failing }).to_string();
    answer(StatusCode::SERVICE_UNAVAILABLE, JSON, body)
}

/// The counters.
#[endpoint { method = GET, path = "/metrics", unpublished = true }]
async fn metrics_page(context: RequestContext<Context>) -> Answered {
    counters(context.context())
}

/// The same without its body.
#[endpoint { method = HEAD, path = "/metrics", unpublished = true }]
async fn metrics_head(context: RequestContext<Context>) -> Answered {
    counters(context.context()).map(without_body)
}

fn counters(context: &Context) -> Answered {
    let page = context.operations.metrics.page();
    answer(StatusCode::OK, metrics::CONTENT_TYPE, page)
}

const JSON: &str = "application/json";

fn answer(status: StatusCode, content_type: &str, body: String) -> Answered {
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, content_type)
        .header(CACHE_CONTROL, "no-store")
        .body(Body::from(body))
        .map_err(|error| HttpError::for_internal_error(error.to_string()))
}
