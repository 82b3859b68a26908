//! The round trip: a document becomes traits, dropshot describes the traits in a document, and the two
//! are the same.

use dropshot::ApiDescription;
use openapi_dropshot_roundtrip::{Answered, bodies, library, parcels, petstore, security, shapes};
use openapi_dropshot_test::assert_served_as_documented;

#[track_caller]
fn compare(file: &str, register: impl FnOnce(&mut ApiDescription<Answered>)) {
    let mut api = ApiDescription::new();
    register(&mut api);
    assert_served_as_documented!(format!("../tests/{file}"), api);
}

#[test]
fn a_pet_store_comes_back_as_it_is() {
    compare("documents/petstore.yaml", |api| {
        petstore::register::<petstore::Store>(api).unwrap()
    });
}

#[test]
fn a_paginated_api_comes_back_as_it_is() {
    compare("documents/library.yaml", |api| {
        library::register::<library::Library>(api).unwrap()
    });
}

#[test]
fn headers_come_back_as_they_are() {
    compare("documents/parcels.yaml", |api| {
        parcels::register::<parcels::Carrier>(api).unwrap()
    });
}

#[test]
fn a_one_of_comes_back_as_it_is() {
    compare("documents/shapes.json", |api| {
        shapes::register::<shapes::Ruler>(api).unwrap()
    });
}

#[test]
fn bodies_of_all_media_types_come_back_as_they_are() {
    compare("accepted/bodies.yaml", |api| {
        bodies::register::<bodies::Cabinet>(api).unwrap()
    });
}

#[test]
fn operations_come_back_whoever_may_call_them() {
    compare("accepted/security.yaml", |api| {
        security::register::<security::Doors>(api).unwrap()
    });
}

#[test]
fn a_success_is_described_in_the_words_of_the_document_and_an_error_by_name() {
    let mut api = ApiDescription::new();
    petstore::register::<petstore::Store>(&mut api).unwrap();
    let version = "1.0.0".parse().unwrap();
    let told = api.openapi("pets", version).json().unwrap();
    let success = &told["paths"]["/pets"]["get"]["responses"]["200"];
    assert_eq!(success["description"], "The pets.");
    assert!(told["components"]["schemas"]["Failure"].is_object());
}
