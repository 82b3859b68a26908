//! Starts the HTTP server, and stops it without losing work under way.
//!
//! 1. Certificates are read and checked first, then the port is taken: what cannot work fails before any client connects. A
//!    connection is an open file, so the server raises its limit on open files to the most that the system allows.
//! 2. Handlers run detached from their connection: a client that hangs up does not cancel a request halfway.
//! 3. SIGHUP rereads the certificate files. Open connections keep what they negotiated. If the new files cannot be used, the
//!    log says why, and the old certificate stays. The code that starts the server may add more to reread
//!    ([`Server::rereading`]).
//! 4. SIGTERM or SIGINT: the server drains ([`crate::admin`]), for no time unless a setting gives one.
//! 5. Then no new connection is served: the system refuses it, so that its client can find another replica. Idle connections
//!    close; others close after the answer that they wait for.
//! 6. The server has stopped when all connections are closed, or nothing is under way on those that are not (`traffic.rs`):
//!    an HTTP/2 client may keep its connection open as long as it likes, and keep sending requests. From one second after
//!    the stop began, those are refused (503).
//! 7. Thirty seconds later, or at a second signal, whatever still runs is abandoned. That is safe: a change is in the store
//!    whole or not at all, and was acknowledged only if it is there.
//!
//! What dropshot does not bound: how many connections there are, and how long one stays that has not chosen an HTTP version
//! or not finished its TLS handshake. An HTTP/1 connection is closed after thirty seconds if its headers come too slowly, or
//! if it is idle between two requests. An HTTP/2 connection is not: it stays as long as its peer keeps it, idle or in the
//! middle of headers, and nothing checks that the peer is still there. hyper can ping it (`keep_alive_interval`), but does
//! not report that a connection is idle, and dropshot 0.18, the newest, has no setting for it. Where strangers connect,
//! whatever stands in front of the server has to bound them (`packaging/`). Without that, the limit on open files does: then
//! new connections wait in the kernel, and the log says so (`accept error`, once a minute) until others are closed;
//! operators are still answered ([`crate::admin`]). Requests on connections are bounded ([`crate::http`]).

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dropshot::{
    ApiDescription, ConfigDropshot, ConfigTls, HandlerTaskMode, HttpServer, ServerBuilder,
    ServerContext,
};
use http::HeaderMap;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use openapi_dropshot_runtime::Methods;
use slog::{Logger, error, info, o, warn};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::admin::ReplicaState;
use crate::listener::Listener;
use crate::settings::{Settings, TlsFiles};
use crate::start_error::StartError;
use crate::trace::Traces;
use crate::traffic::Traffic;
use crate::{log, tls};

/// How long a request may continue after the server was asked to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// How long dropshot may go on to accept connections after it was asked to close. If that is too short, it logs a warning.
const ACCEPTING: Duration = Duration::from_millis(20);

pub(crate) const STOPPED_AT_ONCE: &str = "stopped at once, as a second signal asked";

/// More than the request checks ever read, so that their own limits are the ones that count.
const BODY_MAX_BYTES: usize = 256 * 1024;

/// A running server.
pub struct Server<C: ServerContext> {
    http: HttpServer<C>,
    /// Where connections come in, if it was found.
    listener: Option<Listener>,
    signals: Signals,
    log: Logger,
    /// The files of the certificate and its key.
    tls: Option<(PathBuf, PathBuf)>,
    /// What else SIGHUP rereads.
    reread: Box<dyn Fn(&Logger) + Send + Sync>,
    /// Whether SIGHUP, which a terminal sends when it is closed, stops the server.
    stops_at_hang_up: bool,
    replica: Arc<ReplicaState>,
    drain_delay: Duration,
}

/// The signals that a server listens for, from before it starts.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal.
    async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Stop,
            _ = self.interrupt.recv() => Asked::Stop,
            _ = self.hang_up.recv() => Asked::Reload,
        }
    }

    /// Waits until the server is asked to stop.
    async fn stop(&mut self) {
        while self.next().await != Asked::Stop {}
    }
}

/// Waits for another signal to stop, once [`Server::run`] is over.
pub(crate) async fn stopped_again() {
    match Signals::listen() {
        Ok(mut signals) => signals.stop().await,
        // Then nothing cuts the rest short.
        Err(_) => std::future::pending().await,
    }
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As asked: whatever else runs has its time.
    InTurn,
    /// At once, on a second signal: nothing else is waited for.
    AtOnce,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Stop,
    Reload,
}

