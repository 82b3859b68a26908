//! The one success of an operation: its body and its headers, so that no other can be answered.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{component_type, described_schema, doc, ident, operation_static, scalar_type};
use crate::model::{Header, Operation};
use crate::names;

/// dropshot adds it to every answer.
const REQUEST_ID: &str = "x-request-id";

pub(super) fn tokens(operation: &Operation) -> TokenStream {
    let name = format_ident!("{}Answer", operation.stem());
    let text = format!(
        "The success of `{}`: {}.",
        operation.id, operation.success.status
    );
    let text = doc([
        Some(text.as_str()),
        Some(operation.success.description.as_str()),
    ]);
    let body = operation.success.schema.as_deref().map(component_type);
    let body_field = body.iter().map(|ty| quote!(body: #ty,));
    let constructor = constructor(operation);
    let setters = headers(operation)
        .filter(|header| !header.required)
        .map(setter);
    let implementation = implementation(operation);
    quote! {
        #text
        #[derive(Clone, Debug)]
        pub struct #name {
            headers: codegen_runtime::http::HeaderMap,
            #(#body_field)*
        }

        impl #name {
            #constructor
            #(#setters)*
        }
        #implementation
    }
}

/// The headers that a handler sends.
fn headers(operation: &Operation) -> impl Iterator<Item = &Header> {
    let all = operation.success.headers.iter();
    all.filter(|header| !header.name.eq_ignore_ascii_case(REQUEST_ID))
}

fn constructor(operation: &Operation) -> TokenStream {
    let required: Vec<&Header> = headers(operation)
        .filter(|header| header.required)
        .collect();
    let body = operation.success.schema.as_deref().map(component_type);
    let body_argument = body.iter().map(|ty| quote!(body: #ty));
    let arguments = required.iter().map(|header| {
        let (name, ty) = (
            ident(&names::value(&header.name)),
            scalar_type(&header.schema),
        );
        quote!(#name: #ty)
    });
    let arguments = body_argument.chain(arguments);
    let inserts = required.iter().map(|header| insert(header));
    let body_value = body.iter().map(|_| quote!(body));
    let mutable = (!required.is_empty()).then(|| quote!(mut));
    quote! {
        /// An answer with what it has to have.
        #[allow(clippy::new_without_default)]
        #[must_use]
        pub fn new(#(#arguments),*) -> Self {
            let #mutable headers = codegen_runtime::http::HeaderMap::new();
            #(#inserts)*
            Self { headers, #(#body_value)* }
        }
    }
}

/// The statement that puts a header, named as its argument, into `headers`.
fn insert(header: &Header) -> TokenStream {
    let (name, value) = (
        header.name.to_ascii_lowercase(),
        ident(&names::value(&header.name)),
    );
    quote! {
        headers.insert(
            codegen_runtime::http::HeaderName::from_static(#name),
            codegen_runtime::header_of(&#value),
        );
    }
}

fn setter(header: &Header) -> TokenStream {
    let doc = doc([Some(header.description.as_deref().unwrap_or(&header.name))]);
    let (name, ty) = (
        ident(&names::value(&header.name)),
        scalar_type(&header.schema),
    );
    let insert = insert(header);
    quote! {
        #doc
        #[must_use]
        pub fn #name(mut self, #name: #ty) -> Self {
            let headers = &mut self.headers;
            #insert
            self
        }
    }
}

fn implementation(operation: &Operation) -> TokenStream {
    let name = format_ident!("{}Answer", operation.stem());
    let constant = operation_static(operation);
    let (shape, body) = match operation.success.schema.as_deref().map(component_type) {
        Some(ty) => (
            quote!(dropshot::HttpResponseOk<#ty>),
            quote!(::std::option::Option::Some(codegen_runtime::json_body(
                &self.body
            )?)),
        ),
        None => (
            quote!(dropshot::HttpResponseDeleted),
            quote!(::std::option::Option::None),
        ),
    };
    let schemas = operation
        .success
        .headers
        .iter()
        .map(|header| described_schema(&header.schema));
    quote! {
        #[allow(unused_variables)]
        impl codegen_runtime::Success for #name {
            type Shape = #shape;

            fn operation() -> &'static codegen_runtime::Operation {
                &#constant
            }

            fn into_parts(self) -> ::std::result::Result<
                (codegen_runtime::http::HeaderMap, ::std::option::Option<::std::vec::Vec<u8>>),
                serde_json::Error,
            > {
                let body = #body;
                Ok((self.headers, body))
            }

            fn header_schemas(
                generator: &mut schemars::r#gen::SchemaGenerator,
            ) -> ::std::vec::Vec<schemars::schema::Schema> {
                ::std::vec![#(#schemas),*]
            }
        }
    }
}
