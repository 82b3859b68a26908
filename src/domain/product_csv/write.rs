//! Writes products as lines of a CSV file.

use super::cell::Column;
use crate::domain::product::Product;

/// The names of the columns, for the first line.
pub fn names() -> impl Iterator<Item = &'static str> {
    Column::ALL.iter().map(|column| column.as_str())
}

/// The cells of a product's line.
pub fn cells(product: &Product) -> impl Iterator<Item = String> {
    Column::ALL.iter().map(|column| text_of(product, *column))
}

/// The text of a product's cell; empty if the product lacks that field.
pub fn text_of(product: &Product, column: Column) -> String {
    let optional = |value: &Option<String>| value.clone().unwrap_or_default();
    match column {
        Column::Id => product.id.to_string(),
        Column::Name => product.name.clone(),
        Column::UnitPrice => product.unit_price.to_string(),
        Column::Currency => product.currency.clone(),
        Column::Description => optional(&product.description),
        Column::Sku => optional(&product.sku),
        Column::TaxRate => product
            .tax_rate
            .as_ref()
            .map_or_else(String::new, ToString::to_string),
        Column::Type => optional(&product.product_type),
        Column::UnitOfMeasure => optional(&product.unit_of_measure),
        Column::Status => product.status.to_string(),
    }
}
