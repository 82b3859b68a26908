//! Products as CSV files, for spreadsheets to read and write (docs/decisions.md, W18, W26, W34 to W38).
//!
//! 1. The first line names the columns, in any order, as the interface names the fields of a product. All are optional
//!    here. An unknown name is refused, because a misspelt one would silently change nothing.
//! 2. Each further line is a product. The text is UTF-8, and a byte order mark is ignored. Cells are separated by
//!    commas and quoted according to RFC 4180; lines end with LF or CRLF. Empty lines are skipped.
//! 3. A spreadsheet recognises a formula by how the cell starts. Such a cell is written with a `'` in front, which is
//!    removed again on reading.
//! 4. Nothing is rounded: a number is written as the text of its decimal.
//!
//! Whether a line makes a valid product is decided in [`product_import`](super::product_import), not here.

mod cell;
mod lines;
mod read;
mod write;

pub use cell::{Column, FIELDS, MAX_BYTES, MAX_LINES, Reason};
pub use lines::Lines;
pub use read::{Cells, Line, Reader, Unreadable};
pub use write::{cells, names, text_of};
