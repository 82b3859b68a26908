//! Errors and successes of operations whose responses have several bodies, or only sometimes one.
//!
//! 1. On both sides, their type is an enumeration of the bodies, beside the components. Only the body is
//!    sent; the status tells which one it is.
//! 2. The server publishes it as any of the bodies, and can tell which one it holds.
//! 3. progenitor knows one body for all errors, and one for all successes. It is shown bytes
//!    ([`super::prepare`]), and the client's builders read the body that the status calls for.

use indexmap::{IndexMap, IndexSet};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{Arm, Expr, ExprLit, Lit, Pat, Type, parse_quote};

use crate::model::{Document, Operation, Response, Status, one_of_bodies};
use crate::names;

use super::bodies;

/// For each such type, by name, the bodies of which a response has one.
fn of_each(document: &Document) -> IndexMap<String, IndexSet<Option<&str>>> {
    let operations = document.operations.iter();
    let sets = operations.flat_map(|it| [it.success_bodies(), it.error_bodies()]);
    let several = sets.filter(|it| it.len() > 1);
    let named = several.filter_map(|it| Some((one_of_bodies(&it)?, it)));
    named.collect()
}

/// Whether errors of the operation have several bodies.
pub(super) fn has_several(operation: &Operation) -> bool {
    operation.error_bodies().len() > 1
}

/// The variant of a body.
pub(super) fn variant(body: Option<&str>) -> syn::Ident {
    format_ident!("{}", body.map_or("Nothing".to_owned(), names::of_type))
}

/// Step 1.
pub(super) fn types(document: &Document) -> TokenStream {
    let types = of_each(document).into_iter().map(|(name, bodies)| {
        let name = format_ident!("{}", names::of_type(&name));
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
            /// The body of an answer: which one it is, its status says.
            #[derive(Clone, Debug, PartialEq, ::serde::Serialize)]
            #[serde(untagged)]
            pub enum #name { #(#variants),* }
        }
    });
    quote!(#(#types)*)
}

/// Step 2.
pub(super) fn served(document: &Document) -> TokenStream {
    let types = of_each(document).into_iter().map(|(name, bodies)| {
        let ident = format_ident!("{}", names::of_type(&name));
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
    bodies::of_builders(file, document, |operation, item| {
        let ty = |name: String| -> Type {
            let name = format_ident!("{}", names::of_type(&name));
            parse_quote!(types::#name)
        };
        let error = operation.error_schema().filter(|_| has_several(operation));
        let mut reader = Reader {
            operation,
            error: error.map(ty),
            success: operation.success_schema().map(ty),
        };
        if reader.error.is_some() || reader.success.is_some() {
            reader.visit_item_mut(item);
        }
    });
}

struct Reader<'a> {
    operation: &'a Operation,
    /// The types of errors and of successes that have several bodies.
    error: Option<Type>,
    success: Option<Type>,
}

/// How a response is read, and the function that makes `ty` of the result.
fn read_as(answer: &Response, ty: &Type) -> (Expr, Expr) {
    let variant = variant(answer.schema());
    match answer.schema() {
        Some(_) => (
            parse_quote!(ResponseValue::<types::#variant>::from_response(response).await?),
            parse_quote!(#ty::#variant),
        ),
        None => (
            parse_quote!(ResponseValue::empty(response)),
            parse_quote!(|()| #ty::#variant),
        ),
    }
}

fn error(answer: &Response, ty: &Type) -> Expr {
    let (value, made) = read_as(answer, ty);
    parse_quote!(Err(Error::ErrorResponse(#value.map::<_, _, Error<#ty>>(#made)?)))
}

impl Reader<'_> {
    /// The responses of a class, by status.
    fn class(&self, digit: u16, ty: &Type) -> Expr {
        let errors = &self.operation.errors;
        let arms = errors.iter().filter_map(|answer| match answer.status {
            Status::Code(code) if code / 100 == digit => {
                let answer = error(answer, ty);
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
            Some(answer) => error(answer, ty),
            None => parse_quote!(Err(Error::UnexpectedResponse(response))),
        };
        parse_quote!(match response.status().as_u16() { #(#arms)* _ => #rest })
    }

    /// The success of a status.
    fn success(&self, code: u16, ty: &Type) -> Option<Expr> {
        let mut successes = self.operation.successes();
        let answer = successes.find(|it| it.status == Status::Code(code))?;
        let (value, made) = read_as(answer, ty);
        Some(parse_quote!(#value.map(#made)))
    }
}

impl VisitMut for Reader<'_> {
    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        visit_mut::visit_arm_mut(self, arm);
        match (&arm.pat, &self.error, &self.success) {
            (pattern @ Pat::Range(_), Some(ty), _) => {
                let pattern = quote!(#pattern).to_string();
                let digit = pattern.chars().next().and_then(|it| it.to_digit(10));
                if let Some(digit @ 4..=5) = digit {
                    let answer = self.class(u16::try_from(digit).unwrap_or_default(), ty);
                    *arm.body = parse_quote!({ #answer });
                }
            }
            (
                Pat::Lit(ExprLit {
                    lit: Lit::Int(code),
                    ..
                }),
                _,
                Some(ty),
            ) => {
                let code = code.base10_parse().ok();
                if let Some(answer) = code.and_then(|it| self.success(it, ty)) {
                    *arm.body = answer;
                }
            }
            _ => {}
        }
    }

    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Some(own) = &self.error
            && *ty == parse_quote!(Error<ByteStream>)
        {
            *ty = parse_quote!(Error<#own>);
        }
        if let Some(own) = &self.success
            && *ty == parse_quote!(ResponseValue<ByteStream>)
        {
            *ty = parse_quote!(ResponseValue<#own>);
        }
        visit_mut::visit_type_mut(self, ty);
    }
}
