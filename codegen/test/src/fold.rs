//! Step 1: the published document as dropshot could emit it at best.

use std::collections::BTreeMap;

use crate::document::Document;
use crate::operation::Operation;
use serde_json::{Map, Value, json};

/// Returns the document as dropshot would emit it if the service did all of it, and what no service could do:
/// statuses that dropshot merges into one although they have different schemas.
///
/// Tests that break one thing at a time, to see whether [`differences`](crate::differences) reports it, start here.
#[must_use]
pub fn folded(published: &Value) -> (Value, Vec<String>) {
    let document = Document::new(published.clone());
    let mut json = published.clone();
    let mut problems = Vec::new();
    let mut put = |place: &str, value: Value| {
        if let Some(there) = json.pointer_mut(place) {
            *there = value;
        }
    };
    // The accepted part of a later version means the same in the one that dropshot writes.
    put("/openapi", "3.0.3".into());
    for operation in &document.operations {
        let responses = fold(&document, operation, &mut problems);
        put(&format!("{}/responses", operation.pointer), responses);
        for parameter in &operation.parameters {
            let schema = document.at(&parameter.schema);
            if parameter.location == "query" && schema["type"] == "array" {
                put(&parameter.schema, schema["items"].clone());
            }
        }
        let place = format!("{}/requestBody", operation.pointer);
        let body = document.at(&place);
        if body.is_object() {
            put(&place, request_body(body.clone()));
        }
    }
    (json, problems)
}

