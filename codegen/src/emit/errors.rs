//! Errors of operations whose answers have several bodies, or none here and there.
//!
//! 1. Their type is an enumeration of the bodies, beside the components, on both sides. Nothing of it is
//!    sent but the body: which one it is, the status says.
//! 2. The server publishes it as any of the bodies, and can tell which it holds.
//! 3. progenitor knows one body for all errors. It is shown bytes ([`super::prepare`]), and the client's
//!    builders read what the status says.

use std::collections::HashMap;

use indexmap::IndexMap;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{Arm, Expr, Item, Pat, Type, parse_quote};

use crate::model::{Document, Operation, Response, Status};
use crate::names;

/// The operations with such errors, one for each type.
fn of_each(document: &Document) -> impl Iterator<Item = (String, &Operation)> {
    let all = document.operations.iter().filter(|it| has_several(it));
    let named = all.filter_map(|it| Some((it.error_schema()?, it)));
    named.collect::<IndexMap<_, _>>().into_iter()
}

pub(super) fn has_several(operation: &Operation) -> bool {
    operation.error_bodies().len() > 1
}

/// The variant of a body.
fn variant(body: Option<&str>) -> syn::Ident {
    format_ident!("{}", body.map_or("Nothing".to_owned(), names::of_type))
}

/// Step 1.
pub(super) fn types(document: &Document) -> TokenStream {
    let types = of_each(document).map(|(name, operation)| {
        let name = format_ident!("{}", names::of_type(&name));
        let bodies = operation.error_bodies();
        let variants = bodies.iter().map(|&body| {
            let variant = variant(body);
            match body {
                Some(component) => {
                    let doc = format!("`{component}`");
                    quote!(#[doc = #doc] #variant(#variant))
                }
                None => quote!(#[doc = "No body."] #variant),
            }
        });
        quote! {
            /// The body of an error: which one it is, its status says.
            #[derive(Clone, Debug, PartialEq, ::serde::Serialize)]
            #[serde(untagged)]
            pub enum #name { #(#variants),* }
        }
    });
    quote!(#(#types)*)
}

/// Step 2.
pub(super) fn served(document: &Document) -> TokenStream {
    let types = of_each(document).map(|(name, operation)| {
        let ident = format_ident!("{}", names::of_type(&name));
        let bodies = operation.error_bodies();
        let arms = bodies.iter().map(|&body| {
            let variant = variant(body);
            match body {
                Some(component) => {
                    quote!(Self::#variant(_) => ::std::option::Option::Some(#component))
                }
                None => quote!(Self::#variant => ::std::option::Option::None),
            }
        });
        let components = bodies.iter().flatten().map(|it| variant(Some(it)));
        quote! {
            impl ::openapi_dropshot_runtime::ErrorBody for types::#ident {
                fn component(&self) -> ::std::option::Option<&'static str> {
                    match self { #(#arms),* }
                }
            }

            impl ::schemars::JsonSchema for types::#ident {
                fn is_referenceable() -> bool {
                    false
                }
                fn schema_name() -> ::std::string::String {
                    #name.to_owned()
                }
                fn schema_id() -> ::std::borrow::Cow<'static, str> {
                    concat!(module_path!(), "::", #name).into()
                }
                fn json_schema(
                    generator: &mut ::schemars::r#gen::SchemaGenerator,
                ) -> ::schemars::schema::Schema {
                    ::openapi_dropshot_runtime::any_of(::std::vec![
                        #(generator.subschema_for::<types::#components>()),*
                    ])
                }
            }
        }
    });
    quote!(#(#types)*)
}

/// Step 3.
pub(super) fn read(file: &mut syn::File, document: &Document) {
    let several = document.operations.iter().filter(|it| has_several(it));
    let mut readers: HashMap<String, Reader<'_>> = several
        .filter_map(|operation| {
            let name = format_ident!("{}", names::of_type(&operation.error_schema()?));
            let ty = parse_quote!(types::#name);
            Some((operation.stem(), Reader { operation, ty }))
        })
        .collect();
    for item in &mut file.items {
        if let Item::Mod(module) = item
            && module.ident == "builder"
            && let Some((_, items)) = &mut module.content
        {
            for item in items {
                let reader = super::bodies::owner(item).and_then(|it| readers.get_mut(&it));
                if let Some(reader) = reader {
                    reader.visit_item_mut(item);
                }
            }
        }
    }
}

struct Reader<'a> {
    operation: &'a Operation,
    ty: Type,
}

impl Reader<'_> {
    /// The answer of a body.
    fn answer(&self, answer: &Response) -> Expr {
        let (ty, variant) = (&self.ty, variant(answer.schema()));
        let (value, made): (Expr, Expr) = match answer.schema() {
            Some(_) => (
                parse_quote!(ResponseValue::<types::#variant>::from_response(response).await?),
                parse_quote!(#ty::#variant),
            ),
            None => (
                parse_quote!(ResponseValue::empty(response)),
                parse_quote!(|()| #ty::#variant),
            ),
        };
        parse_quote!(Err(Error::ErrorResponse(#value.map::<_, _, Error<#ty>>(#made)?)))
    }

    /// The answers of a class, by status.
    fn class(&self, digit: u16) -> Expr {
        let errors = &self.operation.errors;
        let arms = errors.iter().filter_map(|answer| match answer.status {
            Status::Code(code) if code / 100 == digit => {
                let answer = self.answer(answer);
                Some(quote!(#code => #answer,))
            }
            _ => None,
        });
        let rest = errors.iter().find(|it| match it.status {
            Status::Class(other) => other == digit,
            Status::Other => true,
            Status::Code(_) => false,
        });
        let rest = match rest {
            Some(answer) => self.answer(answer),
            None => parse_quote!(Err(Error::UnexpectedResponse(response))),
        };
        parse_quote!(match response.status().as_u16() { #(#arms)* _ => #rest })
    }
}

impl VisitMut for Reader<'_> {
    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        visit_mut::visit_arm_mut(self, arm);
        let Pat::Range(_) = &arm.pat else { return };
        let pattern = &arm.pat;
        let pattern = quote!(#pattern).to_string();
        let digit = pattern.chars().next().and_then(|it| it.to_digit(10));
        if let Some(digit @ 4..=5) = digit {
            let answer = self.class(u16::try_from(digit).unwrap_or_default());
            *arm.body = parse_quote!({ #answer });
        }
    }

    fn visit_type_mut(&mut self, ty: &mut Type) {
        if *ty == parse_quote!(Error<ByteStream>) {
            let own = &self.ty;
            *ty = parse_quote!(Error<#own>);
        }
        visit_mut::visit_type_mut(self, ty);
    }
}
