//! Step 4: what must be exactly the same.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::Document;
use crate::operation::{Operation, escape};
use serde_json::{Map, Value, json};

/// Returns the differences of two documents in what `drift` does not look at.
pub fn differences(published: &Document, emitted: &Document) -> Vec<String> {
    let describe = |document: &Document| -> BTreeMap<String, Value> {
        let operations = document.operations.iter();
        operations
            .map(|operation| {
                let place = format!("{} {}", operation.method, operation.path);
                (place, description(document, operation))
            })
            .collect()
    };
    let (published, emitted) = (describe(published), describe(emitted));
    let places: BTreeSet<_> = published.keys().chain(emitted.keys()).collect();
    places
        .into_iter()
        .flat_map(|place| {
            let (published, emitted) = (published.get(place), emitted.get(place));
            unequal(place, published, emitted)
        })
        .collect()
}

/// An operation without anything that only explains it.
fn description(document: &Document, operation: &Operation) -> Value {
    let published = document.at(&operation.pointer);
    let parameters: BTreeMap<_, _> = operation
        .parameters
        .iter()
        .map(|parameter| {
            let place = format!("{} {}", parameter.location, parameter.name);
            let stated = document.at(&parameter.pointer);
            // Stating the default means the same as leaving it out.
            let usual = match parameter.location.as_str() {
                "query" => ("form", true),
                _ => ("simple", false),
            };
            let description = json!({
                "required": parameter.required,
                "style": stated.get("style").filter(|it| *it != usual.0),
                "explode": stated.get("explode").filter(|it| *it != usual.1),
                "description": stated.get("description"),
                "schema": shape(document, &parameter.schema, &mut Vec::new()),
            });
            (place, description)
        })
        .collect();
    let answers: BTreeMap<_, _> = published["responses"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(status, _)| (status.clone(), answer(document, operation, status)))
        .collect();
    json!({
        "operationId": operation.id,
        "tags": published["tags"],
        "deprecated": published["deprecated"] == json!(true),
        "summary": published["summary"],
        "description": published["description"],
        "parameters": parameters,
        "body": operation.body.as_ref().map(|body| shape(document, body, &mut Vec::new())),
        "answers": answers,
    })
}

fn answer(document: &Document, operation: &Operation, status: &str) -> Value {
    let (pointer, answer) = document.resolve(&format!("{}/responses/{status}", operation.pointer));
    let members = |name: &str| answer[name].as_object().into_iter().flatten();
    let content: Map<_, _> = members("content")
        .map(|(media, _)| {
            let schema = format!("{pointer}/content/{}/schema", escape(media));
            (media.clone(), shape(document, &schema, &mut Vec::new()))
        })
        .collect();
    let headers: Map<_, _> = members("headers")
        .map(|(name, _)| {
            let (header, stated) = document.resolve(&format!("{pointer}/headers/{}", escape(name)));
            let description = json!({
                "required": stated["required"] == json!(true),
                "schema": shape(document, &format!("{header}/schema"), &mut Vec::new()),
            });
            (name.to_lowercase(), description)
        })
        .collect();
    json!({ "content": content, "headers": headers })
}

/// Keywords that do not say which values are valid.
pub(super) const TEXTS: [&str; 4] = ["description", "title", "example", "externalDocs"];

/// A schema with its references replaced by their targets and its texts removed. A reference to a
/// schema that is already being expanded stays, by name.
fn shape(document: &Document, pointer: &str, above: &mut Vec<String>) -> Value {
    let (pointer, schema) = document.resolve(pointer);
    if above.contains(&pointer) {
        return Value::String(pointer);
    }
    above.push(pointer.clone());
    let members = schema.as_object().into_iter().flatten();
    let shape: Map<_, _> = members
        .filter(|(name, _)| !TEXTS.contains(&name.as_str()) && !name.starts_with("x-"))
        .map(|(name, value)| {
            let place = format!("{pointer}/{}", escape(name));
            let value = match (name.as_str(), value) {
                ("properties", Value::Object(properties)) => properties
                    .keys()
                    .map(|name| {
                        let property = format!("{place}/{}", escape(name));
                        (name.clone(), shape(document, &property, above))
                    })
                    .collect::<Map<_, _>>()
                    .into(),
                ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => (0..branches.len())
                    .map(|index| shape(document, &format!("{place}/{index}"), above))
                    .collect(),
                ("items" | "additionalProperties", Value::Object(_)) => {
                    shape(document, &place, above)
                }
                ("required", Value::Array(names)) => sorted(names),
                _ => value.clone(),
            };
            (name.clone(), value)
        })
        .collect();
    above.pop();
    Value::Object(shape)
}

fn sorted(names: &[Value]) -> Value {
    let mut names = names.to_vec();
    names.sort_by_key(Value::to_string);
    Value::Array(names)
}

/// Returns every place at which two values differ.
fn unequal(place: &str, published: Option<&Value>, emitted: Option<&Value>) -> Vec<String> {
    match (published, emitted) {
        (Some(Value::Object(published)), Some(Value::Object(emitted))) => {
            let names: BTreeSet<_> = published.keys().chain(emitted.keys()).collect();
            names
                .into_iter()
                .flat_map(|name| {
                    let place = format!("{place} {name}");
                    unequal(&place, published.get(name), emitted.get(name))
                })
                .collect()
        }
        _ if published == emitted => Vec::new(),
        _ => {
            let text = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
            let (published, emitted) = (text(published), text(emitted));
            vec![format!(
                "{place}: published is {published}, emitted is {emitted}"
            )]
        }
    }
}
