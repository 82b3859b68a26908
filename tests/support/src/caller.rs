//! The only way in which tests send requests: every answer goes through the response validator.
//!
//! A [`Request`] can be anything that HTTP can express, including what no generated client would send: other
//! methods, repeated parameters, headers of raw bytes, bodies that never end. The result is an [`Answer`]; an
//! answer that the published document does not list fails the test, which prints the request, the answer and
//! what is wrong with it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, SERVER,
};
use serde_json::Value;

use crate::document::{self, Document, error_code};
use crate::response_validator::{Received, problems};
use crate::schema::Violation;

/// Longer than any answer may take, so that a hanging server fails a test instead of stopping it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    target: String,
    headers: HeaderMap,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    None,
    Complete(Vec<u8>),
    /// These bytes, without a declared length.
    Streamed(Vec<u8>),
    /// These bytes, and then nothing more, while the request stays open.
    Stalled(Vec<u8>),
}

impl Request {
    /// A request without headers and body. `target` is the path with its query, percent-encoded.
    pub fn new(method: &str, target: impl Into<String>) -> Self {
        Self {
            method: method.to_owned(),
            target: target.into(),
            headers: HeaderMap::new(),
            body: Body::None,
        }
    }

    /// With `Authorization: Bearer` and this credential, replacing any other.
    pub fn bearer(self, credential: &str) -> Self {
        self.without_header("authorization")
            .header("authorization", format!("Bearer {credential}"))
    }

    /// With one more header, whose value may be any bytes that HTTP allows.
    ///
    /// # Panics
    ///
    /// When HTTP does not allow the name or the value.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("HTTP allows the name");
        let value = HeaderValue::from_bytes(value.as_ref()).expect("HTTP allows the value");
        self.headers.append(name, value);
        self
    }

    /// Without the headers of this name.
    pub fn without_header(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    /// With another path and query.
    pub fn target(mut self, target: impl Into<String>) -> Self {
        self.target = target.into();
        self
    }

    /// With another method.
    pub fn method(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    /// With a JSON body.
    pub fn json(self, value: &Value) -> Self {
        self.text(value.to_string())
    }

    /// With this text as a JSON body, for numbers that no [`Value`] can hold and for invalid JSON.
    pub fn text(mut self, text: impl Into<Vec<u8>>) -> Self {
        let json = HeaderValue::from_static("application/json");
        self.headers.insert(CONTENT_TYPE, json);
        self.body = Body::Complete(text.into());
        self
    }

    /// With this text as a JSON body whose length is not declared.
    pub fn streamed(mut self, text: impl Into<Vec<u8>>) -> Self {
        self = self.text("");
        self.body = Body::Streamed(text.into());
        self
    }

    /// With only the beginning of a body of `length` bytes; the rest never comes.
    pub fn stalled(mut self, beginning: impl Into<Vec<u8>>, length: usize) -> Self {
        let json = HeaderValue::from_static("application/json");
        self.headers.insert(CONTENT_TYPE, json);
        self.headers
            .insert(CONTENT_LENGTH, HeaderValue::from(length));
        self.body = Body::Stalled(beginning.into());
        self
    }

    /// The method.
    pub fn method_name(&self) -> &str {
        &self.method
    }

    /// The path, without the query.
    pub fn path(&self) -> &str {
        let (path, _) = self.target.split_once('?').unwrap_or((&self.target, ""));
        path
    }
}

/// A server's answer to a request, after the response validator has accepted it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The operation that answered; `None` when the method is not published for the path.
    pub operation: Option<String>,
    /// The answer as received.
    pub received: Received,
}

impl Answer {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.received.status
    }

    /// The body; null when there is none.
    pub fn json(&self) -> Value {
        self.received.json()
    }

    /// The body as received, for numbers that must not be rounded.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.received.body).into_owned()
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.received.header(name)
    }

    /// The `data` member of the body.
    pub fn data(&self) -> Value {
        self.json()["data"].take()
    }

    /// The code of an error; empty for a success.
    pub fn code(&self) -> String {
        error_code(&self.json()).unwrap_or_default().1
    }

    /// The violations in the details of an error.
    pub fn violations(&self) -> BTreeSet<Violation> {
        let json = self.json();
        let details = json["error"]["details"].as_array();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        details
            .into_iter()
            .flatten()
            .map(|detail| Violation::new(text(&detail["path"]), text(&detail["constraint"])))
            .collect()
    }

    /// Asserts the status, and for an error its code.
    #[track_caller]
    pub fn expect(self, status: u16, code: &str) -> Self {
        let got = (self.status(), self.code());
        assert_eq!(got, (status, code.to_owned()), "{}", self.text());
        self
    }

    /// Asserts a success with this status.
    #[track_caller]
    pub fn expect_status(self, status: u16) -> Self {
        assert_eq!(self.status(), status, "{}", self.text());
        self
    }
}

/// Sends requests to one server.
#[derive(Clone, Debug)]
pub struct Caller {
    http: reqwest::Client,
    base_url: String,
    /// Whether the server is behind a proxy.
    proxied: bool,
}

