//! Traces that a server sends to an OpenTelemetry collector (docs/decisions.md, G5 to G7), which keeps them for the
//! test.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::json;

use crate::operations::Operated;
use crate::place::Place;
use crate::server::{Server, read_all};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A collector of spans.
pub(crate) struct Collector {
    pub(crate) url: String,
    batches: Arc<Mutex<Vec<Batch>>>,
}

/// The contents of one request.
struct Batch {
    head: String,
    taken: ExportTraceServiceRequest,
}

impl Collector {
    /// A collector that answers everything with this status.
    pub(crate) fn answering(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let batches = Arc::<Mutex<Vec<_>>>::default();
        let taken = Arc::clone(&batches);
        // The thread ends with the process.
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let taken = Arc::clone(&taken);
                std::thread::spawn(move || take(connection.unwrap(), status, &taken));
            }
        });
        Self { url, batches }
    }

    /// All spans received.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let batches = self.batches.lock().unwrap();
        let resources = batches.iter().flat_map(|it| &it.taken.resource_spans);
        let scopes = resources.flat_map(|it| &it.scope_spans);
        scopes.flat_map(|it| it.spans.clone()).collect()
    }

    /// The spans of requests, without their parts.
    fn requests(&self) -> Vec<Span> {
        let mut spans = self.spans();
        spans.retain(|span| attributes(span).contains_key("http.route"));
        spans
    }
}

/// Receives the batches of one connection.
fn take(connection: TcpStream, status: u16, batches: &Mutex<Vec<Batch>>) {
    let mut connection = BufReader::new(connection);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let begun = head.len();
            if connection.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = head[begun..].strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        let mut body = vec![0; length];
        connection.read_exact(&mut body).unwrap();
        let taken = ExportTraceServiceRequest::decode(&body[..]).unwrap();
        if status == 200 {
            batches.lock().unwrap().push(Batch { head, taken });
        }
        let answer = format!("HTTP/1.1 {status} \r\ncontent-length: 0\r\n\r\n");
        connection.get_mut().write_all(answer.as_bytes()).unwrap();
    }
}

/// The attributes of a span, as text.
fn attributes(span: &Span) -> BTreeMap<String, String> {
    texts(&span.attributes)
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        Value::ArrayValue(all) => format!("{:?}", all.values),
        other => panic!("{other:?}"),
    };
    let value = |it: &Option<_>| match it {
        Some(opentelemetry_proto::tonic::common::v1::AnyValue { value: Some(value) }) => {
            text(value)
        }
        other => panic!("{other:?}"),
    };
    let pairs = attributes.iter();
    pairs.map(|it| (it.key.clone(), value(&it.value))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

fn serve(place: &Place, collector: &Collector, more: &[&str]) -> Server {
    let line = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--otlp-endpoint",
        &collector.url,
    ];
    Server::start(&mut place.command([&line, more].concat()))
}

/// The status of the answer to a GET with these lines in its head, and its `x-request-id`.
fn get(server: &Server, path: &str, lines: &str) -> (u16, String) {
    let mut stream = server.connect();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n{lines}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let answer = read_all(&mut stream).to_ascii_lowercase();
    let id = answer.split("x-request-id: ").nth(1).unwrap();
    (answer[9..12].parse().unwrap(), id[..36].to_owned())
}

/// Stops the server, which sends the spans that it still has. Returns its log.
fn end(mut server: Server) -> Vec<serde_json::Value> {
    server.signal("TERM");
    assert!(server.wait().success());
    server.whole_log()
}

fn new_key(place: &Place, scope: &str) -> String {
    place.json(&["team", "create", "--name", "Acme"]);
    let key = place.json(&[
        "api-key", "create", "--team", "Acme", "--name", "A", "--mode", "live", "--scope", scope,
    ]);
    key["key"].as_str().unwrap().to_owned()
}

