//! Compares one answer with what the published document lists for its operation.
//!
//! 1. The status is listed for the operation.
//! 2. Every header is listed for the status, and valid; every required one is present.
//! 3. The body has a listed media type and is valid under its schema; no body where none is listed.
//! 4. `x-request-id` is present, and an error body has the same id.
//! 5. The type and code of an error are shown by an example of this answer, and it has details
//!    exactly when it is a `validation_error`.
//! 6. A method that the path does not have: 405, `Allow` with exactly the published methods, and a
//!    body in the error shape of the path. The document cannot list such an answer, because it
//!    belongs to no operation.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::document::{Document, DocumentedResponse, Operation, error_code};

/// Headers that belong to HTTP itself and that OpenAPI therefore does not describe.
const TRANSPORT: [&str; 6] = [
    "connection",
    "content-length",
    "content-type",
    "date",
    "transfer-encoding",
    "vary",
];

/// Names of further headers, separated by commas, which the proxies in front of a deployment add
/// (`via,alt-svc`).
pub const PROXY_HEADERS: &str = "INVOICING_PROXY_HEADERS";

/// The answer to a request as received.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// The status code.
    pub status: u16,
    /// The headers in the order received, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as received.
    pub body: Vec<u8>,
}

impl Received {
    /// The value of the header with this name, even if it came more than once.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Everything about an answer that the document does not list; empty when it lists all of it.
pub fn problems(document: &Document, method: &str, path: &str, received: &Received) -> Vec<String> {
    let mut problems = match document.operation_at(method, path) {
        Some(operation) => answer(document, operation, received),
        None => not_allowed(document, method, path, received),
    };
    problems.extend(request_id(received));
    problems
}

/// Step 1, and the others if it is listed.
fn answer(document: &Document, operation: &Operation, received: &Received) -> Vec<String> {
    let Some(listed) = operation.answers.get(&received.status) else {
        let statuses: Vec<_> = operation.answers.keys().map(u16::to_string).collect();
        return vec![format!(
            "status {} is not listed for {} (listed: {})",
            received.status,
            operation.id,
            statuses.join(", ")
        )];
    };
    let mut problems = headers(document, listed, received);
    problems.extend(body(document, listed, received));
    problems.extend(error(document, listed, received));
    problems
}

/// Step 2.
fn headers(document: &Document, listed: &DocumentedResponse, received: &Received) -> Vec<String> {
    let proxies = std::env::var(PROXY_HEADERS).unwrap_or_default();
    let proxies: Vec<_> = proxies.split(',').map(str::trim).collect();
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for (name, value) in &received.headers {
        if TRANSPORT.contains(&name.as_str()) || proxies.contains(&name.as_str()) {
            continue;
        }
        if !seen.insert(name) {
            problems.push(format!("header {name} came more than once"));
        }
        let Some(header) = listed.headers.get(name) else {
            problems.push(format!("header {name}: {value} is not listed"));
            continue;
        };
        let value = header_value(document.at(&header.schema), value);
        for violation in document.schemas.violations(&header.schema, &value) {
            problems.push(format!(
                "header {name}: {value} violates {}",
                violation.constraint
            ));
        }
    }
    for (name, header) in &listed.headers {
        if header.required && !seen.contains(name) {
            problems.push(format!("header {name} is required and missing"));
        }
    }
    problems
}

/// A header's text as the JSON value that its schema describes (OpenAPI's style `simple`).
fn header_value(schema: &Value, text: &str) -> Value {
    match schema["type"].as_str() {
        Some("integer" | "number" | "boolean") => serde_json::from_str(text).unwrap_or_default(),
        _ => Value::String(text.to_owned()),
    }
}

/// Step 3.
fn body(document: &Document, listed: &DocumentedResponse, received: &Received) -> Vec<String> {
    if listed.content.is_empty() {
        return match received.body.len() {
            0 => Vec::new(),
            length => vec![format!("a body of {length} bytes where none is listed")],
        };
    }
    let media = received.header("content-type").unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    let Some(schema) = listed.content.get(media) else {
        return vec![format!("the media type {media:?} is not listed")];
    };
    let value = match serde_json::from_slice(&received.body) {
        Ok(value) => value,
        Err(error) => return vec![format!("the body is no JSON: {error}")],
    };
    document
        .schemas
        .violations(schema, &value)
        .iter()
        .map(|violation| format!("the body violates {violation}"))
        .collect()
}

/// Step 4.
fn request_id(received: &Received) -> Vec<String> {
    let Some(header) = received.header("x-request-id") else {
        return vec!["header x-request-id is missing".to_owned()];
    };
    if received.status < 400 || received.body.is_empty() {
        return Vec::new();
    }
    let json = received.json();
    let named = json
        .pointer("/error/request_id")
        .or(json.pointer("/request_id"));
    match named.and_then(Value::as_str) {
        Some(id) if id == header => Vec::new(),
        Some(id) => vec![format!("the error names request {id}, the header {header}")],
        None => vec!["the error names no request id".to_owned()],
    }
}

/// Step 5.
fn error(document: &Document, listed: &DocumentedResponse, received: &Received) -> Vec<String> {
    let body = received.json();
    let Some((kind, code)) = error_code(&body) else {
        return Vec::new(); // No error, or one without a code, which its schema has refused.
    };
    let mut problems = Vec::new();
    let shown = document.errors(listed);
    if !shown.contains(&(kind.clone(), code.clone())) {
        problems.push(format!(
            "no example shows the error {kind} {code}; they show {shown:?}"
        ));
    }
    if body["error"].is_object() && body["error"].get("details").is_some() != (kind == VALIDATION) {
        problems.push(format!(
            "details belong to a {VALIDATION}, and to no {kind}"
        ));
    }
    problems
}

/// The type of errors that list violations.
const VALIDATION: &str = "validation_error";

/// Step 6.
fn not_allowed(document: &Document, method: &str, path: &str, received: &Received) -> Vec<String> {
    let published: BTreeSet<_> = document
        .operations_at(path)
        .into_iter()
        .map(|operation| operation.method.as_str())
        .collect();
    if published.is_empty() {
        return vec![format!(
            "{} has no path that {path} is an instance of",
            document.name
        )];
    }
    let mut problems = Vec::new();
    if received.status != 405 {
        problems.push(format!(
            "{method} is not published for this path, so that the status is 405, not {}",
            received.status
        ));
    }
    let allow = received.header("allow").unwrap_or_default();
    let allowed: BTreeSet<_> = allow.split(',').map(str::trim).collect();
    if allowed != published {
        problems.push(format!("Allow is {allow:?}, published are {published:?}"));
    }
    // An answer to HEAD has the headers of a body, not the body.
    if method != "HEAD" {
        problems.extend(path_error(document, path, received));
    }
    problems
}

/// Checks the body of an answer that no operation lists against the error schema of the path.
fn path_error(document: &Document, path: &str, received: &Received) -> Vec<String> {
    let mut errors = document
        .operations_at(path)
        .into_iter()
        .flat_map(|operation| operation.answers.iter())
        .filter(|(status, _)| **status >= 400)
        .map(|(_, answer)| answer);
    match errors.next() {
        Some(listed) => body(document, listed, received),
        None => vec![format!("no operation of {path} lists an error")],
    }
}