impl Caller {
    /// A caller of the server at this address.
    ///
    /// # Panics
    ///
    /// When no HTTP client can be made on this machine.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self::with(base_url, |http| http)
    }

    /// A caller that speaks HTTP/2 from the start, and sends everything over one connection.
    ///
    /// # Panics
    ///
    /// When no HTTP client can be made on this machine.
    pub fn over_http2(base_url: impl Into<String>) -> Self {
        Self::with(base_url, reqwest::ClientBuilder::http2_prior_knowledge)
    }

    /// A caller of a proxy that speaks TLS and presents this certificate, in PEM; nothing else is trusted. The
    /// proxy's own `Server` header is left out of the answers.
    ///
    /// # Panics
    ///
    /// When that is not a certificate.
    pub fn through_proxy(base_url: impl Into<String>, certificate: &str) -> Self {
        let certificate = reqwest::Certificate::from_pem(certificate.as_bytes());
        let certificate = certificate.expect("a certificate in PEM");
        Self {
            proxied: true,
            ..Self::with(base_url, |http| http.tls_certs_only([certificate]))
        }
    }

    fn with(
        base_url: impl Into<String>,
        complete: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
    ) -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(ANSWER_TIMEOUT);
        Self {
            http: complete(http).build().expect("an HTTP client can be made"),
            base_url: base_url.into(),
            proxied: false,
        }
    }

    /// The server's address.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Sends a request to a published path.
    ///
    /// # Panics
    ///
    /// When the path is not published, when no answer comes, or when the document does not list it.
    pub async fn send(&self, request: Request) -> Answer {
        let answer = self.try_send(request.clone()).await;
        answer.unwrap_or_else(|error| panic!("no answer: {error}\n{}", describe(&request)))
    }

    /// The same, for a server that may be down.
    ///
    /// # Errors
    ///
    /// When no answer comes.
    ///
    /// # Panics
    ///
    /// When the path is not published, or the document does not list the answer.
    pub async fn try_send(&self, request: Request) -> Result<Answer, reqwest::Error> {
        let document = published_at(request.path())
            .unwrap_or_else(|| panic!("no published path is like {}", request.path()));
        let received = self.send_unchecked(request.clone()).await?;
        let problems = problems(&document, &request.method, request.path(), &received);
        assert!(
            problems.is_empty(),
            "openapi/{}.yaml does not list this answer:\n- {}\n\n{}\n\n{}",
            document.name,
            problems.join("\n- "),
            describe(&request),
            describe_answer(&received)
        );
        let operation = document.operation_at(&request.method, request.path());
        Ok(Answer {
            operation: operation.map(|operation| operation.id.clone()),
            received,
        })
    }

    /// Sends a request whose answer no document describes, such as one to an unpublished path, or one to a
    /// server that may be down.
    ///
    /// # Errors
    ///
    /// When no answer comes.
    pub async fn send_unchecked(&self, request: Request) -> Result<Received, reqwest::Error> {
        let method = request.method.as_bytes();
        let method = reqwest::Method::from_bytes(method).expect("HTTP allows the method");
        let url = format!("{}{}", self.base_url, request.target);
        let mut sending = self.http.request(method, url).headers(request.headers);
        sending = match request.body {
            Body::None => sending,
            Body::Complete(bytes) => sending.body(bytes),
            Body::Streamed(bytes) => sending.body(reqwest::Body::wrap_stream(once(bytes))),
            Body::Stalled(beginning) => {
                let stalled = once(beginning).chain(futures::stream::pending());
                sending.body(reqwest::Body::wrap_stream(stalled))
            }
        };
        let answer = sending.send().await?;
        let status = answer.status().as_u16();
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = answer
            .headers()
            .iter()
            .filter(|(name, _)| !(self.proxied && *name == SERVER))
            .map(|(name, value)| (name.as_str().to_owned(), text(value)))
            .collect();
        let body = answer.bytes().await?.to_vec();
        Ok(Received {
            status,
            headers,
            body,
        })
    }
}

/// A stream of one piece.
fn once(bytes: Vec<u8>) -> impl Stream<Item = std::io::Result<Vec<u8>>> + Send + 'static {
    futures::stream::once(async move { Ok(bytes) })
}

/// The published document that a path belongs to.
fn published_at(path: &str) -> Option<Arc<Document>> {
    [document::catalog(), document::mobile()]
        .into_iter()
        .find(|document| !document.operations_at(path).is_empty())
}

/// Describes a request for people, without its credential: the server may be a deployment.
fn describe(request: &Request) -> String {
    let mut text = format!("request: {} {}", request.method, request.target);
    for (name, value) in &request.headers {
        let value = match *name {
            AUTHORIZATION => format!("({} bytes)", value.len()),
            _ => format!("{value:?}"),
        };
        let _ = write!(text, "\n  {name}: {value}");
    }
    if let Body::Complete(body) | Body::Streamed(body) | Body::Stalled(body) = &request.body {
        let _ = write!(text, "\n  {}", beginning(body));
    }
    text
}

fn describe_answer(received: &Received) -> String {
    let mut text = format!("answer: {}", received.status);
    for (name, value) in &received.headers {
        let _ = write!(text, "\n  {name}: {value}");
    }
    text + "\n  " + &beginning(&received.body)
}

/// As much of a body as a person would read.
fn beginning(body: &[u8]) -> String {
    String::from_utf8_lossy(body).chars().take(2000).collect()
}