#[test]
fn a_request_is_a_trace_named_by_its_id_with_what_the_database_took() {
    let (place, collector) = (Place::new(), Collector::answering(200));
    let key = new_key(&place, "read-only");
    let server = serve(&place, &collector, &[]);
    let bearer = format!("Authorization: Bearer {key}\r\n");
    let (status, id) = get(&server, "/api/v1/products?limit=1", &bearer);
    assert_eq!(status, 200);
    let log = end(server);

    let spans = collector.spans();
    let (of_requests, parts): (Vec<_>, Vec<_>) = spans
        .iter()
        .partition(|it| attributes(it).contains_key("http.route"));
    let [span] = of_requests[..] else {
        panic!("{spans:#?}");
    };
    assert_eq!(hex(&span.trace_id), id.replace('-', ""));
    assert_eq!(hex(&span.span_id), id.replace('-', "")[..16]);
    assert!(span.parent_span_id.is_empty());
    assert_eq!((span.name.as_str(), span.kind), ("GET /api/v1/products", 2));
    let said = attributes(span);
    let line = log
        .iter()
        .find(|it| it["request_id"] == id.as_str())
        .unwrap();
    for (name, value) in [
        ("http.request.method", "GET"),
        ("http.route", "/api/v1/products"),
        ("http.response.status_code", "200"),
        ("url.scheme", "http"),
        ("network.protocol.version", "1.1"),
        ("client.address", "127.0.0.1"),
        ("invoicing.key_id", line["key_id"].as_str().unwrap()),
        ("invoicing.team_id", line["team_id"].as_str().unwrap()),
    ] {
        assert_eq!(said[name], value, "{name}");
    }
    assert!(said["http.response.header.x-request-id"].contains(&id));
    assert!(!said.contains_key("error.type") && span.status.as_ref().is_none_or(|it| it.code == 0));
    assert_eq!(line["trace_id"], hex(&span.trace_id));
    let took = (span.end_time_unix_nano - span.start_time_unix_nano) / 1_000;
    assert!(took >= line["latency_us"].as_u64().unwrap());

    // The key is looked up, and the page is read.
    assert_eq!(parts.len(), 2, "{parts:#?}");
    for part in parts {
        assert_eq!((part.name.as_str(), part.kind), ("read", 3));
        assert_eq!(attributes(part)["db.system.name"], "sqlite");
        assert_eq!(
            (&part.trace_id, &part.parent_span_id),
            (&span.trace_id, &span.span_id)
        );
        assert!(part.start_time_unix_nano >= span.start_time_unix_nano);
        assert!(part.end_time_unix_nano <= span.end_time_unix_nano);
    }
}

#[test]
fn a_request_that_no_route_took_is_a_trace_named_by_its_method() {
    const SECRET: &str = "s3cr3t-s3cr3t-s3cr3t";
    let (place, collector) = (Place::with_database(), Collector::answering(200));
    let server = serve(&place, &collector, &[]);
    let parent = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\n");
    let (status, id) = get(&server, &format!("/nowhere/{SECRET}?a={SECRET}"), &parent);
    assert_eq!(status, 404);
    let log = end(server);

    let spans = collector.spans();
    let [span] = &spans[..] else {
        panic!("{spans:#?}");
    };
    let trace = id.replace('-', "");
    assert_eq!(
        (hex(&span.trace_id), hex(&span.span_id).as_str()),
        (trace.clone(), &trace[..16])
    );
    assert!(span.parent_span_id.is_empty());
    assert_eq!((span.name.as_str(), span.kind), ("GET", 2));
    let said = attributes(span);
    for (name, value) in [
        ("http.request.method", "GET"),
        ("http.response.status_code", "404"),
        ("url.scheme", "http"),
        ("client.address", "127.0.0.1"),
    ] {
        assert_eq!(said[name], value, "{name}");
    }
    assert!(
        !said.contains_key("http.route") && !format!("{span:?}").contains(SECRET),
        "{span:?}"
    );
    let of_request = |line: &&serde_json::Value| line["request_id"] == id.as_str();
    assert_eq!(
        log.iter().find(of_request).unwrap()["trace_id"],
        trace.as_str()
    );
}

