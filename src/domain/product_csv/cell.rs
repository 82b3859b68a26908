//! What reading and writing share: the columns, and the limits on a file's size.

use std::borrow::Cow;
use std::fmt;

use crate::domain::string_enum::string_enum;

/// The most bytes in a file uploaded to a page.
pub const MAX_BYTES: usize = 5 * 1024 * 1024;

/// The most bytes in a line: more than the document allows in all of its cells together. Parsing a line of nothing but
/// commas takes forty times its size in memory.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// The most lines in such a file, not counting the one that names the columns.
pub const MAX_LINES: usize = 10_000;

string_enum! {
    /// A column, in the order of an export.
    Column {
        /// The product's id; empty for a new one.
        Id = "id",
        /// What it is called.
        Name = "name",
        /// The price of one unit.
        UnitPrice = "unitPrice",
        /// ISO 4217 alphabetic code.
        Currency = "currency",
        /// What it is.
        Description = "description",
        /// The team's own code for it.
        Sku = "sku",
        /// In percent.
        TaxRate = "taxRate",
        /// Goods or services.
        Type = "type",
        /// What one unit is.
        UnitOfMeasure = "unitOfMeasure",
        /// Active or archived; an import only compares it.
        Status = "status",
    }
}

/// The columns that are members of the bodies of POST and PATCH.
pub const FIELDS: [Column; 8] = [
    Column::Name,
    Column::UnitPrice,
    Column::Currency,
    Column::Description,
    Column::Sku,
    Column::TaxRate,
    Column::Type,
    Column::UnitOfMeasure,
];

/// Why a line is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The column; `None` if it is the whole line.
    pub column: Option<Column>,
    /// What is wrong, as a clause: "must be a number, but is a string".
    pub text: Cow<'static, str>,
}

impl Reason {
    /// A reason that concerns the whole line.
    pub fn of_line(text: impl Into<Cow<'static, str>>) -> Reason {
        Reason {
            column: None,
            text: text.into(),
        }
    }

    /// A reason that concerns one cell.
    pub fn of_cell(column: Column, text: impl Into<Cow<'static, str>>) -> Reason {
        Reason {
            column: Some(column),
            text: text.into(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            Some(column) => write!(f, "{column} {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}
