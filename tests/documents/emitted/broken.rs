//! Shows that the comparison reports every kind of wrong wiring: in a perfect emission of the
//! published document, one thing is broken at a time.

use serde_json::{Value, json};
use test_support::document;
use test_support::edit::Edit;

use openapi_dropshot_test::{differences, folded};

const COLLECTION: &str = "/paths/~1api~1v1~1products";
const ITEM: &str = "/paths/~1api~1v1~1products~1{id}";

fn published() -> Value {
    document::catalog().json.clone()
}

/// What dropshot would emit if nothing were wrong.
fn emitted() -> Edit {
    Edit(folded(&published()).0)
}

#[test]
fn a_perfect_emission_is_accepted() {
    for document in [document::catalog(), document::mobile()] {
        let (emitted, problems) = folded(&document.json);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(differences(&document.json, &emitted), Vec::<String>::new());
    }
}

#[test]
fn different_words_are_accepted() {
    let edit = emitted()
        .set("/info/description", json!("Other words"))
        .set("/components/schemas/Sku/description", json!("Other words"))
        .without("/components/parameters/ProductId/example");
    assert_eq!(differences(&published(), &edit.0), Vec::<String>::new());
}

/// Asserts that each edit of the perfect emission is reported, with words that name the place.
#[track_caller]
fn reported(cases: Vec<(Edit, &str)>) {
    for (edit, expected) in cases {
        let differences = differences(&published(), &edit.0);
        let named = differences
            .iter()
            .any(|difference| difference.contains(expected));
        assert!(named, "{expected:?} is not in {differences:#?}");
    }
}

#[test]
fn wrong_operations_are_reported() {
    reported(vec![
        (
            emitted().without(&format!("{ITEM}/delete")),
            "archive_product was removed",
        ),
        (
            emitted().set(&format!("{ITEM}/get/operationId"), json!("read_product")),
            "operationId: published is \"get_product\", emitted is \"read_product\"",
        ),
        (
            emitted().set(&format!("{ITEM}/get/tags"), json!(["other"])),
            "GET /api/v1/products/{id} tags",
        ),
        (
            emitted().set(&format!("{ITEM}/get/deprecated"), json!(true)),
            "deprecated",
        ),
        (
            emitted().set(&format!("{ITEM}/get/summary"), json!("Other")),
            "summary",
        ),
        (
            emitted().set(
                &format!("{ITEM}/put"),
                json!({
                    "operationId": "replace_product", "responses": {},
                    "parameters": [{ "$ref": "#/components/parameters/ProductId" }],
                }),
            ),
            "replace_product was added",
        ),
    ]);
}

#[test]
fn wrong_parameters_are_reported() {
    let parameters = format!("{COLLECTION}/get/parameters");
    reported(vec![
        (
            emitted().without(&format!("{parameters}/2")),
            "parameter 'after' was removed",
        ),
        (
            emitted().set("/components/parameters/After/required", json!(true)),
            "query after required: published is false, emitted is true",
        ),
        (
            emitted().set("/components/parameters/After/name", json!("cursor")),
            "'cursor' was added",
        ),
        (
            emitted().set("/components/parameters/After/in", json!("header")),
            "'after' was removed",
        ),
        (
            emitted().set("/components/schemas/PageLimit/maximum", json!(1000)),
            "query limit schema maximum: published is 100, emitted is 1000",
        ),
        (
            emitted().set("/components/schemas/PageLimit/default", json!(10)),
            "schema default",
        ),
    ]);
}

#[test]
fn wrong_schemas_are_reported() {
    let schema = |path: &str| format!("/components/schemas/{path}");
    let body = "POST /api/v1/products body properties";
    reported(vec![
        (
            emitted().set(&schema("ProductName/maxLength"), json!(7)),
            "string schema changed",
        ),
        (
            emitted().set(&schema("Amount/maximum"), json!(1)),
            "number schema changed",
        ),
        (
            emitted().without(&schema("Sku/nullable")),
            &format!("{body} sku nullable"),
        ),
        (
            emitted().without(&schema("CreateProduct/additionalProperties")),
            "additionalProperties",
        ),
        (
            emitted().without(&schema("CreateProduct/required/0")),
            "required",
        ),
        (
            emitted().without(&schema("Product/properties/taxRate")),
            "properties changed",
        ),
        (
            emitted().set(&schema("ProductStatus"), json!({ "type": "integer" })),
            "types changed",
        ),
        (
            emitted().without_item(&schema("ProductType/enum"), &json!("GOODS")),
            &format!("{body} type enum"),
        ),
    ]);
}

#[test]
fn wrong_answers_are_reported() {
    let responses = format!("{COLLECTION}/post/responses");
    let answers = "POST /api/v1/products answers";
    reported(vec![
        (moved(&responses, "201", "200"), &format!("{answers} 200")),
        (
            emitted().without(&format!("{responses}/5XX")),
            &format!("{answers} 5XX"),
        ),
        (
            emitted().without(&format!("{responses}/201/headers/Location")),
            &format!("{answers} 201 headers location"),
        ),
        (
            emitted().set("/components/headers/Location/required", json!(false)),
            "required",
        ),
        (
            emitted().set(
                &format!("{responses}/4XX/content/application~1json/schema"),
                json!({ "$ref": "#/components/schemas/Product" }),
            ),
            &format!("{answers} 4XX"),
        ),
        (
            emitted().set(
                &format!("{responses}/201/content"),
                json!({ "text/plain": { "schema": {} } }),
            ),
            "drift gave up",
        ),
    ]);
}

/// The emission with an answer moved to another status.
fn moved(responses: &str, from: &str, to: &str) -> Edit {
    let from = format!("{responses}/{from}");
    let answer = emitted().0.pointer(&from).expect("it is listed").clone();
    emitted()
        .without(&from)
        .set(&format!("{responses}/{to}"), answer)
}

#[test]
fn statuses_of_one_class_with_different_schemas_are_reported() {
    let place = "/components/responses/ProductNotFound/content/application~1json/schema";
    let edit = Edit(published()).set(place, json!({ "$ref": "#/components/schemas/Product" }));
    let differences = differences(&edit.0, &emitted().0);
    let expected = "get_product answers 400 and 404 with different schemas";
    let named = differences
        .iter()
        .any(|difference| difference.contains(expected));
    assert!(named, "{differences:#?}");
}
