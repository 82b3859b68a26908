//! The one success of an operation: its body and its headers, so that a handler can return nothing else. Those
//! with several bodies are in [`super::answers`].

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{component_type, described_schema, doc, ident, scalar_type};
use crate::model::{Content, Header, Operation, OrNull, Response, Status};
use crate::names;

/// dropshot adds it to every response.
const REQUEST_ID: &str = "x-request-id";

pub(super) fn tokens(operation: &Operation) -> TokenStream {
    let name = format_ident!("{}Answer", operation.stem());
    let text = described(operation);
    let body = body(operation);
    let body_field = body.iter().map(|ty| quote!(body: #ty,));
    let status = match (has_status(operation), operation.further.is_empty()) {
        (true, _) => quote!(status: openapi_dropshot_runtime::http::StatusCode,),
        (false, false) => quote!(status: u16,),
        (false, true) => quote!(),
    };
    // A stream can be sent only once.
    let derived = match is_bytes(operation) {
        true => quote!(#[derive(Debug)]),
        false => quote!(#[derive(Clone, Debug)]),
    };
    let constructor = constructor(operation);
    let setters = headers(operation)
        .filter(|header| !header.required)
        .map(setter);
    let media_type = media_type_setter(operation);
    let statuses = operation.further.iter().filter_map(status_setter);
    let implementation = implementation(operation);
    quote! {
        #text
        #derived
        pub struct #name {
            #status
            headers: openapi_dropshot_runtime::http::HeaderMap,
            #(#body_field)*
        }

        impl #name {
            #constructor
            #media_type
            #(#statuses)*
            #(#setters)*
        }
        #implementation
    }
}

/// The documentation of the type.
pub(super) fn described(operation: &Operation) -> TokenStream {
    let statuses = operation.successes().map(|it| it.status.to_string());
    let statuses = statuses.collect::<Vec<_>>().join(" or ");
    let text = format!("The success of `{}`: {statuses}.", operation.id);
    doc([
        Some(text.as_str()),
        Some(operation.success.description.as_str()),
    ])
}

/// The type of the body.
fn body(operation: &Operation) -> Option<TokenStream> {
    if operation.success.is_upgrade() {
        return Some(quote!(openapi_dropshot_runtime::Switching));
    }
    let content = operation.success.content.as_ref()?;
    let ty = content
        .schema()
        .map_or(quote!(openapi_dropshot_runtime::RawBody), component_type);
    Some(match operation.success.null {
        OrNull::Here | OrNull::ByComponent => quote!(::std::option::Option<#ty>),
        OrNull::Never => ty,
    })
}

/// The type whose schema is published for the body: a component that admits null states that itself.
fn published(operation: &Operation) -> Option<TokenStream> {
    match (&operation.success.null, operation.success.schema()) {
        (OrNull::ByComponent, Some(component)) => Some(component_type(component)),
        _ => body(operation),
    }
}

/// Whether the body is bytes.
fn is_bytes(operation: &Operation) -> bool {
    matches!(operation.success.content, Some(Content::Bytes(_)))
}

/// Whether the handler sets the status.
fn has_status(operation: &Operation) -> bool {
    operation.success.status == Status::Other
}

/// The setter of the media type, if the document leaves it to the handler.
fn media_type_setter(operation: &Operation) -> Option<TokenStream> {
    let content = operation.success.content.as_ref()?;
    (content.media_type() == "*/*").then(|| {
        quote! {
            /// The same, of this media type: `application/octet-stream` unless it is said.
            #[must_use]
            pub fn media_type(mut self, media_type: openapi_dropshot_runtime::http::HeaderValue) -> Self {
                self.headers.insert(openapi_dropshot_runtime::http::header::CONTENT_TYPE, media_type);
                self
            }
        }
    })
}

/// The setter of another status.
fn status_setter(answer: &Response) -> Option<TokenStream> {
    let Status::Code(code) = answer.status else {
        return None;
    };
    let text = format!("The same, with status {code}.");
    let doc = doc([Some(text.as_str()), Some(answer.description.as_str())]);
    let name = format_ident!("status_{code}");
    Some(quote! {
        #doc
        #[must_use]
        pub fn #name(self) -> Self {
            Self { status: #code, ..self }
        }
    })
}

/// The media type of bytes, as a value of a header.
fn sent_as(operation: &Operation) -> Option<&str> {
    match operation.success.content.as_ref()? {
        Content::Bytes(media_type) if media_type == "*/*" => Some("application/octet-stream"),
        Content::Bytes(media_type) => Some(media_type),
        _ => None,
    }
}

/// The headers that a handler sends.
pub(super) fn headers(operation: &Operation) -> impl Iterator<Item = &Header> {
    let all = operation.success.headers.iter();
    all.filter(|header| !header.name.eq_ignore_ascii_case(REQUEST_ID))
}

fn constructor(operation: &Operation) -> TokenStream {
    let required: Vec<&Header> = headers(operation)
        .filter(|header| header.required)
        .collect();
    let body = body(operation);
    let body_argument = body.iter().map(|ty| match is_bytes(operation) {
        true => quote!(body: impl Into<#ty>),
        false => quote!(body: #ty),
    });
    let status = has_status(operation);
    let status_argument =
        status.then(|| quote!(status: openapi_dropshot_runtime::http::StatusCode));
    let arguments = required.iter().map(|header| argument(header));
    let arguments = status_argument
        .into_iter()
        .chain(body_argument)
        .chain(arguments);
    let inserts = required.iter().map(|header| insert(header));
    let body_value = body.iter().map(|_| match is_bytes(operation) {
        true => quote!(body: body.into()),
        false => quote!(body),
    });
    let status_value = match (operation.success.status, operation.further.is_empty()) {
        (Status::Code(code), false) => quote!(status: #code,),
        (Status::Code(_), true) => quote!(),
        _ => quote!(status,),
    };
    let media_type = sent_as(operation).map(|media_type| {
        quote! {
            headers.insert(
                openapi_dropshot_runtime::http::header::CONTENT_TYPE,
                openapi_dropshot_runtime::http::HeaderValue::from_static(#media_type),
            );
        }
    });
    let mutable = (!required.is_empty() || media_type.is_some()).then(|| quote!(mut));
    quote! {
        /// An answer with what it has to have.
        #[allow(clippy::new_without_default)]
        #[must_use]
        pub fn new(#(#arguments),*) -> Self {
            let #mutable headers = openapi_dropshot_runtime::http::HeaderMap::new();
            #media_type
            #(#inserts)*
            Self { #status_value headers, #(#body_value)* }
        }
    }
}

/// A header as an argument of the constructor.
pub(super) fn argument(header: &Header) -> TokenStream {
    let (name, ty) = (
        ident(&names::value(&header.name)),
        scalar_type(&header.schema),
    );
    quote!(#name: #ty)
}

/// The statement that inserts a header, named like its argument, into `headers`.
pub(super) fn insert(header: &Header) -> TokenStream {
    let (name, value) = (
        header.name.to_ascii_lowercase(),
        ident(&names::value(&header.name)),
    );
    quote! {
        headers.insert(
            openapi_dropshot_runtime::http::HeaderName::from_static(#name),
            openapi_dropshot_runtime::header_of(&#value),
        );
    }
}

pub(super) fn setter(header: &Header) -> TokenStream {
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
    let shape = match (&operation.success.content, published(operation)) {
        (Some(Content::Bytes(_)), _) => quote!(dropshot::HttpResponseOk<dropshot::FreeformBody>),
        (Some(_), Some(ty)) => quote!(dropshot::HttpResponseOk<#ty>),
        _ => quote!(dropshot::HttpResponseDeleted),
    };
    let made = match &operation.success.content {
        Some(Content::Json { .. }) => quote!(openapi_dropshot_runtime::Answer::json(
            self.headers,
            &self.body
        )),
        Some(Content::Text(_)) => quote!(openapi_dropshot_runtime::Answer::text(
            self.headers,
            &self.body
        )),
        Some(_) => quote!(Ok(openapi_dropshot_runtime::Answer::bytes(
            self.headers,
            self.body
        ))),
        None if operation.success.is_upgrade() => {
            quote!(Ok(openapi_dropshot_runtime::Answer::switching(
                self.headers,
                self.body
            )))
        }
        None => quote!(Ok(openapi_dropshot_runtime::Answer::empty(self.headers))),
    };
    let status = match (has_status(operation), operation.further.is_empty()) {
        (true, _) => quote!(.map(|it| it.with_status(self.status))),
        (false, false) => quote!(.map(|it| it.with_code(self.status))),
        (false, true) => quote!(),
    };
    let schemas = operation
        .success
        .headers
        .iter()
        .map(|header| described_schema(&header.schema));
    quote! {
        #[allow(unused_variables)]
        impl openapi_dropshot_runtime::Success for #name {
            type Shape = #shape;

            fn into_answer(
                self,
            ) -> ::std::result::Result<openapi_dropshot_runtime::Answer, serde_json::Error> {
                #made #status
            }

            fn header_schemas(
                generator: &mut schemars::r#gen::SchemaGenerator,
            ) -> ::std::vec::Vec<schemars::schema::Schema> {
                ::std::vec![#(#schemas),*]
            }
        }
    }
}
