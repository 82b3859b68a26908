//! Enumerations with values that are not valid Rust names: typify was shown names for the variants instead
//! ([`prepare::seen_values`]), and here each variant gets its value back.

use std::collections::HashMap;

use syn::visit_mut::VisitMut;
use syn::{Item, ItemEnum, LitStr, parse_quote};

use crate::model::{Document, Kind, Schema};
use crate::names;

use super::bodies::owner;
use super::patch::renamed;
use super::prepare;

/// Gives all variants of a module their values.
pub(super) fn put_back(items: &mut [Item], document: &Document) {
    let schemas = document.schemas.iter();
    let mut all: HashMap<String, Values> = schemas
        .filter_map(|(name, schema)| Some((names::of_type(name), Values::of(schema)?)))
        .collect();
    for item in items {
        let Some(values) = owner(item).and_then(|it| all.get_mut(&it)) else {
            continue;
        };
        match item {
            Item::Enum(it) => values.rename(it),
            _ => values.visit_item_mut(item),
        }
    }
}

/// Maps what typify was shown to the real values.
struct Values(HashMap<String, String>);

impl Values {
    /// The values of a component, if typify was shown names instead.
    fn of(schema: &Schema) -> Option<Self> {
        let Kind::String(text) = &schema.kind else {
            return None;
        };
        let seen = prepare::seen_values(text);
        let is_renamed = seen != text.enumeration;
        let values = seen.into_iter().zip(text.enumeration.iter().cloned());
        is_renamed.then(|| Self(values.collect()))
    }

    fn rename(&self, item: &mut ItemEnum) {
        for variant in &mut item.variants {
            let seen = variant.attrs.iter().find_map(renamed);
            let seen = seen.unwrap_or_else(|| variant.ident.to_string());
            if let Some(value) = self.0.get(&seen) {
                variant.attrs.retain(|it| renamed(it).is_none());
                variant.attrs.push(parse_quote!(#[serde(rename = #value)]));
            }
        }
    }
}

impl VisitMut for Values {
    fn visit_lit_str_mut(&mut self, literal: &mut LitStr) {
        if let Some(value) = self.0.get(&literal.value()) {
            *literal = LitStr::new(value, literal.span());
        }
    }
}
