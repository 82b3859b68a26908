//! Requests by operation.
//!
//! An operation is named by its operationId in the documents, or, for a page or form, by its function. Requests that no
//! operation answered are counted under separate names, so that they do not affect the numbers of the operations.

use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Unit;

use super::page::Page;
use crate::traffic::Traffic;

/// A path that does not exist: 404.
const NO_ROUTE: &str = "no_route";

/// A method that the path does not have: 405.
pub(crate) const NO_METHOD: &str = "no_method";

/// A request that was refused before it was routed: malformed HTTP, or too many headers.
const MALFORMED: &str = "malformed";

/// A browser's question whether a page of another origin may send a request.
pub(crate) const PREFLIGHT: &str = "preflight";

/// A document, or a file that belongs to a page.
pub(crate) const FILE: &str = "file";

/// Names for requests without an operation.
const OF_NONE: [&str; 5] = [NO_ROUTE, NO_METHOD, MALFORMED, PREFLIGHT, FILE];

/// Status classes.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Upper bounds of the latency buckets, in seconds.
const LATENCIES: [f64; 12] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 10.0,
];

/// The requests so far.
pub(super) struct Requests {
    by_class: Family<Request, Counter>,
    latency: Family<Operation, Histogram>,
    unavailable: Counter,
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

impl Default for Requests {
    fn default() -> Requests {
        let requests = Requests {
            by_class: Family::default(),
            latency: Family::new_with_constructor(|| Histogram::new(LATENCIES)),
            unavailable: Counter::default(),
        };
        requests.declare(&OF_NONE);
        requests
    }
}

impl Requests {
    /// From now on, shows these operations, whether or not they are requested.
    pub(super) fn declare(&self, operations: &[&'static str]) {
        for &operation in operations {
            for status in CLASSES {
                let request = Request { operation, status };
                drop(self.by_class.get_or_create(&request));
            }
            drop(self.latency.get_or_create(&Operation { operation }));
        }
    }

    pub(super) fn answered(&self, operation: &'static str, status: StatusCode, latency: Duration) {
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
        self.by_class.get_or_create(&request).inc();
        let operation = Operation { operation };
        let latency = latency.as_secs_f64();
        self.latency.get_or_create(&operation).observe(latency);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            self.unavailable.inc();
        }
    }

    pub(super) fn refused_by_router(&self, status: u16, latency: Duration) {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        let operation = match status {
            StatusCode::NOT_FOUND => NO_ROUTE,
            StatusCode::METHOD_NOT_ALLOWED => NO_METHOD,
            _ => MALFORMED,
        };
        self.answered(operation, status, latency);
    }

    pub(super) fn show(&self, page: &mut Page<'_>, traffic: &Traffic) {
        page.metric(
            "requests",
            None,
            "Requests by operation and class of the status",
            self.by_class.clone(),
        );
        page.metric(
            "request_duration",
            Some(Unit::Seconds),
            "From when the headers of a request were read to its answer",
            self.latency.clone(),
        );
        page.gauge(
            "requests_in_flight",
            None,
            "Requests of known callers and of the token endpoint that are not answered yet",
            traffic.requests() as u64,
        );
        page.counter(
            "unavailable",
            "Requests that were answered 503: too many at once, or the store did not answer in time",
            self.unavailable.get(),
        );
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;

    use super::*;

    /// Asserts that each of these lines is on the page.
    fn shows(requests: &Requests, lines: &[&str]) {
        let mut registry = Registry::default();
        requests.show(&mut Page(&mut registry), &Traffic::default());
        let mut page = String::new();
        text::encode(&mut page, &registry).unwrap();
        for line in lines {
            assert!(page.lines().any(|found| found == *line), "{line} in {page}");
        }
    }

    #[test]
    fn requests_are_counted_by_operation_and_class() {
        let requests = Requests::default();
        for (status, millis) in [(200, 1), (204, 2), (404, 3), (503, 400)] {
            let status = StatusCode::from_u16(status).unwrap();
            requests.answered("get_product", status, Duration::from_millis(millis));
        }
        shows(
            &requests,
            &[
                "requests_total{operation=\"get_product\",status=\"2xx\"} 2",
                "requests_total{operation=\"get_product\",status=\"4xx\"} 1",
                "requests_total{operation=\"get_product\",status=\"5xx\"} 1",
                "request_duration_seconds_bucket{le=\"0.005\",operation=\"get_product\"} 3",
                "request_duration_seconds_count{operation=\"get_product\"} 4",
                "unavailable_total 1",
            ],
        );
    }

    #[test]
    fn what_the_router_refuses_is_counted_by_its_status() {
        let requests = Requests::default();
        for status in [404, 404, 405, 400, 431, 1] {
            requests.refused_by_router(status, Duration::ZERO);
        }
        shows(
            &requests,
            &[
                "requests_total{operation=\"no_route\",status=\"4xx\"} 2",
                "requests_total{operation=\"no_method\",status=\"4xx\"} 1",
                "requests_total{operation=\"malformed\",status=\"4xx\"} 3",
                "requests_total{operation=\"file\",status=\"2xx\"} 0",
            ],
        );
    }
}
