//! The comparison of the running traits.

use dropshot::ApiDescription;
use invoicing::generated::{catalog, mobile};
use invoicing::http::{Context, Service};
use serde_json::Value;
use test_support::document::{self, Document};
use test_support::emitted::differences;

/// What dropshot says about the operations that `register` adds.
fn emitted(document: &Document, register: impl FnOnce(&mut ApiDescription<Context>)) -> Value {
    let mut api = ApiDescription::new();
    register(&mut api);
    let text = |pointer: &str| document.at(pointer).as_str().unwrap().to_owned();
    let version = text("/info/version").parse().unwrap();
    api.openapi(text("/info/title"), version).json().unwrap()
}

#[test]
fn the_catalog_describes_itself_as_it_is_published() {
    let published = document::catalog();
    let emitted = emitted(&published, |api| catalog::register::<Service>(api).unwrap());
    assert_eq!(differences(&published.json, &emitted), Vec::<String>::new());
}

#[test]
fn the_mobile_api_describes_itself_as_it_is_published() {
    let published = document::mobile();
    let emitted = emitted(&published, |api| mobile::register::<Service>(api).unwrap());
    assert_eq!(differences(&published.json, &emitted), Vec::<String>::new());
}
