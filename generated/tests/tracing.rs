//! The spans of the feature `tracing`: their content, and that they never contain a secret.
//!
//! The subscriber is that of the whole process, so that everything is seen, whatever thread it comes from,
//! including the libraries below; hence a single test in a file of its own.

#[path = "stub/mod.rs"]
mod stub;

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use invoicing_client::{Client, InMemory, RetryPolicy, TokenSource};
use stub::{Reply, Stub};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

const SECRET: &str = "top-secret-top-secret-top-secret-top-secret";
const ID: &str = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49";

/// Records everything that can be, one line per span or event.
#[derive(Clone, Default)]
struct Recorder {
    lines: Arc<Mutex<Vec<String>>>,
}

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = format!("{}:", span.metadata().name());
        span.record(&mut Line(&mut line));
        let mut lines = self.lines.lock().unwrap();
        lines.push(line);
        // The index of its line identifies a span.
        Id::from_u64(lines.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let line = usize::try_from(span.into_u64()).unwrap() - 1;
        values.record(&mut Line(&mut self.lines.lock().unwrap()[line]));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = format!("event of {}:", event.metadata().target());
        event.record(&mut Line(&mut line));
        self.lines.lock().unwrap().push(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Recorder {
    fn own(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        let own = lines
            .iter()
            .filter(|line| line.starts_with("invoicing_client:"));
        own.cloned().collect()
    }
}

#[tokio::test]
async fn spans_say_what_was_done_and_never_a_secret() {
    let recorder = Recorder::default();
    tracing::subscriber::set_global_default(recorder.clone()).unwrap();
    let busy = Reply::error(503, "server_error", "unavailable");
    let stub = Stub::script([
        Reply::hang_up(),
        busy,
        Reply::product(201).header("set-cookie", SECRET),
        Reply::tokens(SECRET, SECRET),
        Stub::links(),
        Reply::error(404, "not_found_error", "product_not_found"),
    ]);
    let client = Client::builder(stub.url())
        .api_key(SECRET)
        .header("x-proxy-key", SECRET)
        .build()
        .unwrap();

    let create = client.products().create("Consulting", "1", "EUR");
    create.idempotency_key(SECRET).send().await.unwrap();
    let session = serde_json::from_value(serde_json::json!({
        "user_id": ID, "client_id": "app", "access_token": SECRET, "refresh_token": SECRET,
        "expires_at": "2020-01-01T00:00:00Z",
    }));
    let tokens = TokenSource::new(&client, session.unwrap(), InMemory);
    let signed_in = client.with_token_source(tokens);
    signed_in.links().list(ID, "file", ID).send().await.unwrap();
    let get = client.products().get(ID).retry(RetryPolicy::off());
    assert!(get.send().await.unwrap_err().is_not_found());

    let post = r#"method="POST""#;
    assert_eq!(
        recorder.own(),
        [
            format!(r#"invoicing_client: operation="create_product" {post} attempt=1 error="connection lost""#),
            format!(r#"invoicing_client: operation="create_product" {post} attempt=2 status=503 request_id="req-1""#),
            format!(r#"invoicing_client: operation="create_product" {post} attempt=3 status=201 request_id="req-1""#),
            format!(r#"invoicing_client: operation="exchange_token" {post} attempt=1 status=200 request_id="req-1""#),
            r#"invoicing_client: operation="list_links" method="GET" attempt=1 status=200 request_id="req-1""#.to_owned(),
            r#"invoicing_client: operation="get_product" method="GET" attempt=1 status=404 request_id="req-1""#.to_owned(),
        ]
    );
    let everything = recorder.lines.lock().unwrap().join("\n");
    assert!(everything.contains("event of invoicing_client::trace: message=trying again"));
    assert!(!everything.contains("top-secret"), "{everything}");
}
