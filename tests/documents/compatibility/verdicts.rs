//! Edits of the published catalog with the verdict that each must get.

use serde_json::{Value, json};
use test_support::document::{self, Document};
use test_support::edit::Edit;

use super::{Severity, changes, verdict};

const COLLECTION: &str = "/paths/~1api~1v1~1products";
const ITEM: &str = "/paths/~1api~1v1~1products~1{id}";
const SCHEMAS: &str = "/components/schemas";

fn catalog() -> Edit {
    Edit::of(&document::catalog().json)
}

fn schema(path: &str) -> String {
    format!("{SCHEMAS}/{path}")
}

/// The gravest change that the check sees in the edited copy.
fn gravest(edit: Edit) -> Option<Severity> {
    let edited = Document::from_json("catalog", edit.0);
    let changes = changes(&document::catalog(), &edited);
    let breaking = |severity: &Severity| *severity == Severity::Breaking;
    let severities = || changes.iter().map(|change| change.severity);
    severities().find(breaking).or(severities().next())
}

/// Every case with a verdict other than the expected one.
#[track_caller]
fn expect(expected: Option<Severity>, cases: Vec<(&str, Edit)>) {
    let wrong: Vec<_> = cases
        .into_iter()
        .map(|(case, edit)| (case, gravest(edit)))
        .filter(|(_, got)| *got != expected)
        .collect();
    assert!(wrong.is_empty(), "expected {expected:?}, got {wrong:#?}");
}

#[test]
fn what_narrows_a_request_breaks() {
    let create = schema("CreateProduct");
    let cases = vec![
        (
            "a lower maxLength",
            catalog().set(&schema("ProductName/maxLength"), json!(7)),
        ),
        (
            "a higher minLength",
            catalog().set(&schema("Sku/minLength"), json!(2)),
        ),
        (
            "a lower maximum",
            catalog().set(&schema("Amount/maximum"), json!(1_000_000)),
        ),
        (
            "a higher minimum",
            catalog().set(&schema("Amount/minimum"), json!(0.01)),
        ),
        (
            "an exclusive minimum",
            catalog().set(&schema("Amount/exclusiveMinimum"), json!(true)),
        ),
        (
            "another pattern",
            catalog().set(&schema("IdempotencyKey/pattern"), json!("^[a-z]+$")),
        ),
        (
            "a format",
            catalog().set(&schema("IdempotencyKey/format"), json!("uuid")),
        ),
        (
            "an enum value less",
            catalog().without_item(&schema("UnitOfMeasure/enum"), &json!("hr")),
        ),
        ("null refused", catalog().without(&schema("Sku/nullable"))),
        (
            "another required field",
            catalog().set(&format!("{create}/required/-"), json!("sku")),
        ),
        (
            "a field less",
            catalog().without(&format!("{create}/properties/taxRate")),
        ),
    ];
    expect(Some(Severity::Breaking), cases);
}

#[test]
fn what_changes_the_meaning_of_a_parameter_breaks() {
    let cases = vec![
        (
            "another default",
            catalog().set(&schema("PageLimit/default"), json!(50)),
        ),
        (
            "a parameter less",
            catalog().without(&format!("{COLLECTION}/get/parameters/2")),
        ),
        (
            "a required parameter",
            catalog().set(
                "/components/parameters/IdempotencyKey/required",
                json!(true),
            ),
        ),
        (
            "another name of a parameter",
            catalog().set("/components/parameters/After/name", json!("cursor")),
        ),
    ];
    expect(Some(Severity::Breaking), cases);
}

#[test]
fn what_widens_an_answer_or_takes_from_it_breaks() {
    let product = schema("Product");
    let cases = vec![
        (
            "an enum value more",
            catalog().set(&schema("ProductStatus/enum/-"), json!("draft")),
        ),
        (
            "null where none was",
            catalog().set(&schema("ProductStatus/nullable"), json!(true)),
        ),
        (
            "a member less",
            catalog().without(&format!("{product}/properties/taxRate")),
        ),
        (
            "a promise less",
            catalog().without_item(&format!("{product}/required"), &json!("sku")),
        ),
        (
            "another type",
            catalog().set(&schema("ProductStatus"), json!({ "type": "integer" })),
        ),
        (
            "a pattern less",
            catalog().without(&schema("Timestamp/pattern")),
        ),
        (
            "a status less",
            catalog().without(&format!("{COLLECTION}/post/responses/409")),
        ),
        (
            "another success",
            catalog().set(
                &format!("{COLLECTION}/post/responses/202"),
                json!({ "description": "Later" }),
            ),
        ),
        (
            "a code less",
            catalog().without(&format!(
                "{COLLECTION}/post/responses/409/content/application~1json/examples/duplicate_sku"
            )),
        ),
        (
            "a header less",
            catalog().without(&format!("{COLLECTION}/post/responses/201/headers/Location")),
        ),
        (
            "a header that may be missing",
            catalog().set("/components/headers/RetryAfter/required", json!(false)),
        ),
        ("another media type", another_media_type()),
    ];
    expect(Some(Severity::Breaking), cases);
}

