//! Step 1: the published document as dropshot could emit it at best.

use std::collections::BTreeMap;

use crate::document::{Document, Operation};
use serde_json::{Map, Value, json};

/// The document with its error statuses folded into `4XX` and `5XX`, and what cannot be folded.
pub fn folded(published: &Value) -> (Value, Vec<String>) {
    let document = Document::from_json("published", published.clone());
    let mut json = published.clone();
    let mut problems = Vec::new();
    for operation in &document.operations {
        let responses = fold(&document, operation, &mut problems);
        let place = format!("{}/responses", operation.pointer);
        *json
            .pointer_mut(&place)
            .expect("every operation has responses") = responses;
    }
    (json, problems)
}

fn fold(document: &Document, operation: &Operation, problems: &mut Vec<String>) -> Value {
    let mut responses = Map::new();
    let mut schemas: BTreeMap<String, (u16, Value)> = BTreeMap::new();
    for (status, answer) in &operation.answers {
        if *status < 400 {
            responses.insert(status.to_string(), document.at(&answer.pointer).clone());
            continue;
        }
        let content = document.at(&answer.pointer)["content"].clone();
        let schema = content["application/json"]["schema"].clone();
        let class = format!("{}XX", status / 100);
        let (first, expected) = schemas
            .entry(class.clone())
            .or_insert_with(|| (*status, schema.clone()));
        if *expected != schema {
            problems.push(format!(
                "{} answers {first} and {status} with different schemas, {expected} and {schema}",
                operation.id
            ));
        }
        let error = json!({ "description": "Error", "content": content });
        responses.insert(class, error);
    }
    Value::Object(responses)
}
