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
    let published = format!("{}/responses", operation.pointer);
    let mut responses = Map::new();
    let mut schemas: BTreeMap<String, (String, Value)> = BTreeMap::new();
    for (status, _) in document.at(&published).as_object().into_iter().flatten() {
        let answer = document.at(&format!("{published}/{status}"));
        let classes: &[char] = match status.as_str() {
            "default" => &['4', '5'],
            error if error.starts_with('4') => &['4'],
            error if error.starts_with('5') => &['5'],
            success => {
                responses.insert(success.to_owned(), answer.clone());
                continue;
            }
        };
        let content = answer["content"].clone();
        let schema = content["application/json"]["schema"].clone();
        for class in classes.iter().map(|digit| format!("{digit}XX")) {
            let (first, expected) = schemas
                .entry(class.clone())
                .or_insert_with(|| (status.clone(), schema.clone()));
            if *expected != schema {
                problems.push(format!(
                    "{} answers {first} and {status} with different schemas, {expected} and {schema}",
                    operation.id
                ));
            }
            let error = json!({ "description": "Error", "content": content });
            responses.insert(class, error);
        }
    }
    for (class, other) in [("4XX", "5XX"), ("5XX", "4XX")] {
        if let Some(error) = responses.get(class).cloned() {
            responses.entry(other).or_insert(error);
        }
    }
    Value::Object(responses)
}