#[test]
fn a_collector_gets_the_headers_and_attributes_that_the_environment_names() {
    let (place, collector) = (Place::with_database(), Collector::answering(200));
    let options = ["--listen", "127.0.0.1:0", "--otlp-endpoint", &collector.url];
    let mut command = place.command([&["serve"][..], &options].concat());
    let server = Server::start(
        command
            .env(
                "OTEL_EXPORTER_OTLP_HEADERS",
                "x-team=acme,authorization=Bearer%20s3",
            )
            .env(
                "OTEL_RESOURCE_ATTRIBUTES",
                "deployment.environment.name=production",
            ),
    );
    get(&server, "/api/v1/products", "");
    end(server);

    let batches = collector.batches.lock().unwrap();
    let head = batches[0].head.to_ascii_lowercase();
    for line in ["\r\nx-team: acme\r\n", "\r\nauthorization: bearer s3\r\n"] {
        assert!(head.contains(line), "{line}: {head}");
    }
    let resource = batches[0].taken.resource_spans[0].resource.as_ref();
    let said = texts(&resource.unwrap().attributes);
    for (name, value) in [
        ("service.name", "invoicing"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("deployment.environment.name", "production"),
    ] {
        assert_eq!(said[name], value, "{said:?}");
    }
}

#[test]
fn a_script_that_the_database_does_not_run_in_time_has_failed() {
    let (place, collector) = (Place::new(), Collector::answering(200));
    let key = new_key(&place, "read-write");
    let server = serve(&place, &collector, &[]);
    let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    file.execute_batch("BEGIN IMMEDIATE").unwrap();
    let body = json!({"name": "Chair", "unitPrice": 1, "currency": "EUR", "unitOfMeasure": "pcs"})
        .to_string();
    let mut stream = server.connect();
    let request = format!(
        "POST /api/v1/products HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Authorization: Bearer {key}\r\nIdempotency-Key: {TRACE}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let answer = read_all(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    drop(file);
    end(server);

    let spans = collector.spans();
    let write = spans.iter().find(|it| it.name == "write").unwrap();
    assert_eq!(attributes(write)["error.type"], "unavailable");
    assert_eq!(write.status.as_ref().unwrap().code, 2);
}

#[test]
fn a_request_of_a_trace_belongs_to_it_unless_it_is_not_told_or_not_clear() {
    let (place, collector) = (Place::with_database(), Collector::answering(200));
    let server = serve(&place, &collector, &[]);
    let given = |parent: &str| format!("traceparent: {parent}\r\n");
    let told = given(&format!("00-{TRACE}-{PARENT}-01"));
    let state = format!("{told}tracestate: a=1,b=2\r\n");
    let long = format!("{told}tracestate: a={}\r\n", "x".repeat(600));
    let not_told = given(&format!("00-{TRACE}-{PARENT}-00"));
    let belonging = [&told, &state, &long].map(|it| get(&server, "/api/v1/products", it).1);
    get(&server, "/api/v1/products", &not_told);
    let unclear = [
        told.repeat(2),
        given("00-nonsense-01"),
        given(&format!("00-{}-{PARENT}-01", "0".repeat(32))),
        given(&format!("ff-{TRACE}-{PARENT}-01")),
        given(&format!("00-{}-{PARENT}-01", TRACE.to_uppercase())),
    ];
    let unclear = unclear.map(|it| get(&server, "/api/v1/products", &it).1);
    end(server);

    let spans: BTreeMap<_, _> = collector
        .requests()
        .into_iter()
        .map(|span| (hex(&span.span_id), span))
        .collect();
    let of = |id: &String| &spans[&id.replace('-', "")[..16]];
    assert_eq!(spans.len(), belonging.len() + unclear.len());
    for (id, state) in belonging.iter().zip(["", "a=1,b=2", ""]) {
        let span = of(id);
        assert_eq!(
            (
                hex(&span.trace_id).as_str(),
                hex(&span.parent_span_id).as_str()
            ),
            (TRACE, PARENT)
        );
        assert_eq!(span.trace_state, state);
    }
    for id in &unclear {
        let span = of(id);
        assert_eq!(hex(&span.trace_id), id.replace('-', ""));
        assert!(span.parent_span_id.is_empty() && span.trace_state.is_empty());
        // There was no credential.
        assert_eq!(attributes(span)["error.type"], "no_credential");
        assert!(span.status.as_ref().is_none_or(|it| it.code == 0));
    }
}

#[test]
fn of_a_share_of_nothing_nothing_is_told_whatever_a_caller_says() {
    let (place, collector) = (Place::with_database(), Collector::answering(200));
    let server = serve(&place, &collector, &["--trace-ratio", "0"]);
    let told = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\n");
    let (_, id) = get(&server, "/api/v1/products", &told);
    let log = end(server);
    assert_eq!(collector.spans(), []);
    let line = log
        .iter()
        .find(|it| it["request_id"] == id.as_str())
        .unwrap();
    assert_eq!(line["trace_id"], TRACE);
}

#[test]
fn no_span_has_what_is_secret_in_a_path_a_query_or_a_header() {
    const SECRET: &str = "s3cr3t-s3cr3t-s3cr3t";
    let (place, collector) = (Place::with_database(), Collector::answering(200));
    let origin = ["--origin", "http://localhost:8080"];
    let server = serve(&place, &collector, &origin);
    for path in [
        "/invitations/",
        "/reset/",
        "/set-up/",
        "/api/v1/products?after=",
        "/authorize?state=",
    ] {
        let lines = format!("Authorization: Bearer {SECRET}\r\nCookie: session={SECRET}\r\n");
        get(&server, &format!("{path}{SECRET}"), &lines);
    }
    end(server);
    assert!(!collector.requests().is_empty());
    let told = format!("{:?}", collector.spans());
    assert!(!told.contains(SECRET), "{told}");
}

#[test]
fn a_collector_that_takes_nothing_costs_no_request_and_is_told_of_once() {
    let (place, collector) = (Place::with_database(), Collector::answering(503));
    let options = ["--otlp-endpoint", &collector.url];
    let operated = Operated::start(&place, &options);
    for _ in 0..30 {
        assert_eq!(get(&operated.server, "/api/v1/products", "").0, 401);
    }
    let page = operated.get("/metrics").1;
    for (name, value) in [("ended", 30), ("delivered", 0)] {
        let line = format!("invoicing_trace_spans_{name}_total {value}");
        assert!(page.lines().any(|it| it == line), "{line}: {page}");
    }
    let log = end(operated.server);
    let told = log
        .iter()
        .filter(|it| it["msg"] == "the collector does not take spans");
    assert_eq!(told.count(), 1, "{log:#?}");
}

#[test]
fn a_collector_is_an_address_and_a_share_is_at_most_all() {
    let place = Place::with_database();
    for (option, value, why) in [
        ("--otlp-endpoint", "localhost:4318", "http://127.0.0.1:4318"),
        (
            "--otlp-endpoint",
            "http://a/v1/traces",
            "leave out /v1/traces",
        ),
        ("--trace-ratio", "2", "from 0 to 1"),
    ] {
        let said = place.run(&["serve", "--listen", "127.0.0.1:0", option, value]);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.errors.contains(why), "{said:?}");
    }
}
