//! Bodies: every property, and the objects themselves.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use test_support::caller::Answer;
use test_support::deployment::available;
use test_support::document::{self, Document, escape};
use test_support::given;
use test_support::schema::Violation;

use super::values::{Try, hairs, tries, valid};
use crate::given::given;

/// A body, member by member as JSON text.
type Body = BTreeMap<String, String>;

/// A body to send.
struct Case {
    text: String,
    /// All violations in it.
    expected: BTreeSet<Violation>,
}

#[tokio::test]
async fn every_member_of_a_body_is_checked_on_both_sides_of_every_keyword() {
    each_body_is_taken_or_refused_as_its_schema_says(members).await;
}

#[tokio::test]
async fn a_decimal_is_refused_however_little_it_is_beyond_a_limit() {
    each_body_is_taken_or_refused_as_its_schema_says(decimals).await;
}

#[tokio::test]
async fn a_body_that_is_no_object_is_refused() {
    each_body_is_taken_or_refused_as_its_schema_says(no_objects).await;
}

/// Sends the bodies that `cases` makes for each object that a request may have as its body.
async fn each_body_is_taken_or_refused_as_its_schema_says(cases: fn(&Object) -> Vec<Case>) {
    let given = given!(given());
    for document in [document::catalog(), document::mobile()] {
        for operation in &document.operations {
            let Some(body) = &operation.body else {
                continue;
            };
            let Some(valid) = available(given.request(&operation.id).await) else {
                continue;
            };
            let mut wrong = Vec::new();
            for case in objects(&document, body).iter().flat_map(cases) {
                let answer = given.send(valid.clone().text(case.text.clone())).await;
                wrong.extend(complaint(&case, &answer));
            }
            assert!(wrong.is_empty(), "{}: {wrong:#?}", operation.id);
        }
    }
}

/// The schema of an object.
struct Object<'a> {
    document: &'a Document,
    schema: &'a Value,
    /// The names of its properties, and the pointers of their schemas.
    properties: Vec<(&'a str, String)>,
    /// A body with all of them.
    whole: Body,
}

/// The object schemas at a pointer: one, or several with `oneOf`.
fn objects<'a>(document: &'a Document, pointer: &str) -> Vec<Object<'a>> {
    let (pointer, schema) = document.resolve(pointer);
    if let Some(branches) = schema["oneOf"].as_array() {
        let branches = (0..branches.len()).map(|index| format!("{pointer}/oneOf/{index}"));
        return branches
            .flat_map(|branch| objects(document, &branch))
            .collect();
    }
    let properties = schema["properties"].as_object();
    let properties: Vec<_> = properties
        .expect("a body is an object")
        .keys()
        .map(|name| (&**name, format!("{pointer}/properties/{}", escape(name))))
        .collect();
    let whole = properties
        .iter()
        // Two products with the same sku would be a conflict.
        .filter(|(name, _)| *name != "sku")
        .map(|(name, place)| ((*name).to_owned(), valid(document, place)))
        .collect();
    vec![Object {
        document,
        schema,
        properties,
        whole,
    }]
}

/// Each member valid, invalid, and missing; and one that has no schema.
fn members(object: &Object) -> Vec<Case> {
    let whole = &object.whole;
    let mut cases = vec![case(whole, None), unknown(object)];
    let discriminating = discriminating(object.document);
    for (name, place) in &object.properties {
        let tries = tries(object.document, place);
        for attempt in tries.iter().filter(|_| !discriminating.contains(name)) {
            cases.push(member(object, name, place, attempt));
        }
        let mut without = whole.clone();
        without.remove(*name);
        let required = object.schema["required"].as_array();
        let required = required.is_some_and(|names| names.contains(&Value::from(*name)));
        let violation = Violation::new(format!("/{name}"), "required");
        cases.push(case(&without, required.then_some(violation)));
    }
    cases
}

/// Each decimal, beyond each of its limits by a hair.
fn decimals(object: &Object) -> Vec<Case> {
    let properties = object.properties.iter();
    let cases = properties.flat_map(|(name, place)| {
        let hairs = hairs(object.document, place).into_iter();
        hairs.map(|attempt| member(object, name, place, &attempt))
    });
    cases.collect()
}

/// JSON that is not an object.
fn no_objects(_: &Object) -> Vec<Case> {
    let others = ["[]", "\"text\"", "1", "true", "null"].map(|text| Case {
        text: text.to_owned(),
        expected: [Violation::new("", "type")].into(),
    });
    others.into()
}

/// Members whose value selects a schema, so that another value makes another request, not an invalid one.
fn discriminating(document: &Document) -> Vec<&str> {
    let schemas = document.json["components"]["schemas"].as_object();
    let schemas = schemas.into_iter().flatten();
    schemas
        .filter_map(|(_, schema)| schema["discriminator"]["propertyName"].as_str())
        .collect()
}

/// The object with another value of one member. A value of the wrong type is not in a closed list either.
fn member(object: &Object, name: &str, place: &str, attempt: &Try) -> Case {
    let mut body = object.whole.clone();
    body.insert(name.to_owned(), attempt.literal.clone());
    let listed = object.document.at(place)["enum"].is_array();
    let also = (listed && attempt.keyword == "type").then_some("enum");
    let keywords = [attempt.keyword].into_iter().chain(also);
    let violations = keywords.map(|keyword| Violation::new(format!("/{name}"), keyword));
    case(&body, violations.filter(|_| !attempt.valid))
}

/// A member that has no schema.
fn unknown(object: &Object) -> Case {
    let mut body = object.whole.clone();
    body.insert("surprise".to_owned(), "1".to_owned());
    let refused = object.schema["additionalProperties"] == Value::Bool(false);
    let violation = Violation::new("/surprise", "additionalProperties");
    case(&body, refused.then_some(violation))
}

fn case(body: &Body, expected: impl IntoIterator<Item = Violation>) -> Case {
    let members = body
        .iter()
        .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())));
    let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    Case {
        text,
        expected: expected.into_iter().collect(),
    }
}

/// What is wrong with the answer, if anything.
fn complaint(case: &Case, answer: &Answer) -> Option<String> {
    let refused = matches!(answer.code().as_str(), "invalid_body" | "invalid_request");
    let right = refused != case.expected.is_empty() && (!refused || names(answer, &case.expected));
    let beginning: String = case.text.chars().take(300).collect();
    (!right).then(|| {
        format!(
            "{beginning} expected {:?}, got {}",
            case.expected,
            answer.text()
        )
    })
}

/// Whether an error names exactly these violations. The token endpoint names their places in its
/// description.
fn names(answer: &Answer, violations: &BTreeSet<Violation>) -> bool {
    let json = answer.json();
    match json["error_description"].as_str() {
        Some(description) => violations.iter().all(|it| description.contains(&it.path)),
        None => answer.violations() == *violations,
    }
}
