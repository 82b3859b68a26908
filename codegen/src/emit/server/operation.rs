//! The document's description of each operation, as static data.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use super::{ident, operation_static, optional, schema};
use crate::Document;
use crate::model::{
    Credential, Location, Operation, OrNull, Parameter, Required, Response, Status,
};
use crate::names;

pub(super) fn tokens(document: &Document) -> TokenStream {
    let operations = document
        .operations
        .iter()
        .map(|operation| one(document, operation));
    let all = document.operations.iter().map(operation_static);
    let schemes = schemes(document);
    quote! {
        #schemes
        #(#operations)*

        /// Every operation of the document, in its order.
        pub static OPERATIONS: &[&openapi_dropshot_runtime::Operation] = &[#(&#all),*];
    }
}

/// Where credentials are sent, for documents that require any.
fn schemes(document: &Document) -> Option<TokenStream> {
    let schemes = document.security_schemes.iter().map(|(name, scheme)| {
        let doc = format!("The security scheme `{name}`.");
        let constant = ident(&names::value(name).to_uppercase());
        let credential = match &scheme.kind {
            Credential::Http(scheme) => quote!(Http(#scheme)),
            Credential::OAuth2(_) | Credential::OpenIdConnect => quote!(Http("bearer")),
            Credential::Header(name) => quote!(Header(#name)),
            Credential::Query(name) => quote!(Query(#name)),
            Credential::Cookie(name) => quote!(Cookie(#name)),
        };
        quote! {
            #[doc = #doc]
            pub static #constant: openapi_dropshot_runtime::Scheme = openapi_dropshot_runtime::Scheme {
                name: #name,
                credential: openapi_dropshot_runtime::Credential::#credential,
            };
        }
    });
    (!document.security_schemes.is_empty()).then(|| {
        quote! {
            /// The document's security schemes.
            pub mod schemes {
                #(#schemes)*
            }
        }
    })
}

fn one(document: &Document, operation: &Operation) -> TokenStream {
    let name = operation_static(operation);
    let doc = format!("`{} {}`", operation.method.as_str(), operation.path);
    let Operation {
        id,
        path,
        tags,
        deprecated,
        ..
    } = operation;
    let method = ident(operation.method.as_str());
    let summary = optional(operation.summary.as_ref());
    let description = optional(operation.description.as_ref());
    let security = operation.security.iter().map(|all| {
        let all = all.iter().map(|Required { scheme, scopes }| {
            let scheme = ident(&names::value(scheme).to_uppercase());
            quote!(openapi_dropshot_runtime::Required { scheme: &schemes::#scheme, scopes: &[#(#scopes),*] })
        });
        quote!(&[#(#all),*])
    });
    let parameters = operation
        .parameters
        .iter()
        .map(|it| parameter(document, it));
    let body = optional(operation.body.as_ref().map(|body| {
        let (media_type, required) = (body.content.media_type(), body.required);
        let schema = optional(body.content.schema().map(|name| {
            let name = ident(&names::of_type(name));
            match body.null {
                OrNull::Here => quote! {
                    &openapi_dropshot_runtime::schema::Schema {
                        kind: openapi_dropshot_runtime::schema::Kind::Ref(&schemas::#name),
                        nullable: true,
                    }
                },
                // The component's schema already covers its own null.
                OrNull::Never | OrNull::ByComponent => quote!(&schemas::#name),
            }
        }));
        quote! {
            openapi_dropshot_runtime::Body {
                media_type: #media_type,
                required: #required,
                schema: #schema,
            }
        }
    }));
    let success = listed(&operation.success);
    let further = operation.further.iter().map(listed);
    let errors = operation.errors.iter().map(listed);
    quote! {
        #[doc = #doc]
        pub static #name: openapi_dropshot_runtime::Operation = openapi_dropshot_runtime::Operation {
            id: #id,
            method: openapi_dropshot_runtime::http::Method::#method,
            path: #path,
            summary: #summary,
            description: #description,
            tags: &[#(#tags),*],
            deprecated: #deprecated,
            security: &[#(#security),*],
            parameters: &[#(#parameters),*],
            body: #body,
            success: #success,
            further: &[#(#further),*],
            errors: &[#(#errors),*],
        };
    }
}

fn parameter(document: &Document, parameter: &Parameter) -> TokenStream {
    let Parameter { name, required, .. } = parameter;
    let location = match parameter.location {
        Location::Path => quote!(Path),
        Location::Query => quote!(Query),
        Location::Header => quote!(Header),
    };
    let description = optional(parameter.description.as_ref());
    let default = optional(default(document, parameter));
    let schema = schema::value(&parameter.schema);
    quote! {
        openapi_dropshot_runtime::Parameter {
            name: #name,
            location: openapi_dropshot_runtime::Location::#location,
            required: #required,
            description: #description,
            schema: {
                use openapi_dropshot_runtime::schema::*;
                use schemas::*;
                #schema
            },
            default: #default,
        }
    }
}

/// The text used for a missing parameter.
pub(super) fn default(document: &Document, parameter: &Parameter) -> Option<String> {
    let resolved = document.resolve(&parameter.schema);
    match parameter
        .schema
        .default
        .as_ref()
        .or(resolved.default.as_ref())?
    {
        // No text is null: the parameter counts as missing.
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        scalar => Some(scalar.to_string()),
    }
}

fn listed(answer: &Response) -> TokenStream {
    let Response {
        status,
        description,
        ..
    } = answer;
    let status = match status {
        Status::Code(code) => quote!(Code(#code)),
        Status::Class(digit) => quote!(Class(#digit)),
        Status::Other => quote!(Other),
    };
    let component = optional(answer.schema());
    let json_type = optional(answer.content.as_ref().and_then(|it| it.json_type()));
    let headers = answer.headers.iter().map(|header| {
        let (name, required) = (&header.name, header.required);
        let description = optional(header.description.as_ref());
        quote! {
            openapi_dropshot_runtime::AnswerHeader {
                name: #name,
                required: #required,
                description: #description,
            }
        }
    });
    quote! {
        openapi_dropshot_runtime::Listed {
            status: openapi_dropshot_runtime::Status::#status,
            description: #description,
            headers: &[#(#headers),*],
            component: #component,
            json_type: #json_type,
        }
    }
}
