//! What a consumer sees of operations beside their schemas.

use serde_json::Value;
use test_support::document::{Answer, Document, Operation, Parameter};

use super::Change;
use super::schemas::{self, Direction};

/// The changes of two documents, operation by operation.
pub fn changes(old: &Document, new: &Document) -> Vec<Change> {
    let mut changes = Vec::new();
    for before in &old.operations {
        match counterpart(new, before) {
            Some(after) => changes.extend(operation(old, before, new, after)),
            None => changes.push(Change::breaking(&before.pointer, "was removed")),
        }
    }
    for after in &new.operations {
        if counterpart(old, after).is_none() {
            changes.push(Change::compatible(&after.pointer, "was added"));
        }
    }
    for member in ["servers", "components/securitySchemes"] {
        let pointer = format!("/{member}");
        changes.extend(removed_or_changed(
            old.json.pointer(&pointer),
            new.json.pointer(&pointer),
            &pointer,
        ));
    }
    changes
}

/// The operation with the same method and the same path, whatever its variables are called.
fn counterpart<'a>(document: &'a Document, operation: &Operation) -> Option<&'a Operation> {
    document.operations.iter().find(|other| {
        other.method == operation.method
            && other.path.split('/').count() == operation.path.split('/').count()
            && other
                .path
                .split('/')
                .zip(operation.path.split('/'))
                .all(|(a, b)| a == b || (a.starts_with('{') && b.starts_with('{')))
    })
}

/// Members of an object or an array that are no longer there or no longer the same.
fn removed_or_changed(old: Option<&Value>, new: Option<&Value>, place: &str) -> Vec<Change> {
    let old: Vec<_> = match old {
        Some(Value::Array(items)) => items.iter().map(|item| (String::new(), item)).collect(),
        Some(Value::Object(members)) => members
            .iter()
            .map(|(name, member)| (format!("/{name}"), member))
            .collect(),
        _ => Vec::new(),
    };
    old.into_iter()
        .filter(|(pointer, member)| {
            let now = match new {
                Some(Value::Array(items)) => items.iter().collect(),
                Some(object) => object.pointer(pointer).into_iter().collect(),
                None => Vec::new(),
            };
            !now.iter()
                .any(|now| without_text(now) == without_text(member))
        })
        .map(|(pointer, member)| {
            Change::breaking(
                format!("{place}{pointer}"),
                format!("{member} is no longer there"),
            )
        })
        .collect()
}

/// A value without the members that only explain it.
fn without_text(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(members) = value.as_object_mut() {
        members.remove("description");
    }
    value
}

fn operation(old: &Document, before: &Operation, new: &Document, after: &Operation) -> Vec<Change> {
    let place = &after.pointer;
    let mut changes = Vec::new();
    if before.id != after.id {
        let what = format!("operationId {} became {}", before.id, after.id);
        changes.push(Change::breaking(place, what));
    }
    if security(old, before) != security(new, after) {
        changes.push(Change::breaking(place, "needs another credential"));
    }
    for member in ["tags", "deprecated"] {
        let value = |document: &Document, operation: &Operation| {
            document.at(&operation.pointer)[member].clone()
        };
        if value(old, before) != value(new, after) {
            changes.push(Change::compatible(place, format!("{member} changed")));
        }
    }
    changes.extend(parameters(old, before, new, after));
    changes.extend(body(old, before, new, after));
    changes.extend(answers(old, before, new, after));
    changes
}

fn security(document: &Document, operation: &Operation) -> Value {
    let own = document.at(&operation.pointer).get("security");
    own.or(document.json.get("security"))
        .cloned()
        .unwrap_or_default()
}

fn parameters(
    old: &Document,
    before: &Operation,
    new: &Document,
    after: &Operation,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, parameter) in before.parameters.iter().enumerate() {
        let place = format!("{} {} {}", after.id, parameter.location, parameter.name);
        let Some(now) = find(before, index, after) else {
            changes.push(Change::breaking(place, "the parameter was removed"));
            continue;
        };
        match (parameter.required, now.required) {
            (false, true) => changes.push(Change::breaking(&place, "is required now")),
            (true, false) => changes.push(Change::compatible(&place, "is optional now")),
            _ => {}
        }
        for member in ["style", "explode", "allowReserved"] {
            if old.at(&parameter.pointer).get(member) != new.at(&now.pointer).get(member) {
                changes.push(Change::breaking(&place, format!("{member} changed")));
            }
        }
        let direction = Direction::Request;
        changes.extend(schemas::changes(
            old,
            &parameter.schema,
            new,
            &now.schema,
            direction,
        ));
    }
    for (index, parameter) in after.parameters.iter().enumerate() {
        if find(after, index, before).is_none() {
            let place = format!("{} {} {}", after.id, parameter.location, parameter.name);
            changes.push(match parameter.required {
                true => Change::breaking(place, "a required parameter was added"),
                false => Change::compatible(place, "a parameter was added"),
            });
        }
    }
    changes
}

