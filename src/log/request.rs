//! The line that a request has.

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
    /// Nobody that was recognized.
    Unknown,
    /// An API key.
    ApiKey {
        /// Its id.
        id: Uuid,
        /// The team that it acts for.
        team: Uuid,
    },
    /// The user of this id, by an access token.
    User(Uuid),
}

/// That a request was a success and changed nothing, although its method changes something otherwise: a note with its answer.
#[derive(Clone, Copy, Debug)]
pub struct NothingChanged;

/// Why a request was no success: the code that its answer has, or for a page what it would have. A note with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(pub &'static str);

/// What the log says about a request. [docs/logs.md](../../../docs/logs.md) has the fields of its line.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The HTTP method, as it was sent; the line names it only if it is one that HTTP has.
    pub method: &'a str,
    /// The path of the operation as the document writes it; `None` when no route took the request.
    pub route: Option<&'a str>,
    /// The path that was sent, for a request that no route took.
    pub path: Option<&'a str>,
    /// The status of the answer.
    pub status: u16,
    /// Why it is no success.
    pub error_code: Option<ErrorCode>,
    /// The bytes of the answer's body, if they are known before it is sent.
    pub bytes: Option<u64>,
    /// From when its headers were read to the answer.
    pub latency: Duration,
    /// The `x-request-id` of the answer.
    pub request_id: &'a str,
    /// Whether something may have changed by it.
    pub changes: bool,
    /// Who made it.
    pub caller: Caller,
    /// Where it came from (`src/client_address.rs`); `None` when only a proxy is known.
    pub client_address: Option<IpAddr>,
    /// The trace that it is a part of, if somebody is told of traces.
    pub trace_id: Option<TraceId>,
}

/// Writes the line of a request; what the service answers for (5xx) is an error.
pub fn request(log: &Logger, request: &Request<'_>) {
    let message = format_args!("request");
    let values = slog::b!(*request);
    if request.status >= 500 {
        log.log(&slog::record!(Level::Error, "request", &message, values));
    } else {
        log.log(&slog::record!(Level::Info, "request", &message, values));
    }
}

/// A method as a line has it. Any token is a method, and hyper takes one of 60 KB: lines would be as long.
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