impl<C: ServerContext> Server<C> {
    /// Starts a server for `api`, whose paths have these methods (steps 1 and 2). `traces` receives the requests that none
    /// of them takes.
    ///
    /// # Errors
    /// [`StartError`], whose text is for the person who starts the program.
    pub fn start(
        settings: &Settings,
        api: ApiDescription<C>,
        methods: Methods,
        context: C,
        replica: Arc<ReplicaState>,
        traces: Option<Arc<Traces>>,
        log: &Logger,
    ) -> Result<Self, StartError> {
        let signals = Signals::listen().map_err(StartError::Signals)?;
        let tls = settings.tls().map(tls::load).transpose()?;
        if let Err(error) = allow_many_connections() {
            warn!(log, "the limit of open files stays as it is"; "error" => %error);
        }
        let config = ConfigDropshot {
            bind_address: settings.listen,
            default_request_body_max_bytes: BODY_MAX_BYTES,
            default_handler_task_mode: HandlerTaskMode::Detached,
            ..ConfigDropshot::default()
        };
        let quotas = Arc::clone(&replica.quotas);
        let proxies = settings.trusted_proxies.clone();
        let counts = Arc::clone(&replica);
        let over_tls = tls.is_some();
        let of_framework = log::for_public_framework(log, quotas, proxies, move |refused| {
            let metrics = &counts.metrics;
            metrics.refused_by_router(refused.status, refused.latency);
            let traces = traces.as_ref()?;
            // Its headers are not known, nor is any trace that they name.
            let place = traces.locate(refused.request_id, &HeaderMap::new());
            traces.tell(&place, || log::span(refused, over_tls, None));
            Some(place.trace_id())
        });
        let http = ServerBuilder::new(api, context, of_framework)
            .config(config)
            .version_policy(methods.into())
            .tls(tls.map(ConfigTls::Dynamic))
            .start()
            .map_err(|error| StartError::building("--listen", error))?;
        let listener = Listener::with_options(http.local_addr()).inspect_err(|error| {
            warn!(log, "the listener was not found: some responses wait 40 ms"; "error" => %error);
        });
        let files = settings
            .tls()
            .map(|files| (files.certificate.into(), files.key.into()));
        let server = Self {
            http,
            listener: listener.ok(),
            signals,
            log: log.new(o!()),
            tls: files,
            reread: Box::new(|_| ()),
            stops_at_hang_up: false,
            replica,
            drain_delay: Duration::from_secs(settings.drain_delay.into()),
        };
        info!(server.log, "listening"; "url" => server.url());
        server.tell_of_certificate();
        if server.tls.is_none() && !server.address().ip().to_canonical().is_loopback() {
            warn!(
                server.log,
                "serving in clear on an address that is not loopback: keys and tokens can be read on \
                 the way; give --tls-cert and --tls-key, or put a proxy that speaks TLS in front"
            );
        }
        Ok(server)
    }

    /// Makes SIGHUP stop the server as SIGTERM does: for a server that belongs to a terminal.
    #[must_use]
    pub fn stopping_at_hang_up(self) -> Self {
        Self {
            stops_at_hang_up: true,
            ..self
        }
    }

    /// Makes SIGHUP call `reread`, too.
    #[must_use]
    pub fn rereading(self, reread: impl Fn(&Logger) + Send + Sync + 'static) -> Self {
        Self {
            reread: Box::new(reread),
            ..self
        }
    }

