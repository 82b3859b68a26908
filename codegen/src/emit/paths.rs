//! Values in the client's paths that a URL would not keep.
//!
//! progenitor writes any text as a segment, and `url` then drops `.`, and `..` with the segment before it, so
//! that another operation would be called. Values that could be such a text go through `path.rs`, which refuses
//! them before anything is sent.

use quote::quote;
use syn::punctuated::Punctuated;
use syn::visit_mut::VisitMut;
use syn::{Expr, Token, parse_quote};

use crate::model::{Document, Format, Kind, Location, Operation, Schema};

use super::bodies;

/// The segments that URLs drop.
const LOST: [&str; 3] = ["", ".", ".."];

/// Fixes the builders of a client's file.
pub(super) fn kept(file: &mut syn::File, document: &Document) {
    bodies::of_builders(file, document, |operation, item| {
        let variables = variables(document, operation);
        if variables.iter().any(Option::is_some) {
            Segments { variables }.visit_item_mut(item);
        }
    });
}

/// Whether a client of the document has any such value.
pub(super) fn may_lose(document: &Document) -> bool {
    let mut operations = document.operations.iter();
    operations.any(|it| variables(document, it).iter().any(Option::is_some))
}

/// The variables of the path, in order: the names of those whose values may be lost.
fn variables<'a>(document: &Document, operation: &'a Operation) -> Vec<Option<&'a str>> {
    let segments = operation.path.split('/');
    let names = segments.filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'));
    let lost = |name: &&str| {
        let mut parameters = operation.parameters.iter();
        let found = parameters.find(|it| it.location == Location::Path && it.name == **name);
        found.is_some_and(|it| has_lost(document.resolve(&it.schema)))
    };
    names.map(|name| Some(name).filter(lost)).collect()
}

/// Whether the schema admits one of the lost values.
fn has_lost(schema: &Schema) -> bool {
    let Kind::String(text) = &schema.kind else {
        // Only text can be one of them; of alternatives, one may be any text.
        return matches!(schema.kind, Kind::Union(_));
    };
    match text.format {
        None | Some(Format::Password | Format::Uri) => {
            let values = &text.enumeration;
            values.is_empty() || LOST.iter().any(|it| values.iter().any(|value| value == it))
        }
        Some(_) => false,
    }
}

struct Segments<'a> {
    variables: Vec<Option<&'a str>>,
}

impl VisitMut for Segments<'_> {
    /// progenitor writes a URL with a single `format!`, whose arguments are in the order of the path.
    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
        let Ok(mut arguments) = call.parse_body_with(parser) else {
            return;
        };
        let encodings = arguments.iter_mut().filter(|it| match it {
            Expr::Call(call) => *call.func == parse_quote!(encode_path),
            _ => false,
        });
        for (encoding, name) in encodings.zip(&self.variables) {
            if let (Expr::Call(call), Some(name)) = (&*encoding, name) {
                let value = &call.args;
                *encoding = parse_quote! {
                    super::super::path::segment(#name, #value).map_err(Error::InvalidRequest)?
                };
            }
        }
        call.tokens = quote!(#arguments);
    }
}
