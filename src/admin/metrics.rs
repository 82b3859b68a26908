//! The counters of a replica, in the text format of Prometheus.
//!
//! They are counted whether or not somebody listens: that takes a tenth of a microsecond a request, four
//! tenths when four threads do nothing else.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::domain::refused_sign_in::RefusedCounts;
use crate::mail;

/// The media type of [`Metrics::page`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper ends of the latencies that are told apart, in seconds.
const LATENCIES: [f64; 12] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 10.0,
];

/// What is counted.
pub struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    latency: Family<Operation, Histogram>,
    unavailable: Counter,
    refused_sign_ins: Family<Account, Counter>,
    /// What becomes of limits that replicas share.
    pub limits: SharedLimits,
    /// What becomes of letters.
    pub mail: mail::Counts,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Request {
    operation: &'static str,
    status: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Operation {
    operation: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Account {
    account: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("invoicing"),
            requests: Family::default(),
            latency: Family::new_with_constructor(|| Histogram::new(LATENCIES)),
            unavailable: Counter::default(),
            refused_sign_ins: Family::default(),
            limits: SharedLimits::default(),
            mail: mail::Counts::default(),
        };
        let registry = &mut metrics.registry;
        registry.register(
            "requests",
            "Requests by operation and class of the status",
            metrics.requests.clone(),
        );
        registry.register_with_unit(
            "request_duration",
            "From when the headers of a request were read to its answer",
            Unit::Seconds,
            metrics.latency.clone(),
        );
        registry.register(
            "unavailable",
            "Requests that were answered 503: too many at once, or the store did not answer in time",
            metrics.unavailable.clone(),
        );
        registry.register(
            "refused_sign_ins",
            "Sign-ins that were refused, on accounts that somebody has and that nobody has",
            metrics.refused_sign_ins.clone(),
        );
        registry.register(
            "rate_limits_shared",
            "1 while rate limits hold across replicas in Redis, 0 while this replica limits on its own",
            metrics.limits.held.clone(),
        );
        registry.register(
            "redis_losses",
            "How often Redis stopped answering",
            metrics.limits.losses.clone(),
        );
        registry.register(
            "mails_sent",
            "Letters that the mail server has taken",
            metrics.mail.sent.clone(),
        );
        registry.register(
            "mails_failed",
            "Letters that were given up, or could not be written",
            metrics.mail.failed.clone(),
        );
        registry.register(
            "mails_waiting",
            "Letters that are on their way, or will be tried again",
            metrics.mail.waiting.clone(),
        );
        metrics
    }
}

impl Metrics {
    /// Counts a request of `operation`, by its operationId.
    pub fn answered(&self, operation: &'static str, status: StatusCode, latency: Duration) {
        let class = match status.as_u16() {
            ..200 => "1xx",
            200..300 => "2xx",
            300..400 => "3xx",
            400..500 => "4xx",
            500.. => "5xx",
        };
        let request = Request {
            operation,
            status: class,
        };
        self.requests.get_or_create(&request).inc();
        let operation = Operation { operation };
        let latency = latency.as_secs_f64();
        self.latency.get_or_create(&operation).observe(latency);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            self.unavailable.inc();
        }
    }

    /// All of it, with the sign-ins that the service has refused.
    pub fn page(&self, refused: &RefusedCounts) -> String {
        for (account, count) in [("known", refused.known()), ("unknown", refused.unknown())] {
            let counter = self.refused_sign_ins.get_or_create(&Account { account });
            counter.inner().store(count, Ordering::Relaxed);
        }
        let mut page = String::new();
        // Writing to a String cannot fail.
        let _ = text::encode(&mut page, &self.registry);
        page
    }
}

/// Whether limits hold across replicas.
#[derive(Clone, Default)]
pub struct SharedLimits {
    held: Gauge,
    losses: Counter,
}

impl SharedLimits {
    /// Redis has begun to answer, or has stopped.
    pub fn held(&self, held: bool) {
        self.held.set(held.into());
        if !held {
            self.losses.inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_operation_and_class() {
        let metrics = Metrics::default();
        for (status, millis) in [(200, 1), (204, 2), (404, 3), (503, 400)] {
            let status = StatusCode::from_u16(status).unwrap();
            metrics.answered("get_product", status, Duration::from_millis(millis));
        }
        metrics.limits.held(true);
        metrics.limits.held(false);
        let refused = RefusedCounts::default();
        refused.note(false);
        let page = metrics.page(&refused);
        for line in [
            "invoicing_requests_total{operation=\"get_product\",status=\"2xx\"} 2",
            "invoicing_requests_total{operation=\"get_product\",status=\"4xx\"} 1",
            "invoicing_requests_total{operation=\"get_product\",status=\"5xx\"} 1",
            "invoicing_request_duration_seconds_bucket{le=\"0.005\",operation=\"get_product\"} 3",
            "invoicing_request_duration_seconds_count{operation=\"get_product\"} 4",
            "invoicing_unavailable_total 1",
            "invoicing_refused_sign_ins_total{account=\"known\"} 0",
            "invoicing_refused_sign_ins_total{account=\"unknown\"} 1",
            "invoicing_rate_limits_shared 0",
            "invoicing_redis_losses_total 1",
            "invoicing_mails_sent_total 0",
            "invoicing_mails_failed_total 0",
            "invoicing_mails_waiting 0",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} in {page}");
        }
    }
}
