//! What the generator makes of the published documents: wire types, one trait an API, registration.
//!
//! `build.rs` writes it from `openapi/*.yaml`; nobody edits it. [`http`](crate::http) implements the
//! traits.

// Neither the types, whose text is made by typify, nor the descriptions, which are written for the
// readers of the documents, keep all the rules of code written by hand.
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
