//! What a replica reports to its operators, on a listener of its own (`--operations-listen`), apart from the published
//! interface.
//!
//! - `/healthz` is 200 as long as the process answers. It checks nothing else: a restart does not help a process whose
//!   database is down.
//! - `/readyz` is 200 while requests should be sent here: the database answers within a second, has every
//!   migration that this binary knows, takes changes (`src/app/health.rs`), and the server is not draining. Otherwise it is
//!   503, and its body says which of these fails: `{"ready":false,"failing":["database"]}`; the others are `migrations`,
//!   `writes` and `draining`.
//! - `/metrics` has the counters in the text format of Prometheus ([`metrics`]).
//!
//! Draining, which a balancer needs to take a replica away without a failed request:
//!
//! 1. The server is asked to stop. `/readyz` turns 503, and everything else goes on as before, for as long as the balancer
//!    takes to notice (`drain_delay`).
//! 2. Meanwhile every HTTP/1 answer carries `Connection: close`, so that no client sends a request on a connection just as
//!    the server closes it.
//! 3. Then the server stops, by the steps of [`crate::server`].
//!
//! Each takes GET, or HEAD for the headers alone. They answer even when the process cannot open another file
//! (`listener.rs`): the database is asked over a connection that is already open.
//!
//! The listener does not speak TLS and asks for no credential: it belongs on an address that only operators can reach.

mod listener;
pub mod metrics;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt as _;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Response, StatusCode};
use serde_json::{Value, json};
use slog::{Logger, info};

use crate::app::App;
use crate::app::health::HealthProblem;
use crate::log::Quotas;
use crate::start_error::StartError;
use crate::traffic::Traffic;
use listener::Request;
use metrics::Metrics;
pub use metrics::Shortage;
pub(crate) use metrics::{FILE, NO_METHOD, PREFLIGHT};

pub use listener::Listener;

/// What a replica knows about itself.
#[derive(Default)]
pub struct ReplicaState {
    draining: AtomicBool,
    /// What is under way, which the server waits for before it stops.
    pub(crate) traffic: Arc<Traffic>,
    /// The counters.
    pub metrics: Metrics,
    /// The quotas of log lines that callers may cause.
    pub quotas: Arc<Quotas>,
}

impl ReplicaState {
    /// Step 1.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the server was asked to stop.
    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// Starts the listener on `address`.
///
/// # Errors
/// [`StartError`], whose text is for the person who starts the program.
pub fn listen(
    address: SocketAddr,
    app: Arc<App>,
    replica: Arc<ReplicaState>,
    log: &Logger,
) -> Result<Listener, StartError> {
    let answer = move |request| answer(request, Arc::clone(&app), Arc::clone(&replica)).boxed();
    let listener = Listener::start(address, Arc::new(answer), log.clone());
    let listener = listener.map_err(|source| StartError::Listen {
        option: "--operations-listen",
        address,
        source,
    })?;
    let url = format!("http://{}", listener.local_addr());
    info!(log, "listening for operators"; "url" => url);
    Ok(listener)
}

/// Answers any request. Answers to HEAD are sent without their body.
async fn answer(request: Request, app: Arc<App>, replica: Arc<ReplicaState>) -> Response<String> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let refused = json!({ "message": "only GET and HEAD are answered here" });
        let mut answer = said(StatusCode::METHOD_NOT_ALLOWED, &refused);
        let methods = HeaderValue::from_static("GET, HEAD");
        answer.headers_mut().insert(ALLOW, methods);
        return answer;
    }
    match request.uri().path() {
        "/healthz" => said(StatusCode::OK, &json!({ "alive": true })),
        "/readyz" => readyz(&app, &replica).await,
        "/metrics" => metrics(app, replica).await,
        _ => {
            let pages = json!({ "message": "there are /healthz, /readyz and /metrics here" });
            said(StatusCode::NOT_FOUND, &pages)
        }
    }
}

/// Returns the page of metrics. Making it takes a moment and reads files, which must not hold up requests.
async fn metrics(app: Arc<App>, replica: Arc<ReplicaState>) -> Response<String> {
    let page = tokio::task::spawn_blocking(move || {
        let ReplicaState {
            metrics, traffic, ..
        } = &*replica;
        metrics.page(&app, traffic)
    });
    match page.await {
        Ok(page) => answered(StatusCode::OK, metrics::CONTENT_TYPE, page),
        // A bug: like every panic, it has its line in the log.
        Err(_) => {
            let failed = json!({ "message": "the metrics cannot be told" });
            said(StatusCode::INTERNAL_SERVER_ERROR, &failed)
        }
    }
}

/// Answers whether requests should be sent here.
async fn readyz(app: &App, replica: &ReplicaState) -> Response<String> {
    // At once: a slow database would use up the time in which a balancer has to see it.
    let health = match replica.draining() {
        true => Ok(()),
        false => app.check_health().await,
    };
    let failing = match health {
        Ok(()) if replica.draining() => "draining",
        Ok(()) => return said(StatusCode::OK, &json!({ "ready": true })),
        Err(HealthProblem::Database) => "database",
        Err(HealthProblem::Migrations) => "migrations",
        Err(HealthProblem::Writes) => "writes",
    };
    let body = json!({ "ready": false, "failing": [failing] });
    said(StatusCode::SERVICE_UNAVAILABLE, &body)
}

fn said(status: StatusCode, body: &Value) -> Response<String> {
    answered(status, "application/json", body.to_string())
}

fn answered(status: StatusCode, content_type: &'static str, body: String) -> Response<String> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
