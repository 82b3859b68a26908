//! The rules in docs/decisions.md, "The documents", and the limits of fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use test_support::document::{self, Document};

fn both() -> [Arc<Document>; 2] {
    [document::catalog(), document::mobile()]
}

/// The named schemas of a document.
fn schemas(document: &Document) -> BTreeMap<&str, &Value> {
    let schemas = document.json["components"]["schemas"].as_object();
    schemas
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.as_str(), schema))
        .collect()
}

/// The names of the schemas that are reachable from requests, through parameters and bodies, or from
/// answers.
fn reached(document: &Document, requests: bool) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for operation in &document.operations {
        let parameters = operation
            .parameters
            .iter()
            .map(|parameter| parameter.schema.clone());
        let bodies = operation
            .answers
            .values()
            .flat_map(|answer| answer.content.values().cloned());
        let starts: Vec<_> = match requests {
            true => parameters.chain(operation.body.clone()).collect(),
            false => bodies.collect(),
        };
        for start in starts {
            let value = document
                .json
                .pointer(&start)
                .expect("the pointer is the document's");
            collect(document, value, &mut names);
        }
    }
    names
}

fn collect(document: &Document, value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some(name) = reference.and_then(|it| it.strip_prefix("#/components/schemas/"))
                && names.insert(name.to_owned())
            {
                collect(document, schemas(document)[name], names);
            }
            members
                .values()
                .for_each(|member| collect(document, member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(document, item, names)),
        _ => {}
    }
}

#[test]
fn the_documents_are_openapi_3_0_3_in_version_1_0_0() {
    for document in both() {
        assert_eq!(document.json["openapi"], "3.0.3");
        assert_eq!(document.json["info"]["version"], "1.0.0");
    }
}

/// Keywords that constrain a scalar.
const LIMITS: [&str; 8] = [
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "enum",
    "minimum",
    "maximum",
    "default",
];

#[test]
fn every_constrained_scalar_is_a_schema_of_its_own() {
    for document in both() {
        for (name, schema) in schemas(&document) {
            for (property, schema) in schema["properties"].as_object().into_iter().flatten() {
                let limits: Vec<_> = LIMITS
                    .iter()
                    .filter(|limit| schema.get(**limit).is_some())
                    .collect();
                assert!(
                    limits.is_empty(),
                    "{name}.{property} has {limits:?} without a name"
                );
            }
        }
        for operation in &document.operations {
            for parameter in &operation.parameters {
                let schema = document.json.pointer(&parameter.schema);
                let named = schema.is_some_and(|schema| schema.get("$ref").is_some());
                assert!(
                    named,
                    "{} {} has no named schema",
                    operation.id, parameter.name
                );
            }
        }
    }
}

#[test]
fn request_objects_are_closed_but_the_token_request_and_answers_are_open() {
    let closed = |document: &Document, requests: bool| -> BTreeMap<String, bool> {
        let names = reached(document, requests);
        let objects = names
            .iter()
            .filter(|name| schemas(document)[name.as_str()]["type"] == "object");
        objects
            .map(|name| {
                let more = &schemas(document)[name.as_str()]["additionalProperties"];
                (name.clone(), *more == json!(false))
            })
            .collect()
    };
    let requests = closed(&document::catalog(), true);
    assert!(
        requests.len() == 2 && requests.values().all(|closed| *closed),
        "{requests:?}"
    );
    let token_requests = closed(&document::mobile(), true);
    assert!(token_requests.len() == 2 && !token_requests.values().any(|closed| *closed));
    for document in both() {
        let answers = closed(&document, false);
        assert!(
            answers.len() > 3 && !answers.values().any(|closed| *closed),
            "{answers:?}"
        );
    }
}

#[test]
fn every_free_string_of_a_request_refuses_u_0000_by_its_pattern() {
    let mut free = 0;
    for document in both() {
        for name in reached(&document, true) {
            let schema = schemas(&document)[name.as_str()];
            let is_free = schema["type"] == "string"
                && schema.get("enum").is_none()
                && schema["format"] != "uuid";
            if is_free {
                free += 1;
                let pointer = format!("/components/schemas/{name}");
                let violations = document.schemas.violations(&pointer, &json!("a\0b"));
                let refused = violations
                    .iter()
                    .any(|violation| violation.constraint == "pattern");
                assert!(refused, "{name} takes U+0000");
            }
        }
    }
    assert!(free > 8, "only {free} free strings were found");
}

