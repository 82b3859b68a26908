//! The server's glue, beside `mod types` in a generated module.
//!
//! ```text
//! schemas       what requests are held against, as static data   server/schema.rs
//! OPERATIONS    what the document says of each operation         server/operation.rs
//! XRequest      a checked request, and how to take it apart      server/request.rs
//! XAnswer       the success                                      server/answer.rs, answers.rs
//! trait XApi    what a team implements; register()               server/api.rs
//! ```
//!
//! Code that is the same for all documents is in `openapi-dropshot-runtime`; what is generated here is
//! data, types and the few lines that connect them.

mod answer;
mod answers;
mod api;
mod operation;
mod request;
mod schema;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

use crate::Document;
use crate::model::{Kind, Operation, Schema};
use crate::names;

/// What goes beside `mod types` in the server's module. Relies on all promises of the model.
pub(crate) fn tokens(document: &Document) -> TokenStream {
    let schemas = schema::tokens(document);
    let operations = operation::tokens(document);
    let requests = document
        .operations
        .iter()
        .map(|operation| request::tokens(document, operation));
    let answers = document.operations.iter();
    let answers = answers.map(|it| answers::tokens(it).unwrap_or_else(|| answer::tokens(it)));
    let api = api::tokens(document);
    quote! {
        #schemas
        #operations
        #(#requests)*
        #(#answers)*
        #api
    }
}

/// An identifier that [`names`] has made.
fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// The static of an operation: `CREATE_PRODUCT`.
fn operation_static(operation: &Operation) -> Ident {
    format_ident!("{}", operation.function().to_uppercase())
}

/// The Rust type of a parameter or header.
fn scalar_type(schema: &Schema) -> TokenStream {
    match &schema.kind {
        Kind::Array { items, .. } => {
            let item = scalar_type(items);
            quote!(::std::vec::Vec<#item>)
        }
        Kind::Ref(name) => component_type(name),
        Kind::Boolean => quote!(bool),
        Kind::Integer { width, .. } => {
            let width = ident(width.rust());
            quote!(#width)
        }
        Kind::Number { .. } => quote!(openapi_dropshot_runtime::Decimal),
        // Objects are not parameters.
        Kind::String(_)
        | Kind::Object { .. }
        | Kind::Map(_)
        | Kind::OneOf { .. }
        | Kind::Union(_)
        | Kind::Null
        | Kind::Any
        | Kind::Never => quote!(::std::string::String),
    }
}

/// The Rust type of a component.
fn component_type(name: &str) -> TokenStream {
    let name = ident(&names::of_type(name));
    quote!(types::#name)
}

/// The schema of a parameter or header in schemars' dialect.
fn described_schema(schema: &Schema) -> TokenStream {
    match &schema.kind {
        Kind::Ref(name) => {
            let name = component_type(name);
            quote!(generator.subschema_for::<#name>())
        }
        _ => {
            let json = schema.json.to_string();
            quote!(openapi_dropshot_runtime::document_schema(#json))
        }
    }
}

fn optional<T: quote::ToTokens>(value: Option<T>) -> TokenStream {
    match value {
        Some(value) => quote!(::std::option::Option::Some(#value)),
        None => quote!(::std::option::Option::None),
    }
}

/// A doc comment of these paragraphs; those that are `None` are left out.
fn doc<'a>(paragraphs: impl IntoIterator<Item = Option<&'a str>>) -> TokenStream {
    let text = paragraphs
        .into_iter()
        .flatten()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join("\n\n");
    quote!(#[doc = #text])
}
