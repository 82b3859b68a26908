//! Every example in the documents is valid where it stands.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use test_support::document::{self, Document, DocumentedResponse, escape};
use test_support::edit::Edit;

/// The examples of a parameter, a header or a media type, each with a name.
fn examples(document: &Document, pointer: &str) -> Vec<(String, Value)> {
    let owner = document.at(pointer);
    let named = owner["examples"].as_object().into_iter().flatten();
    named
        .map(|(name, _)| {
            let example = document.at(&format!("{pointer}/examples/{}", escape(name)));
            (name.clone(), example["value"].clone())
        })
        .chain(
            owner
                .get("example")
                .map(|value| (String::new(), value.clone())),
        )
        .collect()
}

/// What is wrong with the examples at a place; having none is wrong too.
fn complaints(document: &Document, pointer: &str) -> Vec<String> {
    let examples = examples(document, pointer);
    if examples.is_empty() {
        return vec![format!("{} {pointer} has no example", document.name)];
    }
    let schema = format!("{}/schema", document.resolve(pointer).0);
    let mut complaints = Vec::new();
    for (name, value) in examples {
        for violation in document.schemas.violations(&schema, &value) {
            complaints.push(format!(
                "{} {pointer} {name}: violates {violation}",
                document.name
            ));
        }
    }
    complaints
}

/// The places in one operation that have examples.
fn places(document: &Document) -> Vec<String> {
    let mut places = Vec::new();
    for operation in &document.operations {
        places.extend(
            operation
                .parameters
                .iter()
                .map(|parameter| parameter.pointer.clone()),
        );
        places.extend(operation.body.as_deref().map(media));
        for answer in operation.answers.values() {
            places.extend(answer.content.values().map(|schema| media(schema)));
            places.extend(headers(answer));
        }
    }
    places
}

/// The media type that contains a schema.
fn media(schema: &str) -> String {
    schema.trim_end_matches("/schema").to_owned()
}

fn headers(answer: &DocumentedResponse) -> impl Iterator<Item = String> {
    answer.headers.values().map(|header| media(&header.schema))
}

#[test]
fn every_parameter_body_and_header_has_examples_and_they_are_valid() {
    let complaints: Vec<_> = [document::catalog(), document::mobile()]
        .iter()
        .flat_map(|document| {
            let places = places(document);
            assert!(
                places.len() > 50,
                "{} has places for examples",
                document.name
            );
            let check = |place: &String| complaints(document, place);
            places.iter().flat_map(check).collect::<Vec<_>>()
        })
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn every_error_status_shows_its_errors_and_the_overview_lists_each() {
    for document in [document::catalog(), document::mobile()] {
        let overview = document.json["info"]["description"]
            .as_str()
            .unwrap_or_default();
        for operation in &document.operations {
            for (status, answer) in operation
                .answers
                .iter()
                .filter(|(status, _)| **status >= 400)
            {
                let errors = document.errors(answer);
                assert!(
                    !errors.is_empty(),
                    "{} {status} shows no error",
                    operation.id
                );
                for (kind, code) in errors {
                    let row = match kind.as_str() {
                        "" => format!("| {status} | `{code}` |"),
                        _ => format!("| {status} | `{kind}` | `{code}` |"),
                    };
                    assert!(overview.contains(&row), "{}: no row {row}", document.name);
                }
            }
        }
    }
}

/// The table of docs/decisions.md, "Errors": status, type and codes of the errors of both APIs.
const CODES: [(u16, &str, &[&str]); 14] = [
    (400, "validation_error", &["invalid_body"]),
    (400, "validation_error", &["invalid_query"]),
    (400, "validation_error", &["invalid_path"]),
    (400, "validation_error", &["invalid_header"]),
    (401, "authentication_error", &["invalid_token"]),
    (
        403,
        "permission_error",
        &["scope_insufficient", "not_a_member"],
    ),
    (
        404,
        "not_found_error",
        &["product_not_found", "item_not_found"],
    ),
    (408, "validation_error", &["request_timeout"]),
    (
        409,
        "conflict_error",
        &[
            "duplicate_sku",
            "already_archived",
            "idempotency_key_reused",
        ],
    ),
    (413, "validation_error", &["body_too_large"]),
    (415, "validation_error", &["unsupported_media_type"]),
    (429, "rate_limit_error", &["rate_limit_exceeded"]),
    (500, "server_error", &["internal_error"]),
    (503, "server_error", &["unavailable"]),
];

#[test]
fn the_documents_show_exactly_the_codes_that_were_decided() {
    let mut shown = BTreeSet::new();
    for document in [document::catalog(), document::mobile()] {
        for operation in &document.operations {
            for (status, answer) in &operation.answers {
                let errors = document.errors(answer);
                let errors = errors.into_iter().filter(|(kind, _)| !kind.is_empty());
                shown.extend(errors.map(|(kind, code)| (*status, kind, code)));
            }
        }
    }
    let decided = CODES.iter().flat_map(|(status, kind, codes)| {
        codes
            .iter()
            .map(|code| (*status, (*kind).to_owned(), (*code).to_owned()))
    });
    assert_eq!(shown, decided.collect());
}

#[test]
fn an_invalid_example_and_a_missing_one_are_reported() {
    let parameter = "/components/parameters/ProductId";
    let example = format!("{parameter}/example");
    let catalog = || Edit::of(&document::catalog().json);
    for (edit, expected) in [
        (catalog().set(&example, json!("one")), "violates \"format\""),
        (catalog().without(&example), "has no example"),
    ] {
        let edited = Document::from_json("catalog", edit.0);
        let complaints = complaints(&edited, parameter);
        assert!(complaints[0].contains(expected), "{complaints:#?}");
    }
}
