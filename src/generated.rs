//! The code generated from the published documents: wire types, one trait per API, registration.
//!
//! `build.rs` writes it from `openapi/*.yaml`; do not edit it. [`http`](crate::http) implements the traits.

// Neither the types, which typify writes, nor the descriptions, which are written for the readers of the documents, follow
// all the rules for handwritten code.
macro_rules! generated {
    ($(#[doc = $doc:literal] $module:ident $file:literal;)*) => {$(
        #[doc = $doc]
        #[allow(
            missing_docs,
            unused_imports,
            unused_variables,
            clippy::all,
            rustdoc::bare_urls,
            rustdoc::broken_intra_doc_links,
            rustdoc::invalid_html_tags
        )]
        pub mod $module {
            include!(concat!(env!("OUT_DIR"), "/", $file));
        }
    )*};
}

generated! {
    #[doc = "The product catalog API."]
    catalog "catalog.rs";
    #[doc = "The mobile device-session API."]
    mobile "mobile.rs";
}
