//! Writing products, one by one.

use std::io::{self, Write};

use csv::{QuoteStyle, Terminator, WriterBuilder};

use super::cell::{Column, guarded};
use crate::domain::product::Product;

/// Writes products as CSV.
pub struct Writer<W: Write>(csv::Writer<W>);

impl<W: Write> Writer<W> {
    /// Goes on behind the names of the columns, or behind other products.
    pub fn going_on(file: W) -> Writer<W> {
        let csv = WriterBuilder::new()
            .terminator(Terminator::CRLF)
            .quote_style(QuoteStyle::Necessary)
            .from_writer(file);
        Writer(csv)
    }

    /// Writes the names of the columns.
    ///
    /// # Errors
    /// What the file says.
    pub fn new(file: W) -> io::Result<Writer<W>> {
        let mut writer = Writer::going_on(file);
        let names = Column::ALL.iter().map(|column| column.as_str());
        writer.0.write_record(names)?;
        Ok(writer)
    }

    /// Writes a product.
    ///
    /// # Errors
    /// What the file says.
    pub fn write(&mut self, product: &Product) -> io::Result<()> {
        for column in Column::ALL {
            let text = text_of(product, *column);
            self.0.write_field(guarded(&text).as_bytes())?;
        }
        Ok(self.0.write_record(None::<&[u8]>)?)
    }

    /// What all was written to.
    ///
    /// # Errors
    /// What the file says.
    pub fn into_inner(self) -> io::Result<W> {
        self.0.into_inner().map_err(|error| error.into_error())
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
