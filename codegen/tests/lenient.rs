//! Lenient reading: what it accepts and reports, and what stays refused.
//!
//! After a change of what is reported:
//! `EXPECTORATE=overwrite cargo test -p openapi-dropshot --test lenient`.

use std::path::Path;

use openapi_dropshot::Document;
use openapi_dropshot::model::Kind;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lenient")
}

/// A document whose component `Thing` has these lines.
fn document(thing: &str) -> String {
    format!(
        "openapi: 3.0.3\ninfo: {{ title: Things, version: '1' }}\npaths:\n  /things:\n    get:\n      \
         operationId: get_thing\n      responses:\n        '200':\n          description: Done.\n          \
         content: {{ application/json: {{ schema: {{ $ref: '#/components/schemas/Thing' }} }} }}\n\
         components:\n  schemas:\n    Thing: {thing}\n"
    )
}

/// The problems for which a lenient reading refuses this.
fn refused(thing: &str) -> String {
    match Document::parse_leniently("case", &document(thing), "things") {
        Ok((_, told)) => panic!("accepted, having told {told:?}"),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn what_is_not_kept_is_told_item_by_item() {
    let file = folder().join("things.yaml");
    assert!(Document::read(&file).is_err());
    let (document, told) = Document::read_leniently(&file).unwrap();
    let name = file.display().to_string();
    let told: String = told.iter().map(|it| format!("{it}\n")).collect();
    expectorate::assert_contents(
        folder().join("things.txt"),
        &told.replace(&name, "things.yaml"),
    );
    // The published document keeps it.
    let published = &document.source["components"]["schemas"]["Thing"];
    assert!(published["properties"]["no"]["not"].is_object() && published["if"].is_object());
}

#[test]
fn what_is_not_kept_is_in_nothing_that_is_made() {
    let (document, _) = Document::read_leniently(folder().join("things.yaml")).unwrap();
    let Kind::Object { properties, .. } = &document.schemas["Thing"].kind else {
        panic!("no object");
    };
    assert!(matches!(properties["any"].kind, Kind::Any));
    let pattern = match &document.resolve(&properties["both"]).kind {
        Kind::String(text) => text.pattern.as_deref(),
        _ => None,
    };
    assert_eq!(pattern, Some("^a"));
    let server = openapi_dropshot::server(&document).unwrap();
    for gone in ["\"not\"", "x-cached", "unevaluated", "\"if\""] {
        assert!(!server.contains(gone), "{gone}");
    }
}

#[test]
fn a_document_without_any_is_read_as_strictly_as_ever() {
    let text = document("{ type: object, properties: {} }");
    let (document, told) = Document::parse_leniently("case", &text, "things").unwrap();
    assert_eq!(told, []);
    let strict = Document::parse("case", &text, "things").unwrap();
    assert_eq!(format!("{document:?}"), format!("{strict:?}"));
}

#[test]
fn what_says_what_is_sent_stays_refused() {
    for (thing, place) in [
        (
            "{ type: object, patternProperties: { a: {} } }",
            "/patternProperties",
        ),
        ("{ type: string, enum: [] }", "/enum"),
        ("{ type: string, const: a }", "/const"),
        ("{ type: string, maxLenght: 3 }", "/maxLenght"),
        ("{ type: object, requird: [a] }", "/requird"),
        ("{ type: [string, integer] }", "/type"),
        ("{ type: string, items: {} }", "/items"),
        (
            "{ type: array, items: { $ref: '#/components/schemas/Thing', nullable: true } }",
            "/items/nullable",
        ),
        ("{ required: [a] }", ""),
    ] {
        let told = refused(thing);
        let start = format!("case: /components/schemas/Thing{place}: ");
        assert!(told.starts_with(&start), "{thing}: {told}");
    }
}

#[test]
fn a_misspelt_word_of_an_operation_stays_refused() {
    let text = document("{ type: string }");
    for word in ["secuirty: []", "requestBdy: {}", "parametrs: []"] {
        let text = text.replace(
            "operationId: get_thing",
            &format!("operationId: get_thing\n      {word}"),
        );
        let problems = Document::parse_leniently("case", &text, "things").unwrap_err();
        let place = word.split(':').next().unwrap();
        let start = format!("case: /paths/~1things/get/{place}: ");
        assert!(problems.to_string().starts_with(&start), "{problems}");
    }
}

#[test]
fn a_limit_in_a_part_of_an_alternative_that_is_tried_stays_refused() {
    let base =
        "{ type: object, required: [n], properties: { n: { type: string, not: { enum: [x] } } } }";
    let all_of = "allOf: [{ $ref: '#/components/schemas/Base' }, { type: object, properties: { a: { type: string } } }]";
    let other =
        "{ type: object, required: [n], properties: { n: { type: string, enum: [x, y] } } }";
    let told = refused(&format!(
        "{{ oneOf: [{{ {all_of} }}, {other}] }}\n    Base: {base}"
    ));
    assert!(
        told.starts_with("case: /components/schemas/Base/properties/n/not: "),
        "{told}"
    );
}

#[test]
fn a_limit_that_says_which_alternative_is_meant_stays_refused() {
    let short = "{ type: string, maxLength: 3 }";
    let trial = |one: &str| format!("{{ oneOf: [{one}, {short}] }}");
    for one in [
        "{ type: string, not: { maxLength: 3 } }",
        "{ type: string, minLength: 3, not: { maxLength: 3 } }",
    ] {
        let told = refused(&trial(one));
        let not = "case: /components/schemas/Thing/oneOf/0/not: `not` is not a keyword";
        assert!(told.contains(not), "{told}");
    }
    // Their type tells these apart.
    let text = document("{ oneOf: [{ type: string, not: { maxLength: 3 } }, { type: integer }] }");
    let (_, told) = Document::parse_leniently("case", &text, "things").unwrap();
    assert_eq!(told.len(), 1);
}
