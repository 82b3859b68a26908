//! What the server writes to standard error: one line per request, and what operators should know.
//!
//! - Every request of a known caller within its rate limit has exactly one line, written by [`request`]: the generated glue
//!   calls it once the answer is known. So has any other request, and one beyond the limit, until a quota of lines is used
//!   up ([`Quotas`]). Requests that no route takes never reach the glue; their line is made from what dropshot logs about
//!   them ([`for_framework`]).
//! - Messages and fields are exactly those of [docs/logs.md](../../docs/logs.md): a test reads both.
//! - A line names the operation's route (`/api/v1/products/{productId}`), never the path or query that was sent: a path may
//!   hold the secret of a share link, and a query may hold anything. If no route took the request, the line has the path,
//!   without what may be secret (`path.rs`). Bodies and credentials are never logged; a caller is named by the id of its key
//!   or user. No caller can make a line as long as it likes: a method that HTTP does not have is `other`.
//! - A thread of its own writes the lines, behind a bounded queue: JSON in `lines`, text for a terminal by `slog-async`. A
//!   request must not wait for a reader of the log, so when the queue is full, lines are dropped, and a later one says how
//!   many. Nothing that must be proven later is kept in the log alone.
//! - A panic is a line like any other ([`panics`]), so that the log consists of lines alone.

mod beginning;
mod counts;
mod json;
mod lines;
mod output;
mod path;
mod quotas;
mod request;
mod span;
mod throttle;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use openapi_dropshot_runtime::forwarded;
use opentelemetry::trace::TraceId;
use slog::{Drain, KV, Key, Level, Logger, Record, Serializer, debug, error, o};

use crate::client_address::behind;
use crate::settings::{Settings, TrustedProxies};

use beginning::{Beginning, JsonAtOnce};
use output::Output;

pub use beginning::Begun;
pub use lines::dropped_lines;
pub use output::{Controls, Guard};
pub use quotas::Quotas;
pub use request::{Caller, ErrorCode, NothingChanged, Request, request};
pub(crate) use span::span;
pub use throttle::Throttle;

/// Does the same as [`to_standard_error`], except that lines are written at once until [`Begun::set`].
///
/// # Errors
/// When the system cannot start a thread to write with.
pub fn to_standard_error_at_once(settings: &Settings) -> io::Result<(Logger, Guard, Begun)> {
    let (after, guard) = to_standard_error(settings)?;
    let before = match output::is_for_a_terminal(settings.log_format) {
        true => {
            let decorator = slog_term::TermDecorator::new().stderr().build();
            let format = slog_term::FullFormat::new(decorator).build().ignore_res();
            Logger::root(Mutex::new(format).ignore_res(), o!())
        }
        false => Logger::root(JsonAtOnce, o!()),
    };
    let begun = Begun::default();
    let beginning = Beginning {
        level: output::least_severe(settings.log_level),
        before,
        after,
        begun: begun.clone(),
    };
    Ok((Logger::root(beginning, o!()), guard, begun))
}

/// Returns a logger to standard error. Dropping the guard writes what is still queued.
///
/// # Errors
/// When the system cannot start a thread to write with.
pub fn to_standard_error(settings: &Settings) -> io::Result<(Logger, Guard)> {
    let output = Output::new(settings.log_level, settings.log_format)?;
    let guard = Guard::of(&output);
    Ok((Logger::root(output, o!()), guard))
}

/// From now on, writes a line for each panic instead of the standard library's plain text, as far as the `quotas` have room. It
/// has the place, and the text if the panic has one; the glue, which answers the request, names it.
pub fn panics(log: &Logger, quotas: Arc<Quotas>) {
    let log = log.clone();
    std::panic::set_hook(Box::new(move |panic| {
        if !quotas.admit_failure(true) {
            return;
        }
        let place = panic.location().map(ToString::to_string);
        error!(log, "panic"; "place" => place, "panic" => panic.payload_as_str());
    }));
}

/// Returns a logger to hand to dropshot, which passes on to `log` the lines that are worth it.
///
/// dropshot gives every request a logger that carries its whole URI, and writes several lines with it. Whatever is written
/// through such a logger loses these values here and keeps only the request id.
pub fn for_framework(log: &Logger) -> Logger {
    let log = log.clone();
    Logger::root(Framework::new(log, None), o!())
}

