//! Parameters in paths, queries and headers.

use serde_json::Value;
use test_support::caller::{Answer, Request};
use test_support::deployment::available;
use test_support::document::{self, Document, Operation, Parameter};
use test_support::given;
use test_support::schema::Violation;

use super::values::{Try, tries};
use crate::given::given;

#[tokio::test]
async fn every_parameter_is_checked_on_both_sides_of_every_keyword() {
    let given = given!(given());
    let mut wrong = Vec::new();
    let mut sent = 0;
    for document in [document::catalog(), document::mobile()] {
        for operation in &document.operations {
            let Some(valid) = available(given.request(&operation.id).await) else {
                continue;
            };
            for parameter in &operation.parameters {
                for attempt in tries(&document, &parameter.schema) {
                    let Some(text) = text(parameter, &attempt) else {
                        continue;
                    };
                    let request = with(&document, operation, parameter, &valid, &text);
                    let answer = given.send(request).await;
                    wrong.extend(complaint(operation, parameter, &attempt, &answer));
                    sent += 1;
                }
                if parameter.required && parameter.location != "path" {
                    let answer = given
                        .send(valid.clone().without_header(&parameter.name))
                        .await;
                    let expected = Violation::new(&parameter.name, "required");
                    let named = answer.violations().contains(&expected);
                    wrong.extend(
                        (!named).then(|| format!("{} without {}", operation.id, parameter.name)),
                    );
                }
            }
        }
    }
    assert!(wrong.is_empty(), "of {sent}: {wrong:#?}");
    assert!(sent > 50, "only {sent} values were sent");
}

/// The value as the text of a parameter; `None` if it cannot be sent in this place.
fn text(parameter: &Parameter, attempt: &Try) -> Option<String> {
    let value: Value = serde_json::from_str(&attempt.literal).ok()?;
    let text = match &value {
        Value::String(text) => text.clone(),
        // Text that looks like another type is text.
        _ if attempt.keyword == "type" && !attempt.literal.contains('.') => return None,
        _ => attempt.literal.clone(),
    };
    let sendable = match parameter.location.as_str() {
        "path" => !text.is_empty(),
        "header" => text.trim() == text && !text.contains(|character: char| character.is_control()),
        _ => true,
    };
    sendable.then_some(text)
}

/// The valid request with this text for the parameter.
fn with(
    document: &Document,
    operation: &Operation,
    parameter: &Parameter,
    valid: &Request,
    text: &str,
) -> Request {
    assert!(
        document
            .operation_at(&operation.method, valid.path())
            .is_some()
    );
    match parameter.location.as_str() {
        "path" => {
            let variable = format!("{{{}}}", parameter.name);
            let segments = operation.path.split('/').zip(valid.path().split('/'));
            let segments = segments.map(|(template, segment)| match template == variable {
                true => encoded(text),
                false => segment.to_owned(),
            });
            valid.clone().target(segments.collect::<Vec<_>>().join("/"))
        }
        "query" => {
            let target = format!("{}?{}={}", valid.path(), parameter.name, encoded(text));
            valid.clone().target(target)
        }
        "header" => {
            let request = valid.clone().without_header(&parameter.name);
            request.header(&parameter.name, text)
        }
        other => panic!("these tests cannot send parameters in {other}"),
    }
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte.is_ascii_alphanumeric() {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

/// What is wrong with the answer, if anything.
fn complaint(
    operation: &Operation,
    parameter: &Parameter,
    attempt: &Try,
    answer: &Answer,
) -> Option<String> {
    let violations = answer.violations();
    let right = match attempt.valid {
        // The only complaint left about a cursor is that it is not one of this list.
        true => violations
            .iter()
            .all(|violation| violation.constraint == "cursor"),
        false => violations.contains(&Violation::new(&parameter.name, attempt.keyword)),
    };
    (!right).then(|| {
        format!(
            "{} {} {}: {} got {violations:?}",
            operation.id, parameter.name, attempt.keyword, attempt.literal
        )
    })
}
