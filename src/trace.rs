//! Traces: reports how long requests took to an OpenTelemetry collector, by OTLP (docs/traces.md).
//!
//! 1. A request's place in a trace comes from what it has anyway (`Traces::locate`). A `traceparent` (W3C Trace Context)
//!    names its trace, and the span that caused it. Without one, the bits of its `x-request-id` are the trace id. Either
//!    way, the first half of these bits is the id of the request's span, so nothing has to be kept until the answer.
//! 2. The trace alone decides whether it is sampled: a setting gives the share of traces that are, and a caller may opt its
//!    trace out. A caller cannot opt one in.
//! 3. The work for a request runs `within` its place. Whatever takes time there, such as the database, is a child of its
//!    span (`child`); a request to another service carries the place on (`Child::headers`).
//! 4. A span is exported once it has ended. No request waits for that: a queue holds 2,048 spans, and a thread sends what is
//!    in it every five seconds (`export.rs`). What does not fit is lost, and counted.
//!
//! No span has a path, a query, a body or a credential; a route has names in place of the secrets in a path.
//!
//! Spans are built whole when they end, unlike the SDK's own, which are started and then filled in: so a request that is not
//! sampled costs only two header lookups.

mod counts;
mod export;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue, propagation::TextMapPropagator as _};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, IdGenerator as _, RandomIdGenerator, SpanData, SpanEvents, SpanLinks,
    SpanProcessor as _,
};
use uuid::Uuid;

pub use counts::Counts;

const PARENT: HeaderName = HeaderName::from_static("traceparent");
const STATE: HeaderName = HeaderName::from_static("tracestate");

/// The longest `tracestate` that is passed on (W3C Trace Context, section 3.3.1.5). A longer one is left out.
const LONGEST_STATE: usize = 512;

/// How long the program waits at its end for the last spans.
const LAST: Duration = Duration::from_secs(5);

/// Reports to a collector how long requests took.
#[derive(Debug)]
pub struct Traces {
    spans: BatchSpanProcessor,
    /// The share of all traces that is sampled, from 0 to 1.
    share: f64,
    scope: InstrumentationScope,
    counts: Arc<Counts>,
}

/// Where a request stands in a trace.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Its own span.
    span: SpanContext,
    /// The one that caused it, if another service has named it.
    parent: Option<SpanId>,
    /// When the place was found.
    begun: Instant,
}

impl Place {
    /// Returns the trace, by the id that other services know it by.
    pub(crate) fn trace_id(&self) -> TraceId {
        self.span.trace_id()
    }
}

/// A span that has ended.
pub(crate) struct Span {
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: SpanKind,
    pub(crate) took: Duration,
    pub(crate) attributes: Vec<KeyValue>,
    /// Whether this service failed in it.
    pub(crate) failed: bool,
}

impl Traces {
    /// Reports the given share of all traces, from 0 to 1, to the collector that takes spans at this URL; `failed` is called
    /// with the reason when a batch is lost. Belongs to the runtime that it is started in.
    ///
    /// # Errors
    /// Why nothing can be sent.
    pub fn start(
        collector: String,
        share: f64,
        counts: Arc<Counts>,
        failed: impl Fn(String) + Send + Sync + 'static,
    ) -> Result<Traces, String> {
        Ok(Traces {
            spans: export::batches(collector, Arc::clone(&counts), Box::new(failed))?,
            share,
            scope: InstrumentationScope::builder("invoicing")
                .with_version(env!("CARGO_PKG_VERSION"))
                .build(),
            counts,
        })
    }

    /// Checks that the collector accepts spans at this URL.
    ///
    /// # Errors
    /// Why it does not.
    pub(crate) async fn check(collector: String) -> Result<(), String> {
        export::check(collector).await
    }

    /// Steps 1 and 2: returns the place of the request with this id and these headers.
    pub(crate) fn locate(&self, request_id: &str, headers: &HeaderMap) -> Place {
        // dropshot gives each request an id, and it is a UUID.
        let id = Uuid::try_parse(request_id).unwrap_or_else(|_| Uuid::new_v4());
        let (own, _) = id.as_u64_pair();
        let caller = caller(headers);
        let trace_id = caller.as_ref().map(SpanContext::trace_id);
        let trace_id = trace_id.unwrap_or_else(|| TraceId::from_bytes(*id.as_bytes()));
        let told = caller.as_ref().is_none_or(SpanContext::is_sampled);
        let told = told && is_among(trace_id, self.share);
        let state = caller.as_ref().map(|it| it.trace_state().clone());
        Place {
            span: SpanContext::new(
                trace_id,
                SpanId::from(own),
                TraceFlags::default().with_sampled(told),
                false,
                state.unwrap_or_default(),
            ),
            parent: caller.map(|it| it.span_id()),
            begun: Instant::now(),
        }
    }

    /// Step 4, for the span of a request; `span` is called only if it is sampled.
    pub(crate) fn tell(&self, place: &Place, span: impl FnOnce() -> Span) {
        if place.span.is_sampled() {
            let mut span = span();
            // Its children lie within it; the request may have been located only when it was answered.
            span.took = span.took.max(place.begun.elapsed());
            self.end(place.span.clone(), place.parent, true, span);
        }
    }

    fn end(&self, context: SpanContext, parent: Option<SpanId>, remote: bool, span: Span) {
        let end_time = SystemTime::now();
        self.counts.ended.one();
        self.spans.on_end(SpanData {
            span_context: context,
            parent_span_id: parent.unwrap_or(SpanId::INVALID),
            parent_span_is_remote: parent.is_some() && remote,
            span_kind: span.kind,
            name: span.name,
            start_time: end_time.checked_sub(span.took).unwrap_or(end_time),
            end_time,
            attributes: span.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: match span.failed {
                true => Status::error(""),
                false => Status::Unset,
            },
            instrumentation_scope: self.scope.clone(),
        });
    }

