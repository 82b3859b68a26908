//! What the server writes to standard error: one line a request, and what somebody should know.
//!
//! - Every request has exactly one line, written by [`request`]: the generated glue calls it once the
//!   answer is known. Requests that no route takes never reach the glue; their line is made from what
//!   dropshot says about them ([`for_framework`]).
//! - A line names the operation's route (`/api/v1/products/{productId}`), never the path or query that
//!   was sent: the secret of a share link stands in a path, and a query may hold anything. Bodies and
//!   credentials never come here; a caller is named by the id of its key or user.
//! - Lines are written by a thread of their own behind a bounded channel. A request must not wait for
//!   whoever reads the log, so when the channel is full, lines are dropped, and the next line that fits
//!   says how many ([`OverflowStrategy::DropAndReport`]). Nothing that must be proven later is kept in
//!   the log alone.
//! - A panic is a line like any other ([`panics`]): whoever reads the log reads nothing but lines.

use std::io::{BufWriter, IsTerminal, Write};
use std::time::Duration;

use slog::{Drain, FnValue, Key, Level, LevelFilter, Logger, Record, debug, error, o};
use slog_async::{Async, AsyncGuard, OverflowStrategy};
use uuid::Uuid;

use crate::settings::{LogFormat, LogLevel, Settings};

/// Lines that wait to be written: a burst of a second at ten thousand requests a second, some megabytes.
const CHANNEL: usize = 10_000;

/// A logger on standard error. Dropping the guard writes what still waits.
pub fn to_standard_error(settings: &Settings) -> (Logger, AsyncGuard) {
    let terminal = match settings.log_format {
        LogFormat::Auto => std::io::stderr().is_terminal(),
        LogFormat::Json => false,
        LogFormat::Terminal => true,
    };
    let (drain, guard) = if terminal {
        let decorator = slog_term::TermDecorator::new().stderr().build();
        in_background(slog_term::FullFormat::new(decorator).build().ignore_res())
    } else {
        in_background(json(std::io::stderr()).ignore_res())
    };
    let drain = LevelFilter::new(drain, level(settings.log_level)).ignore_res();
    (Logger::root(drain, o!()), guard)
}

fn level(level: LogLevel) -> Level {
    match level {
        LogLevel::Error => Level::Error,
        LogLevel::Warn => Level::Warning,
        LogLevel::Info => Level::Info,
        LogLevel::Debug => Level::Debug,
    }
}

fn in_background<D>(drain: D) -> (Async, AsyncGuard)
where
    D: Drain<Ok = (), Err = slog::Never> + Send + 'static,
{
    Async::new(drain)
        .chan_size(CHANNEL)
        .overflow_strategy(OverflowStrategy::DropAndReport)
        .thread_name("log".into())
        .build_with_guard()
}

/// One JSON object a line, written at once: a process that is killed loses no half line.
fn json<W: Write + Send + 'static>(io: W) -> slog_json::Json<BufWriter<W>> {
    let time = FnValue(|_: &Record<'_>| {
        chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
    });
    let level = FnValue(|record: &Record<'_>| match record.level() {
        Level::Critical | Level::Error => "error",
        Level::Warning => "warn",
        Level::Info => "info",
        Level::Debug | Level::Trace => "debug",
    });
    let message = FnValue(|record: &Record<'_>| record.msg().to_string());
    slog_json::Json::new(BufWriter::new(io))
        .set_flush(true)
        .add_key_value(o!("msg" => message, "level" => level, "time" => time))
        .build()
}

/// Writes a line for each panic from now on, in place of the plain text of the standard library. It says
/// where and what, as far as the panic has a text; the request is named by the glue, which answers it.
pub fn panics(log: &Logger) {
    let log = log.clone();
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(ToString::to_string);
        error!(log, "panic"; "place" => place, "panic" => panic.payload_as_str());
    }));
}

/// Who made a request, as far as is known when it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Nobody that was recognized.
    Unknown,
    /// The API key of this id.
    ApiKey(Uuid),
    /// The user of this id, by an access token.
    User(Uuid),
}

/// What the log says about a request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// The path of the operation as the document writes it; `None` when no route took the request.
    pub route: Option<&'a str>,
    /// The status of the answer.
    pub status: u16,
    /// From the first byte of the request's headers to the answer.
    pub latency: Duration,
    /// The `x-request-id` of the answer.
    pub request_id: &'a str,
    /// Who made it.
    pub caller: Caller,
}