fn fold(document: &Document, operation: &Operation, problems: &mut Vec<String>) -> Value {
    let published = format!("{}/responses", operation.pointer);
    let is_head = operation.method == "HEAD";
    let success = |answer: &Value| {
        let mut answer = answer.clone();
        match answer.as_object_mut().filter(|_| is_head) {
            Some(members) => drop(members.remove("content")),
            None => answer = self::success(answer),
        }
        answer
    };
    let mut responses = Map::new();
    let mut schemas: BTreeMap<String, (String, Value)> = BTreeMap::new();
    let mut bodies: Vec<Value> = Vec::new();
    for status in by_narrowness(document.at(&published)) {
        let answer = &plain_json(document.at(&format!("{published}/{status}")).clone());
        let classes: &[char] = match status.as_str() {
            // The whole response is up to the handler.
            "default" if is_bytes(answer) && is_websocket(document, operation) => {
                let description = &answer["description"];
                responses.insert("101".to_owned(), json!({ "description": description }));
                continue;
            }
            "default" if is_bytes(answer) => {
                responses.insert("default".to_owned(), success(answer));
                continue;
            }
            "default" => &['4', '5'],
            error if error.starts_with('4') => &['4'],
            error if error.starts_with('5') => &['5'],
            "101" => {
                let description = &answer["description"];
                responses.insert("101".to_owned(), json!({ "description": description }));
                continue;
            }
            status => {
                responses.insert(status.to_owned(), success(answer));
                continue;
            }
        };
        let content = answer["content"].clone();
        if content.is_null() || is_head {
            // dropshot does not publish errors without a body.
            continue;
        }
        let schema = content["application/json"]["schema"].clone();
        if !bodies.contains(&schema) {
            bodies.push(schema.clone());
        }
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
    if bodies.len() > 1 {
        let content = json!({ "application/json": { "schema": { "anyOf": bodies } } });
        for error in ["4XX", "5XX"] {
            let error = responses.get_mut(error);
            error
                .into_iter()
                .for_each(|it| it["content"] = content.clone());
        }
    }
    let mut successes: Vec<String> = responses.keys().cloned().collect();
    successes.retain(|it| it.starts_with('2'));
    let mut schemas: Vec<Value> = Vec::new();
    for status in &successes {
        let schema = &responses[status]["content"]["application/json"]["schema"];
        if !schema.is_null() && !schemas.contains(schema) {
            schemas.push(schema.clone());
        }
    }
    for further in successes.iter().skip(1) {
        // dropshot knows one status, and one body: any of several.
        let same = |name: &str| responses[further][name] == responses[&successes[0]][name];
        if !same("headers") {
            continue;
        }
        if !same("content") {
            let schema = match schemas.as_slice() {
                [only] => only.clone(),
                several => json!({ "anyOf": several }),
            };
            responses[&successes[0]]["content"] =
                json!({ "application/json": { "schema": schema } });
        }
        responses.remove(further);
    }
    for (class, other) in [("4XX", "5XX"), ("5XX", "4XX")] {
        if let Some(error) = responses.get(class).cloned() {
            responses.entry(other).or_insert(error);
        }
    }
    Value::Object(responses)
}

/// The statuses of responses, numbers first, then classes, then `default`.
fn by_narrowness(answers: &Value) -> Vec<&String> {
    let mut all: Vec<_> = answers.as_object().into_iter().flatten().collect();
    all.sort_by_key(|(status, _)| {
        let is_class = status.ends_with("XX");
        (*status == "default", is_class, (*status).clone())
    });
    all.into_iter().map(|(status, _)| status).collect()
}

/// A request body as dropshot would write it: always required, in one of the four media types that it knows.
fn request_body(body: Value) -> Value {
    let mut body = plain_json(body);
    body["required"] = true.into();
    let content = body["content"].as_object_mut().into_iter().flatten();
    for (_, media) in content {
        // The accepted part of it has no effect.
        media.as_object_mut().map(|it| it.remove("encoding"));
    }
    let bytes = json!({ "schema": { "type": "string", "format": "binary" } });
    let media = body["content"].as_object().into_iter().flatten().next();
    let Some((media, content)) = media else {
        return body;
    };
    let content = match media.as_str() {
        "application/json" if content.get("schema").is_none() => {
            json!({ "application/json": { "schema": {} } })
        }
        "application/json" | "application/x-www-form-urlencoded" => return body,
        "text/plain" if !is_of_bytes(content) => json!({ "application/json": content }),
        "multipart/form-data" => json!({ "multipart/form-data": bytes }),
        _ => json!({ "application/octet-stream": bytes }),
    };
    body["content"] = content;
    body
}

/// The same body or response, with JSON under the one name that dropshot knows.
fn plain_json(mut holder: Value) -> Value {
    if let Some(content) = holder.get_mut("content").and_then(Value::as_object_mut) {
        let media = content.keys().next().filter(|it| it.ends_with("+json"));
        if let Some(json) = media.cloned().and_then(|it| content.remove(&it)) {
            content.insert("application/json".to_owned(), json);
        }
    }
    holder
}

/// A success as dropshot would write it: JSON, or anything, which then has no headers.
fn success(mut answer: Value) -> Value {
    let media = answer["content"].as_object().into_iter().flatten().next();
    let Some((media, content)) = media else {
        return answer;
    };
    if media == "application/json" && content.get("schema").is_none() {
        answer["content"] = json!({ "application/json": { "schema": {} } });
    } else if media == "text/plain" && !is_of_bytes(content) {
        answer["content"] = json!({ "application/json": content });
    } else if media != "application/json" {
        answer["content"] = json!({ "*/*": { "schema": {} } });
        answer["headers"] = json!({});
    }
    answer
}

/// Earlier versions of dropshot wrote a websocket as a response of anything, with a mark.
fn is_websocket(document: &Document, operation: &Operation) -> bool {
    let operation = document.at(&operation.pointer);
    operation.get("x-dropshot-websocket").is_some()
}

fn is_bytes(answer: &Value) -> bool {
    let mut media = answer["content"].as_object().into_iter().flatten();
    media.any(|(media, _)| media != "application/json")
}

/// Whether nothing describes the bytes that are sent.
fn is_of_bytes(content: &Value) -> bool {
    let schema = &content["schema"];
    schema.is_null() || *schema == json!({}) || schema["format"] == "binary"
}
