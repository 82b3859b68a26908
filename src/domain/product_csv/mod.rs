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

mod cell;
mod lines;
mod read;
mod write;

pub use cell::{Column, FIELDS, MAX_BYTES, MAX_LINES, Reason};
pub use lines::Lines;
pub use read::{Cells, Line, Reader, Unreadable};
pub use write::{cells, names, text_of};