    /// Sends what is in the queue, and ends, within five seconds.
    pub async fn finish(self: Arc<Self>) {
        let ended = tokio::task::spawn_blocking(move || self.spans.shutdown_with_timeout(LAST));
        // What was not sent is lost, as the counts show.
        drop(ended.await);
    }
}

/// Returns whether a trace is among this share of all. Its last 56 bits decide: they are random in a UUID too, and other
/// services that sample by them pick the same traces (W3C Trace Context level 2, "random-trace-id"). The OpenTelemetry SDK's
/// sampler looks at the last 64, the first two of which are fixed in a UUID.
fn is_among(trace_id: TraceId, share: f64) -> bool {
    const ALL: u128 = 1 << 56;
    let random = u128::from_be_bytes(trace_id.to_bytes()) % ALL;
    random >= ALL - (share * ALL as f64) as u128
}

/// Returns the span that caused a request, from its single `traceparent`.
fn caller(headers: &HeaderMap) -> Option<SpanContext> {
    let mut lines = headers.get_all(PARENT).iter();
    // Two could contradict each other (W3C Trace Context, section 3.2).
    let (Some(_), None) = (lines.next(), lines.next()) else {
        return None;
    };
    let context = TraceContextPropagator::new()
        .extract_with_context(&Context::new(), &HeaderExtractor(headers));
    let caller = context.span().span_context().clone();
    let state = headers
        .get_all(STATE)
        .iter()
        .map(HeaderValue::len)
        .sum::<usize>();
    match (caller.is_valid(), state <= LONGEST_STATE) {
        (false, _) => None,
        (true, true) => Some(caller),
        (true, false) => Some(SpanContext::new(
            caller.trace_id(),
            caller.span_id(),
            caller.trace_flags(),
            true,
            TraceState::default(),
        )),
    }
}

tokio::task_local! {
    static CURRENT: (Arc<Traces>, Place);
}

/// Step 3: runs the work for a request at its place, if it has one.
pub(crate) async fn within<T>(
    place: Option<(Arc<Traces>, Place)>,
    work: impl Future<Output = T>,
) -> T {
    match place {
        Some(place) => CURRENT.scope(place, work).await,
        None => work.await,
    }
}

/// Returns the place of the current work, if it has one.
pub(crate) fn current() -> Option<(Arc<Traces>, Place)> {
    CURRENT.try_with(Clone::clone).ok()
}

/// Starts a span for a part of a request's work, which ends when it is dropped. Outside of a request, there is none.
pub(crate) fn child(name: &'static str, kind: SpanKind) -> Option<Child> {
    CURRENT
        .try_with(|(traces, place)| Child {
            traces: Arc::clone(traces),
            parent: place.span.clone(),
            id: RandomIdGenerator::default().new_span_id(),
            begun: Instant::now(),
            span: Some(Span {
                name: Cow::Borrowed(name),
                kind,
                took: Duration::ZERO,
                attributes: Vec::new(),
                failed: false,
            }),
        })
        .ok()
}

/// The span of a part of a request's work, until it is dropped.
pub(crate) struct Child {
    traces: Arc<Traces>,
    parent: SpanContext,
    id: SpanId,
    begun: Instant,
    /// Taken when it ends.
    span: Option<Span>,
}

impl Child {
    /// Adds an attribute.
    pub(crate) fn add(&mut self, attribute: KeyValue) {
        if let Some(span) = &mut self.span {
            span.attributes.push(attribute);
        }
    }

    /// Marks it as failed, for this reason: a short word.
    pub(crate) fn fail(&mut self, why: impl Into<opentelemetry::Value>) {
        self.add(KeyValue::new("error.type", why));
        if let Some(span) = &mut self.span {
            span.failed = true;
        }
    }

    /// Adds the headers that carry the place on to another service (W3C Trace Context).
    pub(crate) fn headers(&self, headers: &mut HeaderMap) {
        let here = Context::new().with_remote_span_context(self.context());
        TraceContextPropagator::new().inject_context(&here, &mut HeaderInjector(headers));
    }

    fn context(&self) -> SpanContext {
        SpanContext::new(
            self.parent.trace_id(),
            self.id,
            self.parent.trace_flags(),
            false,
            self.parent.trace_state().clone(),
        )
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let Some(span) = self.span.take().filter(|_| self.parent.is_sampled()) else {
            return;
        };
        let took = self.begun.elapsed();
        let parent = Some(self.parent.span_id());
        self.traces
            .end(self.context(), parent, false, Span { took, ..span });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_none_the_highest_id_is_not_told_and_of_all_the_lowest_is() {
        assert!(!is_among(TraceId::from_bytes([0xff; 16]), 0.0));
        assert!(is_among(TraceId::from_bytes([0; 16]), 1.0));
    }

    #[test]
    fn of_a_share_of_traces_as_many_are_told_whoever_made_their_ids() {
        let number = 10_000;
        for share in [0.0, 0.01, 0.3, 0.9, 1.0] {
            for of_request in [true, false] {
                let told = (0..number).filter(|_| {
                    let trace = match of_request {
                        true => TraceId::from_bytes(Uuid::new_v4().into_bytes()),
                        false => RandomIdGenerator::default().new_trace_id(),
                    };
                    is_among(trace, share)
                });
                let (told, expected) = (told.count() as f64, share * f64::from(number));
                // Five standard deviations: exceeded once in two million times.
                let deviation = (expected * (1.0 - share)).sqrt();
                assert!(
                    (told - expected).abs() <= 5.0 * deviation,
                    "{share}: {told}"
                );
            }
        }
    }
}