/// Does the same for a server that strangers can reach. `refused` is called for each request that dropshot answers itself,
/// whether or not its line is written, and returns its trace.
pub fn for_public_framework(
    log: &Logger,
    quotas: Arc<Quotas>,
    trusted_proxies: TrustedProxies,
    refused: impl Fn(&Request<'_>) -> Option<TraceId> + Send + Sync + 'static,
) -> Logger {
    let public = Some(Public {
        quotas,
        trusted_proxies,
        refused: AssertUnwindSafe(Box::new(refused)),
    });
    let log = log.clone();
    Logger::root(Framework::new(log, public), o!())
}

/// Filters dropshot's lines before they cost anything.
struct Framework {
    log: Logger,
    public: Option<Public>,
    /// Connections that could not be accepted: strangers can cause that by using up the open files.
    missed: Throttle,
}

struct Public {
    quotas: Arc<Quotas>,
    trusted_proxies: TrustedProxies,
    /// It counts and sends spans, and a panic leaves neither inconsistent.
    refused: AssertUnwindSafe<Box<TellRefused>>,
}

type TellRefused = dyn Fn(&Request<'_>) -> Option<TraceId> + Send + Sync;

impl Public {
    /// Returns the client behind this peer, from the internal message of the error. A proxy stands for its clients, and
    /// names them in a header, which only errors raised before the router report: for others only the proxy is known.
    fn client(&self, peer: IpAddr, why: &str) -> Option<IpAddr> {
        match forwarded(why) {
            _ if !self.trusted_proxies.contains(peer) => Some(peer),
            Some(list) => {
                let lines = std::iter::once(list.as_bytes());
                Some(behind(peer, lines, &self.trusted_proxies))
            }
            None => None,
        }
    }
}

impl Drain for Framework {
    type Ok = ();
    type Err = slog::Never;

    fn log(&self, record: &Record<'_>, values: &slog::OwnedKVList) -> Result<(), slog::Never> {
        let message = record.msg().as_str().unwrap_or_default();
        if !record.module().starts_with("dropshot") {
            self.forward(record, values);
        } else if message == "request completed" {
            self.refused_by_router(record, values);
        } else if record.level().is_at_least(Level::Warning)
            && !message.starts_with("request ")
            // Logged for a request that is refused before the router, which has its own line anyway.
            && message != "failed to determine request API version"
        {
            let text = record.msg().to_string();
            if text.starts_with("tls accept err") {
                // Anyone who connects can cause it, so it must not fill the log.
                debug!(self.log, "{text}");
            } else if text.starts_with("accept error") {
                if let Some(count) = self.missed.again() {
                    self.log.new(o!("count" => count)).log(record);
                }
            } else {
                self.forward(record, values);
            }
        }
        Ok(())
    }
}

impl Framework {
    fn new(log: Logger, public: Option<Public>) -> Self {
        let missed = Throttle::default();
        Self {
            log,
            public,
            missed,
        }
    }

    /// Writes the line as it is, with the request's id, but without its other values.
    fn forward(&self, record: &Record<'_>, values: &slog::OwnedKVList) {
        match Values::of(record, values).request_id {
            Some(id) => self.log.new(o!("request_id" => id)).log(record),
            None => self.log.log(record),
        }
    }

    /// Writes the line of a request that dropshot answered itself. Only such an answer has an error message: the glue turns
    /// its own errors into answers.
    fn refused_by_router(&self, record: &Record<'_>, values: &slog::OwnedKVList) {
        let mut refused = Refused(None);
        // It takes every value, so this cannot fail.
        let _ = record.kv().serialize(record, &mut refused);
        let Some(why) = refused.0 else {
            return; // All other requests come by here, too, and need nothing more.
        };
        let values = Values::of(record, values);
        let of_public = self.public.as_ref().zip(values.peer);
        let client_address = of_public.and_then(|(public, peer)| public.client(peer, &why));
        let mut line = Request {
            method: &values.method,
            route: None,
            path: Some(&values.uri),
            status: values.status,
            error_code: None,
            bytes: None,
            latency: Duration::from_micros(values.latency_us),
            // dropshot makes one for each request.
            request_id: values.request_id.as_deref().unwrap_or_default(),
            changes: false,
            caller: Caller::Unknown,
            client_address,
            trace_id: None,
        };
        if let Some(public) = &self.public {
            line.trace_id = (public.refused)(&line);
        }
        let admitted = of_public.is_none_or(|(public, peer)| {
            // If only the proxy is known, the request counts as its own.
            public.quotas.admit(client_address.unwrap_or(peer), &line)
        });
        if admitted {
            request(&self.log, &line);
        }
    }
}

/// The values taken from dropshot's lines; all others are dropped.
#[derive(Default)]
struct Values {
    method: String,
    uri: String,
    status: u16,
    latency_us: u64,
    request_id: Option<String>,
    peer: Option<IpAddr>,
}

impl Values {
    fn of(record: &Record<'_>, values: &slog::OwnedKVList) -> Self {
        let mut found = Self::default();
        // `found` takes every value, so this cannot fail.
        let _ = record.kv().serialize(record, &mut found);
        let _ = values.serialize(record, &mut found);
        found
    }
}

impl Serializer for Values {
    fn emit_arguments(&mut self, key: Key, value: &std::fmt::Arguments<'_>) -> slog::Result {
        match key.as_ref() {
            "method" => self.method = value.to_string(),
            "uri" => self.uri = value.to_string(),
            "response_code" => self.status = value.to_string().parse().unwrap_or_default(),
            "latency_us" => self.latency_us = value.to_string().parse().unwrap_or_default(),
            "req_id" => self.request_id = Some(value.to_string()),
            "remote_addr" => {
                let peer = value.to_string().parse::<SocketAddr>().ok();
                self.peer = peer.map(|it| it.ip().to_canonical());
            }
            _ => {}
        }
        Ok(())
    }
}

/// The internal message of an error, if there is one among the values.
struct Refused(Option<String>);

impl Serializer for Refused {
    fn emit_arguments(&mut self, key: Key, value: &std::fmt::Arguments<'_>) -> slog::Result {
        if key.as_ref() == "error_message_internal" {
            self.0 = Some(value.to_string());
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "log/tests.rs"]
mod tests;
