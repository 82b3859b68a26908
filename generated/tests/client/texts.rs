//! Types over text that are used like text.

use std::collections::HashMap;

use invoicing_client::types::{CurrencyCode, ProductName, ProductType, Sku, UnitOfMeasure};

use crate::client;
use crate::stub::Stub;
use crate::{ID, field_and_reason};

#[tokio::test]
async fn a_product_is_compared_and_read_like_text() {
    let stub = Stub::example();
    let product = client(&stub).products().get(ID).send().await.unwrap();
    assert_eq!(product.name, "Consulting");
    assert_eq!("Consulting", product.name);
    assert_ne!(product.name, String::from("Beans"));
    assert_eq!(product.sku.as_deref(), Some("C-1"));
    let text: &str = &product.name;
    assert_eq!((text, &*product.name), ("Consulting", "Consulting"));
    assert_eq!(product.name.to_uppercase(), "CONSULTING");
    assert_eq!(format!("{}", product.name), "Consulting");
    assert_eq!(product.product_type, Some(ProductType::Services));
    let by_sku = HashMap::from([(product.sku.unwrap(), product.id)]);
    assert!(by_sku.contains_key("C-1"));
}

#[test]
fn a_text_is_made_of_text_and_given_back() {
    let name: ProductName = "Beans".parse().unwrap();
    assert_eq!(name, ProductName::try_from("Beans").unwrap());
    assert_eq!(name, ProductName::try_from(String::from("Beans")).unwrap());
    assert_eq!(String::from(name), "Beans");
    assert!(Sku::try_from("A").unwrap() < Sku::try_from("B").unwrap());
}

#[tokio::test]
async fn an_enumeration_that_refuses_a_text_says_it_and_what_there_is() {
    let stub = Stub::example();
    let client = client(&stub);
    let create = |currency: &str| client.products().create("x", 1, currency);
    assert_eq!(
        field_and_reason(create("EUR").product_type("THINGS").send().await),
        (
            "product_type",
            r#""THINGS" is none of GOODS, SERVICES"#.to_owned()
        )
    );
    let (field, reason) = field_and_reason(create("eur").send().await);
    assert_eq!(field, "currency");
    assert!(reason.starts_with(r#""eur" is none of AED, "#), "{reason}");
    assert!(reason.ends_with("(did you mean EUR?)"), "{reason}");
    assert_eq!(stub.requests().len(), 0);
}

#[test]
fn an_enumeration_lists_its_values() {
    assert!(CurrencyCode::ALL.contains(&CurrencyCode::Eur));
    assert_eq!(UnitOfMeasure::Hr.as_str(), "hr");
    for unit in UnitOfMeasure::ALL {
        assert_eq!(unit.as_str().parse::<UnitOfMeasure>().unwrap(), *unit);
    }
}
