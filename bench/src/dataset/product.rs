//! Products, each a function of its number.

use invoicing::domain::id::ProductId;
use invoicing::domain::product::{NewProduct, Product};
use invoicing::domain::time::Timestamp;
use serde_json::{Value, json};
use uuid::{Builder, Uuid};

/// PATCH changes the products whose number is a multiple of this, and no others.
pub const CHANGED: u64 = 16;

/// When the first product was created; each one after it a millisecond later.
const BEGIN: u64 = 1_735_689_600_000; // 2025-01-01T00:00:00Z

/// The product with this number.
pub fn product(number: u64) -> Product {
    let created_at = Timestamp::from_millis((BEGIN + number).cast_signed());
    // Cannot fail: digits around a point.
    let price = format!("{}.99", 100 + number % 900)
        .parse()
        .expect("a price");
    let product = NewProduct {
        description: Some(format!(
            "What an invoice says of product {number:09}, in a line or so."
        )),
        sku: Some(format!("SKU-{number:09}")),
        tax_rate: Some(19_u32.into()),
        product_type: Some("GOODS".to_owned()),
        unit_of_measure: Some("pcs".to_owned()),
        ..NewProduct::new(format!("Product {number:09}"), price, "EUR")
    };
    product.into_product(ProductId(id(number)), created_at)
}

/// The id of the product with this number: a UUIDv7 of its millisecond.
pub fn id(number: u64) -> Uuid {
    let mut rest = [0; 10];
    // Spread like random bits, the same in every run.
    rest[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    Builder::from_unix_timestamp_millis(BEGIN + number, &rest).into_uuid()
}

/// The id of a random product, among this many, that is meant to be changed.
pub fn any_changed_id(products: u64, random: &mut fastrand::Rng) -> Uuid {
    id(random.u64(0..products) / CHANGED * CHANGED)
}

/// The number of the product with this id, if it is one of the data set.
pub fn number(id: Uuid) -> Option<u64> {
    let number = (id.as_u128() >> 80) as u64;
    let number = number.checked_sub(BEGIN)?;
    (self::id(number) == id).then_some(number)
}

/// The product with this number as the document describes it.
pub fn published(number: u64) -> Value {
    let product = product(number);
    json!({
        "id": product.id.0,
        "name": product.name,
        "unitPrice": product.unit_price,
        "currency": product.currency,
        "description": product.description,
        "sku": product.sku,
        "taxRate": product.tax_rate,
        "type": product.product_type,
        "unitOfMeasure": product.unit_of_measure,
        "status": "active",
        "createdAt": super::time(product.created_at),
        "updatedAt": super::time(product.updated_at),
    })
}
