//! The server's glue: trait, registration, requests, answers and static schemas.

use proc_macro2::TokenStream;

use crate::Document;

/// What stands beside `mod types` in the server's module. All that the model promises holds.
pub(crate) fn tokens(_document: &Document) -> TokenStream {
    TokenStream::new()
}
