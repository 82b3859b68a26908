use serde_json::Value;

use crate::place::Place;

#[test]
fn the_documents_are_printed_as_they_were_written() {
    let place = Place::new();
    for (name, written) in [
        ("catalog", include_str!("../../openapi/catalog.yaml")),
        ("mobile", include_str!("../../openapi/mobile.yaml")),
    ] {
        assert_eq!(place.run(&["openapi", name]).output, written);
        assert_eq!(
            place.run(&["openapi", name, "--format", "yaml"]).output,
            written
        );
        let json: Value =
            serde_json::from_str(&place.run(&["openapi", name, "--format", "json"]).output)
                .unwrap();
        assert_eq!(json, serde_saphyr::from_str::<Value>(written).unwrap());
    }
}

#[test]
fn an_unknown_document_fails_with_2() {
    Place::new()
        .run(&["openapi", "sales"])
        .failed(2, "catalog, mobile");
}

#[test]
fn no_database_is_made_for_it() {
    let place = Place::new();
    place.run(&["openapi", "catalog"]);
    assert!(!place.path("invoicing.db").exists());
}