    /// Returns the address that the server listens on, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.http.local_addr()
    }

    /// Returns the base URL of this server, as seen from this machine.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address())
    }

    /// Serves until the process is asked to stop, then finishes what is under way (steps 3 to 7).
    ///
    /// # Errors
    /// Why the server ended unasked: a bug.
    pub async fn run(mut self) -> Result<Ended, String> {
        let mut ended = self.http.wait_for_shutdown();
        loop {
            tokio::select! {
                asked = self.signals.next() => match asked {
                    Asked::Reload if !self.stops_at_hang_up => self.reload().await,
                    Asked::Reload | Asked::Stop => break,
                },
                result = &mut ended => {
                    return result.and(Err("the server ended without being asked to".to_owned()));
                }
            }
        }
        self.replica.drain();
        if !self.drain_delay.is_zero() {
            info!(self.log, "draining"; "seconds" => self.drain_delay.as_secs());
            tokio::select! {
                () = tokio::time::sleep(self.drain_delay) => {}
                () = self.signals.stop() => {
                    warn!(self.log, "{STOPPED_AT_ONCE}");
                    return Ok(Ended::AtOnce);
                }
            }
        }
        let traffic = Arc::clone(&self.replica.traffic);
        // A second signal must not come while nobody listens for it, so this is not waited for.
        tokio::spawn(refuse(self.listener));
        Ok(finish(self.http, &traffic, self.signals.stop(), &self.log).await)
    }

    /// Step 3.
    async fn reload(&self) {
        (self.reread)(&self.log);
        let Some((certificate, key)) = &self.tls else {
            return;
        };
        let loaded = tls::load(TlsFiles { certificate, key }).map_err(|error| error.to_string());
        let refreshed = match loaded {
            Ok(config) => self.http.refresh_tls(&ConfigTls::Dynamic(config)).await,
            Err(error) => Err(error),
        };
        match refreshed {
            Ok(()) => {
                info!(self.log, "certificate read again");
                self.tell_of_certificate();
            }
            Err(why) => error!(self.log, "the old certificate stays"; "error" => why),
        }
    }

    /// Sets the metric of when the certificate expires, and logs if that is soon or past. An expired one is still served:
    /// some clients may not check, and a server that stops helps none.
    fn tell_of_certificate(&self) {
        let Some((certificate, key)) = &self.tls else {
            return;
        };
        // It was read a moment ago, so it can be read again.
        let Ok(certificate) = tls::Certificate::inspect(TlsFiles { certificate, key }) else {
            return;
        };
        let end = certificate.ends_at();
        self.replica.metrics.certificate_ends(end);
        match certificate.ends_in(SystemTime::now()) {
            None => error!(
                self.log,
                "clients refuse the certificate: it has ended, or its time has not begun"
            ),
            Some(left) if left < tls::RENEWED_BEFORE => {
                warn!(self.log, "the certificate ends soon"; "days" => left.as_secs() / 86_400);
            }
            Some(_) => {}
        }
    }
}

/// Raises the limit on open files from what the system sets at first, often 1,024, to the most that it allows this process.
fn allow_many_connections() -> nix::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)
}

/// Step 5, once dropshot accepts no more: otherwise it would report an error.
async fn refuse(listener: Option<Listener>) {
    tokio::time::sleep(ACCEPTING).await;
    // Where it cannot be refused, a connection waits until the process ends.
    _ = listener.map(Listener::refuse);
}

/// Steps 5 to 7.
async fn finish<C: ServerContext>(
    http: HttpServer<C>,
    traffic: &Traffic,
    second_signal: impl Future<Output = ()>,
    log: &Logger,
) -> Ended {
    info!(log, "stopping: finishing what runs");
    let done = http.wait_for_shutdown();
    // Dropping it asks it to close, and releases our reference to the state that `done` waits for.
    drop(http);
    tokio::select! {
        _ = done => info!(log, "stopped"),
        () = traffic.settled() => info!(log, "stopped; idle connections were cut"),
        () = tokio::time::sleep(SHUTDOWN_TIMEOUT) => {
            warn!(log, "stopped with requests unfinished"; "seconds" => SHUTDOWN_TIMEOUT.as_secs());
        }
        () = second_signal => {
            warn!(log, "{STOPPED_AT_ONCE}");
            return Ended::AtOnce;
        }
    }
    Ended::InTurn
}

#[cfg(test)]
mod tests {
    use dropshot::{HttpError, HttpResponseOk, RequestContext, endpoint};
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpStream;
    use tokio::sync::Notify;

    use super::*;

    /// Says that it has begun, and never ends.
    #[endpoint { method = GET, path = "/" }]
    async fn endless(
        context: RequestContext<Arc<Notify>>,
    ) -> Result<HttpResponseOk<()>, HttpError> {
        context.context().notify_one();
        std::future::pending().await
    }

    #[tokio::test]
    async fn a_request_that_does_not_end_is_left_behind_after_thirty_seconds() {
        let mut api = ApiDescription::new();
        api.register(endless).unwrap();
        let begun = Arc::new(Notify::new());
        let log = Logger::root(slog::Discard, o!());
        let http = ServerBuilder::new(api, Arc::clone(&begun), log.clone())
            .start()
            .unwrap();
        let mut client = TcpStream::connect(http.local_addr()).await.unwrap();
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            .await
            .unwrap();
        begun.notified().await;

        // From here on the clock jumps to whatever is waited for.
        tokio::time::pause();
        let before = tokio::time::Instant::now();
        let traffic = Traffic::default();
        let _under_way = traffic.request().unwrap();
        finish(http, &traffic, std::future::pending(), &log).await;
        assert_eq!(before.elapsed().as_secs(), 30);
    }
}
