//! The counters of a replica, in the text format of Prometheus (docs/metrics.md lists them).
//!
//! They are counted whether or not somebody listens. What happens in a layer is counted there, by numbers that know nothing
//! of Prometheus ([`crate::tally`]); what only is, such as the length of a queue, is asked for when the page is. Both are put
//! into a registry that is made for each page, so that what a series is called, and how it is shown, stands here alone: one
//! file a group.
//!
//! Each series is there from the start, with every value of its labels: the first of something is a rise from 0, which an
//! alert sees, and not a series that begins at 1.

mod background;
mod database;
mod load;
mod page;
mod people;
mod process;
mod requests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use crate::app::App;
use crate::traffic::Traffic;
use crate::{limit, mail, trace};
use load::Shortages;
pub use load::{Load, Shortage};
use page::Page;
use requests::Requests;
pub(crate) use requests::{FILE, NO_METHOD, PREFLIGHT};

/// The media type of the page.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is counted, but for what the app and its store count themselves.
#[derive(Default)]
pub struct Metrics {
    requests: Requests,
    shortages: Shortages,
    load: OnceLock<Box<dyn Fn() -> Load + Send + Sync>>,
    /// What the rate limits refuse.
    pub limits: Arc<limit::Counts>,
    /// What becomes of letters.
    pub mail: mail::Counts,
    /// When the server's certificate ends, in Unix time; 0 while there is none.
    certificate_end: AtomicU64,
    /// What becomes of spans.
    pub traces: Arc<trace::Counts>,
}

impl Metrics {
    /// Shows these operations, by their names, from now on, whether or not they are asked for.
    pub fn declare(&self, operations: &[&'static str]) {
        self.requests.declare(operations);
    }

    /// Counts a request of `operation`, by its operationId.
    pub fn answered(&self, operation: &'static str, status: StatusCode, latency: Duration) {
        self.requests.answered(operation, status, latency);
    }

    /// Counts a request that no operation has answered, by the status that it got.
    pub(crate) fn refused_by_router(&self, status: u16, latency: Duration) {
        self.requests.refused_by_router(status, latency);
    }

    /// Counts a request that was refused, as there was not enough of something.
    pub(crate) fn refused(&self, shortage: Shortage) {
        self.shortages.note(shortage);
    }

    /// The server's certificate ends then, in Unix time.
    pub(crate) fn certificate_ends(&self, end: Duration) {
        self.certificate_end.store(end.as_secs(), Ordering::Relaxed);
    }

    /// Who knows what is under way.
    pub(crate) fn load_is(&self, load: impl Fn() -> Load + Send + Sync + 'static) {
        // A replica has one server.
        _ = self.load.set(Box::new(load));
    }

    /// All of it, with what the app has counted. It reads some files of the system: a fraction of a millisecond, and as much
    /// for each thousand series.
    pub(crate) fn page(&self, app: &App, traffic: &Traffic) -> String {
        let mut registry = Registry::default();
        process::show(&mut Page(&mut registry));
        let mut page = Page(registry.sub_registry_with_prefix("invoicing"));
        process::show_build(&mut page);
        self.requests.show(&mut page, traffic);
        let numbers = app.store_numbers();
        let load = self.load.get().map(|load| load());
        self.shortages.show(&mut page, load.as_ref(), &numbers);
        load::show_limits(&mut page, &self.limits);
        database::show(&mut page, &numbers);
        people::show(&mut page, app, &self.mail);
        background::show(&mut page, app.counts());
        process::show_certificate(&mut page, self.certificate_end.load(Ordering::Relaxed));
        background::show_spans(&mut page, &self.traces);
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = text::encode(&mut text, &registry);
        text
    }
}