/// Writes the line of a request; what the service answers for (5xx) is an error.
pub fn request(log: &Logger, request: &Request<'_>) {
    let Request {
        method,
        route,
        status,
        request_id,
        ..
    } = *request;
    let latency_us = u64::try_from(request.latency.as_micros()).unwrap_or(u64::MAX);
    let caller = match request.caller {
        Caller::Unknown => log.clone(),
        Caller::ApiKey(id) => log.new(o!("key_id" => id.to_string())),
        Caller::User(id) => log.new(o!("user_id" => id.to_string())),
    };
    let values = slog::b!(
        "request_id" => request_id,
        "latency_us" => latency_us,
        "status" => status,
        "route" => route,
        "method" => method,
    );
    let message = format_args!("request");
    if status >= 500 {
        caller.log(&slog::record!(Level::Error, "request", &message, values));
    } else {
        caller.log(&slog::record!(Level::Info, "request", &message, values));
    }
}

/// A logger to hand to dropshot, whose lines go to `log` as far as they are worth it.
///
/// dropshot gives every request a logger that carries its whole URI, and writes several lines with it.
/// Whatever is written through such a logger loses these values here and keeps the request id only.
pub fn for_framework(log: &Logger) -> Logger {
    Logger::root(Framework(log.clone()), o!())
}

/// Chooses from dropshot's lines before they cost anything.
struct Framework(Logger);

impl Drain for Framework {
    type Ok = ();
    type Err = slog::Never;

    fn log(&self, record: &Record<'_>, values: &slog::OwnedKVList) -> Result<(), slog::Never> {
        let message = record.msg().as_str().unwrap_or_default();
        if !record.module().starts_with("dropshot") {
            self.forward(record, values);
        } else if message == "request completed" {
            self.refused_by_router(record, values);
        } else if record.level().is_at_least(Level::Warning) && !message.starts_with("request ") {
            let text = record.msg().to_string();
            if text.starts_with("tls accept err") {
                // Anybody who connects can cause it, so it must not fill the log.
                debug!(self.0, "{text}");
            } else {
                self.forward(record, values);
            }
        }
        Ok(())
    }
}

impl Framework {
    /// The line as it is, with the request's id, but without its other values.
    fn forward(&self, record: &Record<'_>, values: &slog::OwnedKVList) {
        match Values::of(record, values).request_id {
            Some(id) => self.0.new(o!("request_id" => id)).log(record),
            None => self.0.log(record),
        }
    }

    /// The line of a request that was answered by dropshot itself. Only such an answer has an error
    /// message: the glue turns its own errors into answers.
    fn refused_by_router(&self, record: &Record<'_>, values: &slog::OwnedKVList) {
        let values = Values::of(record, values);
        if let (true, Some(request_id)) = (values.refused, values.request_id) {
            let line = Request {
                method: &values.method,
                route: None,
                status: values.status,
                latency: Duration::from_micros(values.latency_us),
                request_id: &request_id,
                caller: Caller::Unknown,
            };
            request(&self.0, &line);
        }
    }
}

/// What is taken from the values of dropshot's lines; everything else is left behind.
#[derive(Default)]
struct Values {
    method: String,
    status: u16,
    latency_us: u64,
    request_id: Option<String>,
    refused: bool,
}

impl Values {
    fn of(record: &Record<'_>, values: &slog::OwnedKVList) -> Self {
        use slog::KV;
        let mut found = Self::default();
        // `found` takes every value, so that nothing can go wrong.
        let _ = record.kv().serialize(record, &mut found);
        let _ = values.serialize(record, &mut found);
        found
    }
}

impl slog::Serializer for Values {
    fn emit_arguments(&mut self, key: Key, value: &std::fmt::Arguments<'_>) -> slog::Result {
        match key.as_ref() {
            "method" => self.method = value.to_string(),
            "response_code" => self.status = value.to_string().parse().unwrap_or_default(),
            "latency_us" => self.latency_us = value.to_string().parse().unwrap_or_default(),
            "req_id" => self.request_id = Some(value.to_string()),
            "error_message_internal" => self.refused = true,
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "log/tests.rs"]
mod tests;
