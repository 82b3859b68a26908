//! What the published documents say, as Rust: generated, never edited.
//!
//! To make it anew after a change of a document, where `FOLDER` is the one of this file:
//!
//! ```text
//! openapi-dropshot client --out FOLDER --inner crate::transport::Transport --mock mock openapi/catalog.yaml openapi/mobile.yaml
//! ```

#[allow(
    missing_docs,
    clippy::all,
    rustdoc::bare_urls,
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    unused_imports,
    unused_mut
)]
#[rustfmt::skip] // As the generator prints it.
pub mod catalog;
#[cfg(feature = "mock")]
#[allow(
    missing_docs,
    clippy::all,
    rustdoc::bare_urls,
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    unused_imports,
    unused_mut
)]
#[rustfmt::skip] // As the generator prints it.
pub mod catalog_mock;
#[allow(
    missing_docs,
    clippy::all,
    rustdoc::bare_urls,
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    unused_imports,
    unused_mut
)]
#[rustfmt::skip] // As the generator prints it.
pub mod mobile;
#[cfg(feature = "mock")]
#[allow(
    missing_docs,
    clippy::all,
    rustdoc::bare_urls,
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    unused_imports,
    unused_mut
)]
#[rustfmt::skip] // As the generator prints it.
pub mod mobile_mock;
mod choice;
mod decimal;
mod field;
mod newtype;
mod time;

use choice::none_of;
pub use decimal::{Decimal, DecimalError};
pub use field::Field;
#[allow(unused_imports)] // Not every document has use for each.
use newtype::{impl_checked_text, impl_conversions, impl_number, impl_text};
pub use time::{is_writable, parse_rfc3339, rfc3339};
