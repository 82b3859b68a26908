//! Enumerations some of whose values are no names of Rust: typify was shown the names of the variants instead
//! ([`prepare::seen_values`]), and here each variant gets its value back.

use std::collections::HashMap;

use syn::visit_mut::VisitMut;
use syn::{Item, LitStr, parse_quote};

use crate::model::{Document, Kind};
use crate::names;

use super::prepare;

/// Gives all variants of a module their values.
pub(super) fn renamed(items: &mut [Item], document: &Document) {
    for (name, schema) in &document.schemas {
        let Kind::String(text) = &schema.kind else {
            continue;
        };
        let seen = prepare::seen_values(text);
        if seen == text.enumeration {
            continue;
        }
        let values = seen.into_iter().zip(text.enumeration.iter().cloned());
        rename(items, &names::of_type(name), &Values(values.collect()));
    }
}

fn rename(items: &mut [Item], name: &str, values: &Values) {
    for item in items {
        match item {
            Item::Enum(it) if it.ident == name => {
                for variant in &mut it.variants {
                    let value = values.0.get(&variant.ident.to_string());
                    variant
                        .attrs
                        .extend(value.map(|it| parse_quote!(#[serde(rename = #it)])));
                }
            }
            Item::Impl(it) if super::members::ends_in(&it.self_ty, name) => {
                values.clone().visit_item_impl_mut(it);
            }
            _ => {}
        }
    }
}

/// From the names of variants to their values.
#[derive(Clone)]
struct Values(HashMap<String, String>);

impl VisitMut for Values {
    fn visit_lit_str_mut(&mut self, literal: &mut LitStr) {
        if let Some(value) = self.0.get(&literal.value()) {
            *literal = LitStr::new(value, literal.span());
        }
    }
}
