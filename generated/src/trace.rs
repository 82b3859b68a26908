//! A `tracing` span around each attempt, behind the feature of that name; nothing without it.
//!
//! A span has the fields `operation`, `method`, `attempt`, and, once the attempt has ended, `status` and
//! `request_id`, or `error`. There is no field for an address, a header or a body: what is never recorded
//! cannot leak.

use crate::attempt::Attempt;

#[cfg(feature = "tracing")]
pub(crate) struct Span(tracing::Span);

#[cfg(feature = "tracing")]
impl Span {
    pub(crate) fn begin(operation: &'static str, method: &reqwest::Method, number: u32) -> Span {
        Span(tracing::info_span!(
            "invoicing_client",
            operation,
            method = method.as_str(),
            attempt = number,
            status = tracing::field::Empty,
            request_id = tracing::field::Empty,
            error = tracing::field::Empty,
        ))
    }

    pub(crate) async fn cover<F: Future>(&self, attempt: F) -> F::Output {
        tracing::Instrument::instrument(attempt, self.0.clone()).await
    }

    pub(crate) fn end(&self, attempt: &Attempt<'_>) {
        if let Some(status) = attempt.status {
            self.0.record("status", status.as_u16());
        }
        if let Some(request_id) = attempt.request_id {
            self.0.record("request_id", request_id);
        }
        if let Some(error) = attempt.error {
            self.0.record("error", kind(error));
        }
        if let Some(pause) = attempt.retry_in {
            let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            self.0
                .in_scope(|| tracing::debug!(pause_ms = pause, "trying again"));
        }
    }
}

/// What prevented a response, in a word or two: the error's own text contains the address of the call.
#[cfg(feature = "tracing")]
fn kind(error: &reqwest::Error) -> &'static str {
    match error {
        error if error.is_timeout() => "timeout",
        error if error.is_connect() => "no connection",
        _ => "connection lost",
    }
}

#[cfg(not(feature = "tracing"))]
pub(crate) struct Span;

#[cfg(not(feature = "tracing"))]
impl Span {
    pub(crate) fn begin(_: &'static str, _: &reqwest::Method, _: u32) -> Span {
        Span
    }

    pub(crate) async fn cover<F: Future>(&self, attempt: F) -> F::Output {
        attempt.await
    }

    pub(crate) fn end(&self, _: &Attempt<'_>) {}
}