#[test]
fn a_code_is_a_plain_string_and_a_type_one_of_a_closed_list() {
    for document in both() {
        assert_eq!(schemas(&document)["ErrorCode"].get("enum"), None);
        let types = json!([
            "authentication_error",
            "permission_error",
            "not_found_error",
            "validation_error",
            "conflict_error",
            "rate_limit_error",
            "server_error",
        ]);
        assert_eq!(schemas(&document)["ErrorType"]["enum"], types);
    }
}

#[test]
fn the_fields_of_a_product_have_the_limits_of_the_interface() {
    let catalog = document::catalog();
    let schema = |name: &str| schemas(&catalog)[name].clone();
    let limits = |name: &str, least: &str, most: &str| {
        let schema = schema(name);
        (
            schema.get(least).and_then(Value::as_u64),
            schema.get(most).and_then(Value::as_u64),
        )
    };
    assert_eq!(
        limits("ProductName", "minLength", "maxLength"),
        (Some(1), Some(255))
    );
    assert_eq!(
        limits("ProductDescription", "minLength", "maxLength"),
        (None, Some(2000))
    );
    assert_eq!(
        limits("Sku", "minLength", "maxLength"),
        (Some(1), Some(100))
    );
    assert_eq!(
        limits("Amount", "minimum", "maximum"),
        (Some(0), Some(1_000_000_000_000))
    );
    assert_eq!(
        limits("TaxRate", "minimum", "maximum"),
        (Some(0), Some(100))
    );
    assert_eq!(
        limits("PageLimit", "minimum", "maximum"),
        (Some(1), Some(100))
    );
    assert_eq!(
        limits("IdempotencyKey", "minLength", "maxLength"),
        (Some(1), Some(255))
    );
    assert_eq!(limits("Cursor", "minLength", "maxLength").1, Some(512));
    assert_eq!(schema("PageLimit")["default"], 20);
    assert_eq!(schema("ProductStatusFilter")["default"], "active");
    assert_eq!(schema("ProductType")["enum"], json!(["GOODS", "SERVICES"]));
}

#[test]
fn a_currency_is_an_upper_case_code_that_is_in_force() {
    let catalog = document::catalog();
    let codes = schemas(&catalog)["CurrencyCode"]["enum"]
        .as_array()
        .expect("it is a list");
    let codes: BTreeSet<_> = codes.iter().filter_map(Value::as_str).collect();
    assert!(
        codes
            .iter()
            .all(|code| code.len() == 3 && code.bytes().all(|it| it.is_ascii_uppercase()))
    );
    for current in [
        "EUR", "USD", "JPY", "CHF", "GBP", "KWD", "XOF", "ZWG", "SLE", "VED", "XCG",
    ] {
        assert!(codes.contains(current), "{current} is in force");
    }
    for former in [
        "DEM", "HRK", "BGN", "ZWL", "SLL", "VEF", "ANG", "CUC", "XXX", "XTS",
    ] {
        assert!(
            !codes.contains(former),
            "{former} is not in force, or names no currency"
        );
    }
}

#[test]
fn headers_are_listed_both_ways() {
    let catalog = document::catalog();
    for id in ["create_product", "update_product"] {
        let operation = catalog.operation(id);
        let key = operation
            .parameters
            .iter()
            .find(|parameter| parameter.name == "Idempotency-Key");
        assert!(
            key.is_some_and(|key| !key.required),
            "{id} takes an idempotency key"
        );
        let success = operation.answers.values().next().expect("it can succeed");
        assert!(success.headers.contains_key("idempotency-replayed"), "{id}");
    }
    assert!(catalog.operation("create_product").answers[&201].headers["location"].required);
    for document in both() {
        for operation in &document.operations {
            for (status, answer) in &operation.answers {
                let has = |name: &str| {
                    answer
                        .headers
                        .get(name)
                        .is_some_and(|header| header.required)
                };
                assert!(has("x-request-id"), "{} {status}", operation.id);
                assert!(
                    has("www-authenticate") == (*status == 401),
                    "{} {status}",
                    operation.id
                );
                assert!(
                    has("retry-after") == matches!(status, 429 | 503),
                    "{} {status}",
                    operation.id
                );
            }
        }
    }
}
