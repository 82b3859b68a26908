//! Exports spans to the collector: OTLP over HTTP, in protocol buffers.
//!
//! The SDK has a thread of its own that fills batches and waits for the answer to each. Requests are sent on the server's
//! runtime, which their sockets need.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::KeyValue;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanExporter, SpanProcessor as _,
};
use tokio::runtime::Handle;
use uuid::Uuid;

use super::counts::Counts;
use crate::causes::causes;

/// How long a collector may take for a batch.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Spans that wait to be sent, some hundred bytes each.
const QUEUE: usize = 2_048;

/// How much of an answer is read: in it, a collector says how many spans it has not taken.
const LARGEST_ANSWER: usize = 64 * 1024;

/// Takes spans that have ended, and sends them in batches.
///
/// # Errors
/// Why nothing can be sent.
pub(super) fn batches(
    collector: String,
    counts: Arc<Counts>,
    failed: Box<dyn Fn(String) + Send + Sync>,
) -> Result<BatchSpanProcessor, String> {
    let (exporter, causes) = exporter(collector)?;
    let exporter = Counted {
        exporter,
        causes,
        counts,
        failed: Failed(failed),
    };
    let config = BatchConfigBuilder::default().with_max_queue_size(QUEUE);
    let mut spans = BatchSpanProcessor::builder(exporter)
        .with_batch_config(config.build())
        .build();
    spans.set_resource(&resource());
    Ok(spans)
}

/// Checks whether a collector takes spans, by sending none.
///
/// # Errors
/// Why it does not.
pub(super) async fn check(collector: String) -> Result<(), String> {
    let (exporter, causes) = exporter(collector)?;
    let taken = exporter.export(Vec::new()).await;
    taken.map_err(|error| causes.of(&error))
}

/// Makes the exporter to a collector, and the place for why it last failed.
fn exporter(collector: String) -> Result<(opentelemetry_otlp::SpanExporter, Causes), String> {
    let client = reqwest::Client::builder()
        // A redirect may lead anywhere.
        .redirect(reqwest::redirect::Policy::none())
        .timeout(TIMEOUT)
        .user_agent(concat!("invoicing/", env!("CARGO_PKG_VERSION")));
    let client = client.build().map_err(|error| error.to_string())?;
    let causes = Causes::default();
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_http_client(Client {
            client,
            causes: causes.clone(),
            runtime: Handle::current(),
        })
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(collector)
        .with_timeout(TIMEOUT)
        .build()
        .map_err(|error| error.to_string())?;
    Ok((exporter, causes))
}

/// Why the last request had no answer: the exporter reports only that there was none.
#[derive(Clone, Debug, Default)]
struct Causes(Arc<Mutex<Option<String>>>);

impl Causes {
    fn note(&self, error: &reqwest::Error) {
        *self.last() = Some(causes(error));
    }

    /// The cause behind an error of the exporter.
    fn of(&self, error: &OTelSdkError) -> String {
        self.last().take().unwrap_or_else(|| error.to_string())
    }

    fn last(&self) -> MutexGuard<'_, Option<String>> {
        // A text is whole, whatever panicked elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The source of the spans: one process of this service. `OTEL_RESOURCE_ATTRIBUTES` may add more.
fn resource() -> Resource {
    Resource::builder()
        .with_service_name("invoicing")
        .with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", Uuid::new_v4().to_string()),
        ])
        .build()
}

/// Counts what arrives, and reports when it does not.
#[derive(Debug)]
struct Counted {
    exporter: opentelemetry_otlp::SpanExporter,
    causes: Causes,
    counts: Arc<Counts>,
    failed: Failed,
}

/// Called with why a batch is lost.
struct Failed(Box<dyn Fn(String) + Send + Sync>);

impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Failed")
    }
}

impl SpanExporter for Counted {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let done = self.exporter.export(batch).await;
        match &done {
            Ok(()) => self.counts.delivered.add(spans as u64),
            Err(error) => self.failed.0(self.causes.of(error)),
        }
        done
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// Sends requests from a thread that has no runtime.
#[derive(Debug)]
struct Client {
    client: reqwest::Client,
    causes: Causes,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sent = self.runtime.spawn(async move {
            let request = reqwest::Request::try_from(request)?;
            let mut answer = client.execute(request).await?;
            let mut body = Vec::new();
            while let Some(piece) = answer.chunk().await? {
                body.extend_from_slice(&piece);
                if body.len() > LARGEST_ANSWER {
                    break;
                }
            }
            let mut response = Response::new(Bytes::from(body));
            *response.status_mut() = answer.status();
            *response.headers_mut() = answer.headers().clone();
            Ok::<_, reqwest::Error>(response)
        });
        let answer = sent.await?;
        Ok(answer.inspect_err(|error| self.causes.note(error))?)
    }
}
