//! Products as CSV: what a spreadsheet reads and writes (docs/decisions.md, W18, W26, W34 to W38).
//!
//! 1. The first line names the columns, as the interface names the fields of a product, in any order. All are optional
//!    here; a name that no column has is refused, because a misspelt one would silently change nothing.
//! 2. Each further line is a product. It is text in UTF-8, and a byte order mark is ignored; cells are separated by
//!    commas, and quoted as RFC 4180 has it; lines end with LF or CRLF. Empty lines are none.
//! 3. A spreadsheet takes a cell for a formula by how it begins. Such a cell gets a `'` in front, which is taken off
//!    again.
//! 4. Nothing is rounded: a number is the text of its decimal.
//!
//! Whether a line makes a good product is not decided here, but in [`product_import`](super::product_import).

mod lines;
mod read;
mod write;

use std::borrow::Cow;
use std::fmt;

use super::string_enum::string_enum;

pub use lines::Lines;
pub use read::{Cells, Line, Reader, Unreadable};
pub use write::Writer;

/// The most bytes of a file that a page takes, of a step of the command line, and of one line.
pub const MAX_BYTES: usize = 5 * 1024 * 1024;

/// The most lines of either, without the one that names the columns.
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

/// Why a line is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The column, unless it is the whole line.
    pub column: Option<Column>,
    /// What is wrong, as a clause: "must be a number, but is a string".
    pub text: Cow<'static, str>,
}

impl Reason {
    /// What is wrong with the whole line.
    pub fn of_line(text: impl Into<Cow<'static, str>>) -> Reason {
        Reason {
            column: None,
            text: text.into(),
        }
    }

    /// What is wrong with a cell.
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

/// How a cell begins that a spreadsheet takes for a formula, or that looks as if it were guarded from that.
const GUARDED: [char; 7] = ['=', '+', '-', '@', '\'', '\t', '\r'];

/// The text of a cell, as no spreadsheet takes it for a formula.
fn guarded(text: &str) -> Cow<'_, str> {
    match text.starts_with(GUARDED) {
        true => format!("'{text}").into(),
        false => text.into(),
    }
}

/// The text that [`guarded`] was given. A `'` that guards nothing is part of it: somebody typed it.
fn unguarded(cell: &str) -> &str {
    let text = cell.strip_prefix('\'');
    text.filter(|text| text.starts_with(GUARDED))
        .unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_looks_like_a_formula_gets_a_quote_which_is_taken_off_again() {
        for begin in GUARDED {
            let text = format!("{begin}1+1");
            assert_eq!(guarded(&text), format!("'{text}"));
            assert_eq!(unguarded(&guarded(&text)), text);
        }
        for text in ["", "a", "1=1", "''", "'='", "''="] {
            assert_eq!(unguarded(&guarded(text)), text, "{text}");
        }
    }

    #[test]
    fn a_quote_that_guards_nothing_stays() {
        for text in ["'s-Hertogenbosch", "'"] {
            assert_eq!(unguarded(text), text);
        }
    }
}
