//! The comparison of the running traits.

use dropshot::ApiDescription;
use invoicing::generated::{catalog, mobile};
use invoicing::http::Service;
use openapi_dropshot_test::assert_served_as_documented;

#[test]
fn the_catalog_describes_itself_as_it_is_published() {
    let mut api = ApiDescription::new();
    catalog::register::<Service>(&mut api).unwrap();
    assert_served_as_documented!("openapi/catalog.yaml", api);
}

#[test]
fn the_mobile_api_describes_itself_as_it_is_published() {
    let mut api = ApiDescription::new();
    mobile::register::<Service>(&mut api).unwrap();
    assert_served_as_documented!("openapi/mobile.yaml", api);
}
