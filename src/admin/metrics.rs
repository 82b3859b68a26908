//! The counters of a replica, in the text format of Prometheus (docs/metrics.md lists them).
//!
//! They are counted whether or not they are scraped. Events in a layer are counted there, by counters that know nothing of
//! Prometheus ([`crate::tally`]); current values, such as the length of a queue, are read when the page is requested. Both
//! are put into a registry that is made for each page, so that the names of series, and how they are shown, are decided only
//! here: one file per group.
//!
//! Each series exists from the start, with every value of its labels: the first event is a rise from 0, which an alert sees,
//! and not a series that starts at 1.

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

/// All counters except those of the app and its store.
#[derive(Default)]
pub struct Metrics {
    requests: Requests,
    shortages: Shortages,
    load: OnceLock<Box<dyn Fn() -> Load + Send + Sync>>,
    /// What the rate limits refuse.
    pub limits: Arc<limit::Counts>,
    /// Letters by outcome.
    pub mail: mail::Counts,
    /// When the server's certificate ends, in Unix time; 0 while there is none.
    certificate_end: AtomicU64,
    /// Spans by outcome.
    pub traces: Arc<trace::Counts>,
}

impl Metrics {
    /// From now on, shows these operations, by their names, whether or not they are requested.
    pub fn declare(&self, operations: &[&'static str]) {
        self.requests.declare(operations);
    }

    /// Counts a request of `operation`, by its operationId.
    pub fn answered(&self, operation: &'static str, status: StatusCode, latency: Duration) {
        self.requests.answered(operation, status, latency);
    }

    /// Counts a request that no operation answered, by its status.
    pub(crate) fn refused_by_router(&self, status: u16, latency: Duration) {
        self.requests.refused_by_router(status, latency);
    }

    /// Counts a request that was refused for lack of something.
    pub(crate) fn refused(&self, shortage: Shortage) {
        self.shortages.note(shortage);
    }

    /// Sets when the server's certificate ends, in Unix time.
    pub(crate) fn certificate_ends(&self, end: Duration) {
        self.certificate_end.store(end.as_secs(), Ordering::Relaxed);
    }

    /// Sets the source of the current load.
    pub(crate) fn load_is(&self, load: impl Fn() -> Load + Send + Sync + 'static) {
        // A replica has one server.
        _ = self.load.set(Box::new(load));
    }

    /// The whole page, with the counters of the app. Reading some files of the system takes a fraction of a millisecond, and
    /// so does each thousand series.
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
