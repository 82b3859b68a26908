//! The span of a request, with attributes by the semantic conventions of OpenTelemetry for HTTP servers, as far as they have
//! nothing that is secret: a path may, so the route stands for it.

use std::sync::Arc;

use http::Version;
use opentelemetry::trace::SpanKind;
use opentelemetry::{Array, KeyValue, StringValue, Value};

use super::context::RequestContext;
use crate::log;
use crate::trace::{self, Place, Span, Traces};

/// Where a request stands, if anybody is told what it took.
pub(super) fn place(context: &RequestContext) -> Option<(Arc<Traces>, Place)> {
    context.context().traces.as_ref()?;
    trace::current().or_else(|| locate(context))
}

fn locate(context: &RequestContext) -> Option<(Arc<Traces>, Place)> {
    let traces = context.context().traces.as_ref()?;
    let place = traces.locate(&context.request_id, context.request.headers());
    Some((Arc::clone(traces), place))
}

/// Does all the work for a request at its place.
pub(super) async fn within<W: Future>(context: &RequestContext, work: W) -> W::Output {
    trace::within(locate(context), work).await
}

/// The span of a request that has this line in the log.
pub(super) fn of(context: &RequestContext, line: &log::Request<'_>) -> Span {
    let method = log::named(line.method);
    let route = line.route.unwrap_or_default();
    let scheme = match context.server.using_tls() {
        true => "https",
        false => "http",
    };
    let version = match context.request.version() {
        Version::HTTP_2 => "2",
        Version::HTTP_10 => "1.0",
        _ => "1.1",
    };
    let request_id = StringValue::from(line.request_id.to_owned());
    let mut attributes = vec![
        // What no method of HTTP is has this name there.
        KeyValue::new(
            "http.request.method",
            match method {
                "other" => "_OTHER".to_owned(),
                method => method.to_owned(),
            },
        ),
        KeyValue::new("http.route", route.to_owned()),
        KeyValue::new("http.response.status_code", i64::from(line.status)),
        KeyValue::new("url.scheme", scheme),
        KeyValue::new("network.protocol.version", version),
        KeyValue::new(
            "http.response.header.x-request-id",
            Value::Array(Array::String(vec![request_id])),
        ),
    ];
    let mut add = |name: &'static str, value: String| attributes.push(KeyValue::new(name, value));
    if let Some(address) = line.client_address {
        add("client.address", address.to_string());
    }
    match line.caller {
        log::Caller::Unknown => {}
        log::Caller::ApiKey { id, team } => {
            add("invoicing.key_id", id.to_string());
            add("invoicing.team_id", team.to_string());
        }
        log::Caller::User(id) => add("invoicing.user_id", id.to_string()),
    }
    let failed = line.status >= 500;
    match (line.error_code, failed) {
        (Some(log::ErrorCode(code)), _) => add("error.type", code.to_owned()),
        (None, true) => add("error.type", line.status.to_string()),
        (None, false) => {}
    }
    Span {
        name: format!("{method} {route}").into(),
        kind: SpanKind::Server,
        took: line.latency,
        attributes,
        failed,
    }
}
