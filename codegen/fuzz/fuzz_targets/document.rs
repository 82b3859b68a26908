//! Fuzzes the text of a document. Run from `codegen/`, for a minute, starting from the test documents:
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run document fuzz/corpus tests/documents tests/accepted tests/rejected -- -max_total_time=60
//! ```

#![no_main]

use openapi_dropshot::Document;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(document) = Document::parse("fuzz", text, "fuzz") else {
        return;
    };
    // What was accepted can be generated without an error.
    openapi_dropshot::server(&document).unwrap_or_else(|problems| panic!("{problems}"));
    openapi_dropshot::client(&[document], None, None).unwrap_or_else(|problems| panic!("{problems}"));
});
