//! The log line of a request.

use std::net::IpAddr;
use std::time::Duration;

use openapi_dropshot_runtime::METHODS;
use opentelemetry::trace::TraceId;
use slog::{KV, Level, Logger, Record, Serializer};
use uuid::Uuid;

use super::path::shown;

/// Who made a request, as far as is known when it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    /// Not recognized.
    Unknown,
    /// An API key.
    ApiKey {
        /// Its id.
        id: Uuid,
        /// The team that it acts for.
        team: Uuid,
    },
    /// The user with this id, by an access token.
    User(Uuid),
}

/// Marks a request as a success that changed nothing, although its method otherwise does: attached to the answer.
#[derive(Clone, Copy, Debug)]
pub struct NothingChanged;

/// Why a request failed: the code in its answer, or for a page the code that it would have. Attached to the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(pub &'static str);

/// What the log records about a request. [docs/logs.md](../../../docs/logs.md) has the fields of its line.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The HTTP method, as it was sent; the line names it only if it is a standard one.
    pub method: &'a str,
    /// The path of the operation as the document writes it; `None` when no route took the request.
    pub route: Option<&'a str>,
    /// The path that was sent, for a request that no route took.
    pub path: Option<&'a str>,
    /// The status of the answer.
    pub status: u16,
    /// Why it failed.
    pub error_code: Option<ErrorCode>,
    /// The bytes of the answer's body, if they are known before it is sent.
    pub bytes: Option<u64>,
    /// From the reading of its headers to the answer.
    pub latency: Duration,
    /// The `x-request-id` of the answer.
    pub request_id: &'a str,
    /// Whether it may have changed something.
    pub changes: bool,
    /// Who made it.
    pub caller: Caller,
    /// Where it came from (`src/client_address.rs`); `None` when only a proxy is known.
    pub client_address: Option<IpAddr>,
    /// The trace that it belongs to, if traces are sent anywhere.
    pub trace_id: Option<TraceId>,
}

/// Writes the line of a request; a failure of the service (5xx) is logged as an error.
pub fn request(log: &Logger, request: &Request<'_>) {
    let message = format_args!("request");
    let values = slog::b!(*request);
    if request.status >= 500 {
        log.log(&slog::record!(Level::Error, "request", &message, values));
    } else {
        log.log(&slog::record!(Level::Info, "request", &message, values));
    }
}

/// The method for a log line. Any token is a method, and hyper accepts one of 60 KB, which would make the line as long.
pub(super) fn named(method: &str) -> &str {
    match METHODS.contains(&method) || method == "CONNECT" {
        true => method,
        false => "other",
    }
}

impl KV for Caller {
    fn serialize(&self, _: &Record<'_>, to: &mut dyn Serializer) -> slog::Result {
        let mut id = Uuid::encode_buffer();
        match self {
            Caller::Unknown => Ok(()),
            Caller::ApiKey { id: key, team } => {
                to.emit_str("key_id".into(), key.hyphenated().encode_lower(&mut id))?;
                to.emit_str("team_id".into(), team.hyphenated().encode_lower(&mut id))
            }
            Caller::User(user) => {
                to.emit_str("user_id".into(), user.hyphenated().encode_lower(&mut id))
            }
        }
    }
}

impl KV for Request<'_> {
    fn serialize(&self, record: &Record<'_>, to: &mut dyn Serializer) -> slog::Result {
        to.emit_str("method".into(), named(self.method))?;
        match self.route {
            Some(route) => to.emit_str("route".into(), route)?,
            None => to.emit_none("route".into())?,
        }
        if let Some(path) = self.path {
            to.emit_str("path".into(), &shown(path))?;
        }
        to.emit_u16("status".into(), self.status)?;
        if let Some(ErrorCode(code)) = self.error_code {
            to.emit_str("error_code".into(), code)?;
        }
        if let Some(bytes) = self.bytes {
            to.emit_u64("bytes".into(), bytes)?;
        }
        let latency = u64::try_from(self.latency.as_micros()).unwrap_or(u64::MAX);
        to.emit_u64("latency_us".into(), latency)?;
        to.emit_str("request_id".into(), self.request_id)?;
        if let Some(address) = &self.client_address {
            to.emit_str("client_address".into(), &address.to_string())?;
        }
        if let Some(trace) = &self.trace_id {
            to.emit_arguments("trace_id".into(), &format_args!("{trace}"))?;
        }
        self.caller.serialize(record, to)
    }
}
