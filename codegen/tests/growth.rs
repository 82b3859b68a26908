//! The generator's cost grows no faster than the document: eight times the document costs about eight times
//! the processor time, where looking at all types for each type would cost up to 64 times.

use openapi_dropshot::Document;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};

/// What eight times the document may cost; the margin above eight is for caches and other load.
const LIMIT: f64 = 11.0;

/// A document with this many components of each kind, and as many operations.
fn document(components: usize, operations: usize) -> Document {
    let mut schemas = Map::new();
    for i in 0..components {
        let named = [
            (
                "Name",
                json!({ "type": "string", "minLength": 1, "maxLength": 20 }),
            ),
            (
                "State",
                json!({ "type": "string", "enum": ["open", "in between", "+1"] }),
            ),
            (
                "Count",
                json!({ "type": "integer", "minimum": 1, "maximum": 20 }),
            ),
            (
                "Record",
                json!({
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": reference(&format!("Name{i}")),
                        "type": reference(&format!("State{i}")),
                        "count": reference(&format!("Count{i}")),
                    },
                }),
            ),
        ];
        schemas.extend(named.map(|(kind, schema)| (format!("{kind}{i}"), schema)));
    }
    let paths: Map<String, Value> = (0..operations)
        .map(|i| (format!("/records{i}"), path(i, i % components)))
        .collect();
    let source = json!({
        "openapi": "3.0.3",
        "info": { "title": "Growth", "version": "1" },
        "paths": paths,
        "components": { "schemas": schemas },
    });
    Document::parse("growth.json", &source.to_string(), "growth")
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn reference(component: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{component}") })
}

fn path(operation: usize, component: usize) -> Value {
    let body = |kind| {
        let schema = reference(&format!("{kind}{component}"));
        json!({ "application/json": { "schema": schema } })
    };
    json!({ "put": {
        "operationId": format!("put_record_{operation}"),
        "parameters": [{ "name": "limit", "in": "query", "schema": reference(&format!("Count{component}")) }],
        "requestBody": { "required": true, "content": body("Record") },
        "responses": {
            "200": { "description": "The record.", "content": body("Record") },
            "404": { "description": "There is none.", "content": body("Name") },
            "409": { "description": "It is another.", "content": body("Record") },
        },
    } })
}

/// The processor time of this thread that generating takes, in seconds.
fn cost(document: &Document) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let start = now();
    openapi_dropshot::server(document).unwrap();
    openapi_dropshot::client(std::slice::from_ref(document), None, None).unwrap();
    now() - start
}

/// Other load makes a program slower, and never faster: one measurement of three below the limit is enough.
fn grows_with_the_document(document: impl Fn(usize) -> Document) {
    let ratios: Vec<f64> = std::iter::repeat_with(|| cost(&document(8)) / cost(&document(1)))
        .take(3)
        .inspect(|ratio| println!("eight times the document costs {ratio:.1} times as much"))
        .take_while(|ratio| *ratio > LIMIT)
        .collect();
    assert!(
        ratios.len() < 3,
        "eight times the document costs {ratios:.1?} times as much"
    );
}

#[test]
fn cost_grows_with_the_number_of_components() {
    grows_with_the_document(|times| document(40 * times, 1));
}

#[test]
fn cost_grows_with_the_number_of_operations() {
    grows_with_the_document(|times| document(1, 10 * times));
}
