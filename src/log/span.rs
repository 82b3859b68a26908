//! The span of a request, with attributes by the semantic conventions of OpenTelemetry for HTTP servers, as far as they hold
//! nothing secret: a path may, so the route stands for it.

use opentelemetry::trace::SpanKind;
use opentelemetry::{Array, KeyValue, StringValue, Value};

use super::request::{Caller, ErrorCode, Request, named};
use crate::trace::Span;

/// The span of the request with this line; `version` is the version of HTTP, if known.
pub(crate) fn span(line: &Request<'_>, tls: bool, version: Option<&str>) -> Span {
    let method = named(line.method);
    let request_id = StringValue::from(line.request_id.to_owned());
    let mut attributes = vec![
        // The conventions' name for a method that is not one of HTTP's.
        KeyValue::new(
            "http.request.method",
            match method {
                "other" => "_OTHER".to_owned(),
                method => method.to_owned(),
            },
        ),
        KeyValue::new("http.response.status_code", i64::from(line.status)),
        KeyValue::new("url.scheme", if tls { "https" } else { "http" }),
        KeyValue::new(
            "http.response.header.x-request-id",
            Value::Array(Array::String(vec![request_id])),
        ),
    ];
    let mut add = |name: &'static str, value: String| attributes.push(KeyValue::new(name, value));
    if let Some(route) = line.route {
        add("http.route", route.to_owned());
    }
    if let Some(version) = version {
        add("network.protocol.version", version.to_owned());
    }
    if let Some(address) = line.client_address {
        add("client.address", address.to_string());
    }
    match line.caller {
        Caller::Unknown => {}
        Caller::ApiKey { id, team } => {
            add("invoicing.key_id", id.to_string());
            add("invoicing.team_id", team.to_string());
        }
        Caller::User(id) => add("invoicing.user_id", id.to_string()),
    }
    let failed = line.status >= 500;
    match (line.error_code, failed) {
        (Some(ErrorCode(code)), _) => add("error.type", code.to_owned()),
        (None, true) => add("error.type", line.status.to_string()),
        (None, false) => {}
    }
    let name = match (method, line.route) {
        ("other", None) => "HTTP".to_owned(),
        (method, None) => method.to_owned(),
        (method, Some(route)) => format!("{method} {route}"),
    };
    Span {
        name: name.into(),
        kind: SpanKind::Server,
        took: line.latency,
        attributes,
        failed,
    }
}
