//! The checked request of an operation: one field per parameter, and the body.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{
    component_type, described_schema, doc, ident, operation, operation_static, scalar_type,
};
use crate::Document;
use crate::model::{Content, Kind, Location, Operation, OrNull, Parameter};
use crate::names;

pub(super) fn tokens(document: &Document, operation: &Operation) -> TokenStream {
    let name = format_ident!("{}Request", operation.stem());
    let text = format!("A checked request for `{}`.", operation.id);
    let fields = operation.parameters.iter().map(|it| field(document, it));
    let body = body(operation).map(|body| {
        let (doc, ty) = (doc([Some(body.doc)]), body.field);
        quote!(#doc pub body: #ty,)
    });
    // A body that can be read only once cannot be cloned.
    let derived = match is_unread(operation) {
        true => quote!(#[derive(Debug)]),
        false => quote!(#[derive(Clone, Debug)]),
    };
    let headers = headers(document, operation);
    let implementation = implementation(document, operation);
    quote! {
        #[doc = #text]
        #derived
        pub struct #name {
            #(#fields)*
            #body
        }
        #headers
        #implementation
    }
}

/// How a request holds its body.
struct BodyField<'a> {
    doc: &'a str,
    /// The type of the field.
    field: TokenStream,
    /// The type that the runtime returns.
    made: TokenStream,
    /// The value of the field, from the `body` that the runtime returned.
    value: TokenStream,
}

fn body(operation: &Operation) -> Option<BodyField<'_>> {
    if operation.success.is_upgrade() {
        let ty = quote!(openapi_dropshot_runtime::Websocket);
        return Some(BodyField {
            doc: "The websocket that the connection becomes.",
            field: ty.clone(),
            made: ty,
            value: quote!(body),
        });
    }
    let body = operation.body.as_ref()?;
    let ty = match &body.content {
        Content::Json {
            component: name, ..
        } if body.null == OrNull::Here => {
            let ty = component_type(name);
            quote!(::std::option::Option<#ty>)
        }
        Content::Json {
            component: name, ..
        }
        | Content::Form(name)
        | Content::Text(name) => component_type(name),
        Content::Multipart => quote!(openapi_dropshot_runtime::Multipart),
        Content::Bytes(_) => quote!(openapi_dropshot_runtime::RequestBody),
    };
    let doc = body.description.as_deref().unwrap_or("The body.");
    // An optional body that is absent, and a null that the component admits, are both `None`.
    Some(match body.required && body.null != OrNull::ByComponent {
        true => BodyField {
            doc,
            field: ty.clone(),
            made: ty,
            value: quote!(body),
        },
        false => BodyField {
            doc,
            field: quote!(::std::option::Option<#ty>),
            made: quote!(openapi_dropshot_runtime::Optional<#ty>),
            value: quote!(body: body.0),
        },
    })
}

/// Whether the handler reads the body itself.
fn is_unread(operation: &Operation) -> bool {
    let content = operation.body.as_ref().map(|body| &body.content);
    let unread = matches!(content, Some(Content::Multipart | Content::Bytes(_)));
    unread || operation.success.is_upgrade()
}

fn field(document: &Document, parameter: &Parameter) -> TokenStream {
    let doc = doc([Some(
        parameter.description.as_deref().unwrap_or(&parameter.name),
    )]);
    let name = ident(&names::value(&parameter.name));
    let ty = scalar_type(&parameter.schema);
    match is_always_there(document, parameter) {
        true => quote!(#doc pub #name: #ty,),
        false => quote!(#doc pub #name: ::std::option::Option<#ty>,),
    }
}

fn is_always_there(document: &Document, parameter: &Parameter) -> bool {
    parameter.required || operation::default(document, parameter).is_some()
}

fn of(operation: &Operation, location: Location) -> impl Iterator<Item = &Parameter> {
    operation
        .parameters
        .iter()
        .filter(move |parameter| parameter.location == location)
}

fn has_headers(operation: &Operation) -> bool {
    of(operation, Location::Header).next().is_some()
}

/// The struct of the headers alone, for operations that read any.
fn headers(document: &Document, operation: &Operation) -> Option<TokenStream> {
    let name = format_ident!("{}Headers", operation.stem());
    let text = format!("The checked headers of a request for `{}`.", operation.id);
    let fields = of(operation, Location::Header).map(|it| field(document, it));
    has_headers(operation).then(|| {
        quote! {
            #[doc = #text]
            #[derive(Clone, Debug)]
            pub struct #name { #(#fields)* }
        }
    })
}

/// The expression that takes a parameter out of the parameters of its location.
fn take(document: &Document, parameter: &Parameter, from: &str) -> TokenStream {
    let (field, from) = (ident(&names::value(&parameter.name)), ident(from));
    let name = &parameter.name;
    match is_always_there(document, parameter) {
        true => quote!(#field: #from.required(#name)?),
        false => quote!(#field: #from.optional(#name)?),
    }
}

/// The type of the headers, and the expression that takes them out of the parameters.
fn headers_of(document: &Document, operation: &Operation) -> (TokenStream, TokenStream) {
    if !has_headers(operation) {
        return (quote!(()), quote!(()));
    }
    let name = format_ident!("{}Headers", operation.stem());
    let values = of(operation, Location::Header).map(|it| take(document, it, "headers"));
    (quote!(#name), quote!(#name { #(#values),* }))
}

/// The field of the request for a parameter.
fn value(document: &Document, parameter: &Parameter) -> TokenStream {
    match parameter.location {
        Location::Path => take(document, parameter, "path"),
        Location::Query => take(document, parameter, "query"),
        Location::Header => {
            let field = ident(&names::value(&parameter.name));
            quote!(#field: headers.#field)
        }
    }
}

fn implementation(document: &Document, operation: &Operation) -> TokenStream {
    let name = format_ident!("{}Request", operation.stem());
    let constant = operation_static(operation);
    let (headers_type, header_value) = headers_of(document, operation);
    let body = body(operation);
    let body_type = body.as_ref().map_or(quote!(()), |body| body.made.clone());
    let values = operation.parameters.iter().map(|it| value(document, it));
    let body = body.map(|body| body.value);
    let schemas = operation
        .parameters
        .iter()
        .map(|it| match &document.resolve(&it.schema).kind {
            // dropshot accepts no list in a query, so it is shown the type of an item.
            Kind::Array { items, .. } => described_schema(items),
            _ => described_schema(&it.schema),
        });
    quote! {
        #[allow(unused_variables)]
        impl openapi_dropshot_runtime::Request for #name {
            type Headers = #headers_type;
            type Body = #body_type;

            fn operation() -> &'static openapi_dropshot_runtime::Operation {
                &#constant
            }

            fn headers(
                headers: &openapi_dropshot_runtime::Parameters<'_>,
            ) -> ::std::result::Result<Self::Headers, openapi_dropshot_runtime::RequestError> {
                Ok(#header_value)
            }

            fn build(
                path: &openapi_dropshot_runtime::Parameters<'_>,
                query: &openapi_dropshot_runtime::Parameters<'_>,
                headers: Self::Headers,
                body: Self::Body,
            ) -> ::std::result::Result<Self, openapi_dropshot_runtime::RequestError> {
                Ok(Self { #(#values,)* #body })
            }

            fn parameter_schemas(
                generator: &mut schemars::r#gen::SchemaGenerator,
            ) -> ::std::vec::Vec<schemars::schema::Schema> {
                ::std::vec![#(#schemas),*]
            }
        }
    }
}