fn another_media_type() -> Edit {
    let content = format!("{ITEM}/get/responses/200/content");
    let media =
        catalog().0.pointer(&content).expect("get_product answers")["application/json"].clone();
    catalog().set(&content, json!({ "application/vnd.invoicing+json": media }))
}

#[test]
fn what_has_a_name_keeps_it() {
    let cases = vec![
        (
            "an operation less",
            catalog().without(&format!("{ITEM}/delete")),
        ),
        (
            "another operationId",
            catalog().set(&format!("{ITEM}/get/operationId"), json!("read_product")),
        ),
        ("another path", moved()),
        (
            "another credential",
            catalog().set(&format!("{ITEM}/get/security"), json!([{ "other": [] }])),
        ),
        (
            "another scheme",
            catalog().set("/components/securitySchemes/api_key/scheme", json!("basic")),
        ),
        (
            "another server",
            catalog().set("/servers/0/url", json!("https://elsewhere.example")),
        ),
    ];
    expect(Some(Severity::Breaking), cases);
}

fn moved() -> Edit {
    let item = catalog()
        .0
        .pointer(COLLECTION)
        .expect("the document has it")
        .clone();
    catalog()
        .without(COLLECTION)
        .set("/paths/~1api~1v1~1items", item)
}

#[test]
fn what_adds_is_compatible() {
    let optional = json!({ "name": "q", "in": "query", "schema": { "type": "string" } });
    let cases = vec![
        ("a higher maxLength", catalog().set(&schema("ProductName/maxLength"), json!(300))),
        ("a filter more",
            catalog().set(&schema("ProductStatusFilter/enum/-"), json!("draft"))),
        ("an optional field", catalog()
            .set(&schema("CreateProduct/properties/note"), json!({ "type": "string" }))),
        ("a member of an answer", catalog()
            .set(&schema("Product/properties/note"), json!({ "type": "string" }))),
        ("an optional parameter", catalog().set(&format!("{COLLECTION}/get/parameters/-"), optional)),
        ("an operation", catalog().set(&format!("{ITEM}/put"), json!({
            "operationId": "replace_product", "responses": { "204": { "description": "Done" } },
            "parameters": [{ "$ref": "#/components/parameters/ProductId" }],
        }))),
        ("an error status", catalog().set(&format!("{COLLECTION}/get/responses/418"),
            json!({ "description": "No coffee" }))),
        ("an error code", catalog().set(
            &format!("{COLLECTION}/post/responses/409/content/application~1json/examples/other"),
            json!({ "value": { "error": { "type": "conflict_error", "code": "other" } } }))),
        ("a header of an answer", catalog().set(&format!("{ITEM}/delete/responses/204/headers/ETag"),
            json!({ "schema": { "type": "string" } }))),
    ];
    expect(Some(Severity::Compatible), cases);
}

#[test]
fn words_may_change() {
    let cases = vec![
        ("nothing", catalog()),
        (
            "a description",
            catalog().set(&schema("Sku/description"), json!("Other words")),
        ),
        (
            "the title",
            catalog().set("/info/title", json!("Another title")),
        ),
        (
            "a summary",
            catalog().set(&format!("{ITEM}/get/summary"), json!("Other words")),
        ),
        (
            "an example",
            catalog().set(
                "/components/parameters/ProductId/example",
                json!("01a1faef-295b-7c3e-9f21-6d0b8a4c5e18"),
            ),
        ),
        (
            "a patch version",
            catalog().set("/info/version", json!("1.0.1")),
        ),
    ];
    expect(None, cases);
}

/// The verdict on an edit whose `info.version` is `version`.
fn verdict_on(edit: Edit, version: &str) -> Result<(), String> {
    let edited = edit.set("/info/version", json!(version)).0;
    let released = Edit::of(&document::catalog().json).set("/info/version", json!("1.0.0"));
    verdict(
        &Document::from_json("catalog", released.0),
        &Document::from_json("catalog", edited),
    )
}

#[test]
fn a_breaking_change_needs_a_new_major_version() {
    let edit = || catalog().set(&schema("ProductName/maxLength"), json!(7));
    for version in ["1.0.0", "1.0.1", "1.1.0"] {
        let problem = verdict_on(edit(), version).expect_err("a name got shorter");
        assert!(
            problem.contains("needs info.version 2.0.0 or later"),
            "{problem}"
        );
        assert!(
            problem.contains("maxLength went from 255 to 7"),
            "{problem}"
        );
    }
    verdict_on(edit(), "2.0.0").expect("the version says so");
}

#[test]
fn an_addition_needs_a_new_minor_version() {
    let note: Value = json!({ "type": "string" });
    let edit = || catalog().set(&schema("CreateProduct/properties/note"), note.clone());
    for version in ["1.0.0", "1.0.7"] {
        let problem = verdict_on(edit(), version).expect_err("a field was added");
        assert!(
            problem.contains("needs info.version 1.1.0 or later"),
            "{problem}"
        );
    }
    verdict_on(edit(), "1.1.0").expect("the version says so");
}

#[test]
fn a_version_never_goes_back() {
    verdict_on(catalog(), "0.9.0").expect_err("1.0.0 is released");
    verdict_on(catalog(), "1.0.0").expect("nothing changed");
}
