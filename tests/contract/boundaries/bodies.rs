//! Bodies: every property, and the objects themselves.

use std::collections::BTreeMap;

use serde_json::Value;
use test_support::caller::Answer;
use test_support::deployment::available;
use test_support::document::{self, Document, escape};
use test_support::given;
use test_support::schema::Violation;

use super::values::{Try, tries, valid};
use crate::given::given;

/// A body, member by member as JSON text.
type Body = BTreeMap<String, String>;

/// A body to send.
struct Case {
    text: String,
    /// What is wrong with it.
    expected: Option<Violation>,
}

#[tokio::test]
async fn every_member_of_a_body_is_checked_on_both_sides_of_every_keyword() {
    let given = given!(given());
    for document in [document::catalog(), document::mobile()] {
        for operation in &document.operations {
            let Some(body) = &operation.body else {
                continue;
            };
            let Some(valid) = available(given.request(&operation.id).await) else {
                continue;
            };
            let cases = cases(&document, body);
            assert!(
                cases.len() > 50,
                "{} has {} cases",
                operation.id,
                cases.len()
            );
            let mut wrong = Vec::new();
            for case in cases {
                let answer = given.send(valid.clone().text(case.text.clone())).await;
                wrong.extend(complaint(&case, &answer));
            }
            assert!(wrong.is_empty(), "{}: {wrong:#?}", operation.id);
        }
    }
}

/// The cases of a body's schema. Of a `oneOf`, those of each branch.
fn cases(document: &Document, pointer: &str) -> Vec<Case> {
    let (pointer, schema) = document.resolve(pointer);
    if let Some(branches) = schema["oneOf"].as_array() {
        let branches = (0..branches.len()).map(|index| format!("{pointer}/oneOf/{index}"));
        return branches
            .flat_map(|branch| cases(document, &branch))
            .collect();
    }
    let discriminating = discriminating(document);
    let properties = schema["properties"]
        .as_object()
        .expect("a body is an object");
    let place = |name: &str| format!("{pointer}/properties/{}", escape(name));
    let whole: Body = properties
        .keys()
        // Two products with one sku would be a conflict.
        .filter(|name| *name != "sku")
        .map(|name| (name.clone(), valid(document, &place(name))))
        .collect();
    let mut cases = vec![case(&whole, None)];
    for name in properties.keys() {
        let tries = tries(document, &place(name));
        for attempt in tries.iter().filter(|_| !discriminating.contains(name)) {
            cases.push(member(&whole, name, attempt));
        }
        let mut without = whole.clone();
        without.remove(name);
        let required = schema["required"].as_array();
        let required = required.is_some_and(|names| names.contains(&Value::from(name.as_str())));
        let violation = Violation::new(format!("/{name}"), "required");
        cases.push(case(&without, required.then_some(violation)));
    }
    cases.extend(objects(&whole, schema));
    cases
}

/// Members whose value chooses a schema, so that another value is another request, not a wrong one.
fn discriminating(document: &Document) -> Vec<String> {
    let schemas = document.json["components"]["schemas"].as_object();
    let schemas = schemas.into_iter().flatten();
    schemas
        .filter_map(|(_, schema)| schema["discriminator"]["propertyName"].as_str())
        .map(str::to_owned)
        .collect()
}

fn member(whole: &Body, name: &str, attempt: &Try) -> Case {
    let mut body = whole.clone();
    body.insert(name.to_owned(), attempt.literal.clone());
    let violation = Violation::new(format!("/{name}"), attempt.keyword);
    case(&body, (!attempt.valid).then_some(violation))
}

/// What is not an object, and an object with a member that has no schema.
fn objects(whole: &Body, schema: &Value) -> Vec<Case> {
    let mut unknown = whole.clone();
    unknown.insert("surprise".to_owned(), "1".to_owned());
    let refused = schema["additionalProperties"] == Value::Bool(false);
    let violation = Violation::new("/surprise", "additionalProperties");
    let others = ["[]", "\"text\"", "1", "true", "null"].map(|text| Case {
        text: text.to_owned(),
        expected: Some(Violation::new("", "type")),
    });
    let mut cases: Vec<_> = others.into();
    cases.push(case(&unknown, refused.then_some(violation)));
    cases
}

fn case(body: &Body, expected: Option<Violation>) -> Case {
    let members = body
        .iter()
        .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())));
    let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    Case { text, expected }
}

/// What is wrong about the answer, if anything.
fn complaint(case: &Case, answer: &Answer) -> Option<String> {
    let refused = matches!(answer.code().as_str(), "invalid_body" | "invalid_request");
    let right = match &case.expected {
        None => !refused,
        Some(violation) if refused => names(answer, violation),
        Some(_) => false,
    };
    let beginning: String = case.text.chars().take(300).collect();
    (!right).then(|| {
        format!(
            "{beginning} expected {:?}, got {}",
            case.expected,
            answer.text()
        )
    })
}

/// Whether an error names a violation. The token endpoint names the place in its description.
fn names(answer: &Answer, violation: &Violation) -> bool {
    let json = answer.json();
    match json["error_description"].as_str() {
        Some(description) => description.contains(&violation.path),
        None => answer.violations() == [violation.clone()].into(),
    }
}
