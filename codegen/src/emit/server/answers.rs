//! The success of an operation with several bodies. Each status has a constructor of its own, so it always has the
//! body that the document lists for it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::answer::{argument, described, headers, insert, setter};
use super::{component_type, described_schema, doc};
use crate::emit::several::variant;
use crate::model::{Operation, Response, Status};

/// The type; `None` for an operation with one body.
pub(super) fn tokens(operation: &Operation) -> Option<TokenStream> {
    let body = component_type(&operation.success_schema()?);
    let name = format_ident!("{}Answer", operation.stem());
    let text = described(operation);
    let constructors = operation.successes();
    let constructors = constructors.filter_map(|it| constructor(operation, it, &body));
    let setters = headers(operation).filter(|it| !it.required).map(setter);
    let implementation = implementation(operation, &body);
    Some(quote! {
        #text
        #[derive(Clone, Debug)]
        pub struct #name {
            status: u16,
            headers: openapi_dropshot_runtime::http::HeaderMap,
            body: #body,
        }

        impl #name {
            #(#constructors)*
            #(#setters)*
        }
        #implementation
    })
}

/// The constructor for the response of one status.
fn constructor(
    operation: &Operation,
    answer: &Response,
    body: &TokenStream,
) -> Option<TokenStream> {
    let Status::Code(code) = answer.status else {
        return None;
    };
    let text = format!("An answer of status {code}, with what it has to have.");
    let doc = doc([Some(text.as_str()), Some(answer.description.as_str())]);
    let (name, variant) = (format_ident!("status_{code}"), variant(answer.schema()));
    let (argument_of_body, value) = match answer.schema() {
        Some(component) => {
            let ty = component_type(component);
            (Some(quote!(body: #ty)), quote!(#body::#variant(body)))
        }
        None => (None, quote!(#body::#variant)),
    };
    let required: Vec<_> = headers(operation).filter(|it| it.required).collect();
    let arguments = argument_of_body.into_iter();
    let arguments = arguments.chain(required.iter().map(|it| argument(it)));
    let inserts = required.iter().map(|it| insert(it));
    let mutable = (!required.is_empty()).then(|| quote!(mut));
    Some(quote! {
        #doc
        #[must_use]
        pub fn #name(#(#arguments),*) -> Self {
            let #mutable headers = openapi_dropshot_runtime::http::HeaderMap::new();
            #(#inserts)*
            Self { status: #code, headers, body: #value }
        }
    })
}

fn implementation(operation: &Operation, body: &TokenStream) -> TokenStream {
    let name = format_ident!("{}Answer", operation.stem());
    let nothing = operation.success_bodies().contains(&None).then(|| {
        let nothing = variant(None);
        quote!(#body::#nothing => Ok(openapi_dropshot_runtime::Answer::empty(self.headers)),)
    });
    let schemas = operation.success.headers.iter();
    let schemas = schemas.map(|it| described_schema(&it.schema));
    quote! {
        #[allow(unused_variables)]
        impl openapi_dropshot_runtime::Success for #name {
            type Shape = dropshot::HttpResponseOk<#body>;

            fn into_answer(
                self,
            ) -> ::std::result::Result<openapi_dropshot_runtime::Answer, serde_json::Error> {
                let answer = match &self.body {
                    #nothing
                    body => openapi_dropshot_runtime::Answer::json(self.headers, body),
                };
                answer.map(|it| it.with_code(self.status))
            }

            fn header_schemas(
                generator: &mut schemars::r#gen::SchemaGenerator,
            ) -> ::std::vec::Vec<schemars::schema::Schema> {
                ::std::vec![#(#schemas),*]
            }
        }
    }
}