/// The same parameter of another operation. Those of the path go by their place in it.
fn find<'a>(owner: &Operation, index: usize, other: &'a Operation) -> Option<&'a Parameter> {
    let key = |operation: &Operation, parameter: &Parameter| match parameter.location.as_str() {
        "path" => {
            let variable = format!("{{{}}}", parameter.name);
            let place = operation
                .path
                .split('/')
                .position(|segment| segment == variable);
            format!("path {place:?}")
        }
        "header" => format!("header {}", parameter.name.to_lowercase()),
        location => format!("{location} {}", parameter.name),
    };
    let wanted = key(owner, &owner.parameters[index]);
    other
        .parameters
        .iter()
        .find(|parameter| key(other, parameter) == wanted)
}

fn body(old: &Document, before: &Operation, new: &Document, after: &Operation) -> Vec<Change> {
    let place = format!("{}/requestBody", after.pointer);
    let required = |document: &Document, operation: &Operation| {
        let body = document.at(&format!("{}/requestBody", operation.pointer));
        body["required"].as_bool().unwrap_or_default()
    };
    match (&before.body, &after.body) {
        (None, None) => Vec::new(),
        (Some(_), None) => vec![Change::breaking(place, "was removed")],
        (None, Some(_)) if required(new, after) => vec![Change::breaking(place, "is required now")],
        (None, Some(_)) => vec![Change::compatible(place, "was added")],
        (Some(schema), Some(now)) => {
            let mut changes = schemas::changes(old, schema, new, now, Direction::Request);
            match (required(old, before), required(new, after)) {
                (false, true) => changes.push(Change::breaking(place, "is required now")),
                (true, false) => changes.push(Change::compatible(place, "is optional now")),
                _ => {}
            }
            changes
        }
    }
}

fn answers(old: &Document, before: &Operation, new: &Document, after: &Operation) -> Vec<Change> {
    let mut changes = Vec::new();
    for (status, answer) in &before.answers {
        let place = format!("{} {status}", after.id);
        match after.answers.get(status) {
            Some(now) => changes.extend(answer_changes(old, answer, new, now, &place)),
            None => changes.push(Change::breaking(place, "the status was removed")),
        }
    }
    for status in after.answers.keys() {
        if !before.answers.contains_key(status) {
            let place = format!("{} {status}", after.id);
            changes.push(match status {
                400.. => Change::compatible(place, "an error status was added"),
                _ => Change::breaking(place, "another way to succeed was added"),
            });
        }
    }
    changes
}

fn answer_changes(
    old: &Document,
    before: &Answer,
    new: &Document,
    after: &Answer,
    place: &str,
) -> Vec<Change> {
    let direction = Direction::Answer;
    let mut changes = Vec::new();
    for (media, schema) in &before.content {
        match after.content.get(media) {
            Some(now) => changes.extend(schemas::changes(old, schema, new, now, direction)),
            None => changes.push(Change::breaking(place, format!("{media} was removed"))),
        }
    }
    if before.content.is_empty() && !after.content.is_empty() {
        changes.push(Change::breaking(place, "has a body now"));
    }
    for (name, header) in &before.headers {
        let place = format!("{place} header {name}");
        let Some(now) = after.headers.get(name) else {
            changes.push(Change::breaking(place, "was removed"));
            continue;
        };
        if header.required && !now.required {
            changes.push(Change::breaking(place, "is optional now"));
        }
        changes.extend(schemas::changes(
            old,
            &header.schema,
            new,
            &now.schema,
            direction,
        ));
    }
    for name in after
        .headers
        .keys()
        .filter(|name| !before.headers.contains_key(*name))
    {
        changes.push(Change::compatible(
            place,
            format!("header {name} was added"),
        ));
    }
    let (errors, errors_now) = (old.errors(before), new.errors(after));
    for (kind, code) in errors.difference(&errors_now) {
        let what = format!("the error {kind} {code} was removed");
        changes.push(Change::breaking(place, what));
    }
    for (kind, code) in errors_now.difference(&errors) {
        let what = format!("the error {kind} {code} was added");
        changes.push(Change::compatible(place, what));
    }
    changes
}
