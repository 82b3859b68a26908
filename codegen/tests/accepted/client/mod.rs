//! What the published documents say, as Rust: generated, never edited.
//!
//! To make it anew after a change of a document, where `FOLDER` is the one of this file:
//!
//! ```text
//! openapi-dropshot client --out FOLDER absence.yaml bodies.yaml composed.yaml inline.yaml limits.yaml named.yaml open.yaml scalars.yaml security.yaml unions.yaml
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
pub mod absence;
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
pub mod bodies;
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
pub mod composed;
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
pub mod inline;
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
pub mod limits;
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
pub mod named;
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
pub mod open;
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
pub mod scalars;
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
pub mod security;
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
pub mod unions;
mod any;
mod choice;
mod decimal;
mod field;
mod form;
mod newtype;
mod object;
mod path;
mod time;

pub use any::Any;
#[doc(hidden)]
pub use any::present;
use choice::none_of;
pub use decimal::{Decimal, DecimalError};
pub use field::Field;
#[allow(unused_imports)] // Not every document has use for each.
use newtype::{impl_checked_text, impl_conversions, impl_number, impl_text};
#[doc(hidden)]
pub use object::{Members, Object, object};
pub use time::{is_writable, parse_rfc3339, rfc3339};
