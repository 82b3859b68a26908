//! Where a request stands in a trace, and its span.

use std::sync::Arc;

use http::Version;

use super::context::RequestContext;
use crate::log;
use crate::trace::{self, Place, Span, Traces};

/// Returns where a request stands, if traces are reported.
pub(super) fn place(context: &RequestContext) -> Option<(Arc<Traces>, Place)> {
    context.context().traces.as_ref()?;
    trace::current().or_else(|| locate(context))
}

fn locate(context: &RequestContext) -> Option<(Arc<Traces>, Place)> {
    let traces = context.context().traces.as_ref()?;
    let place = traces.locate(&context.request_id, context.request.headers());
    Some((Arc::clone(traces), place))
}

/// Runs all the work for a request at its place.
pub(super) async fn within<W: Future>(context: &RequestContext, work: W) -> W::Output {
    trace::within(locate(context), work).await
}

/// Returns the span of a request that has this line in the log.
pub(super) fn of(context: &RequestContext, line: &log::Request<'_>) -> Span {
    let version = match context.request.version() {
        Version::HTTP_2 => "2",
        Version::HTTP_10 => "1.0",
        _ => "1.1",
    };
    log::span(line, context.server.using_tls(), Some(version))
}
