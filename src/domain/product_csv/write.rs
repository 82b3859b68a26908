//! Writing products, one by one.

use std::io::{self, Write};

use csv::{QuoteStyle, Terminator, WriterBuilder};

use super::cell::{Column, guarded};
use crate::domain::product::Product;

/// Writes products as CSV.
pub struct Writer<W: Write>(csv::Writer<W>);

impl<W: Write> Writer<W> {
    /// Writes the names of the columns.
    ///
    /// # Errors
    /// What the file says.
    pub fn new(file: W) -> io::Result<Writer<W>> {
        let mut csv = WriterBuilder::new()
            .terminator(Terminator::CRLF)
            .quote_style(QuoteStyle::Necessary)
            .from_writer(file);
        csv.write_record(Column::ALL.iter().map(|column| column.as_str()))?;
        Ok(Writer(csv))
    }

    /// Writes a product.
    ///
    /// # Errors
    /// What the file says.
    pub fn write(&mut self, product: &Product) -> io::Result<()> {
        for column in Column::ALL {
            let text = text(product, *column);
            self.0.write_field(guarded(&text).as_bytes())?;
        }
        Ok(self.0.write_record(None::<&[u8]>)?)
    }

    /// Writes what is still to be written.
    ///
    /// # Errors
    /// What the file says.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// What a cell says of a product; nothing where the product has nothing.
fn text(product: &Product, column: Column) -> String {
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
