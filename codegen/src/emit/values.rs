//! Enumerations some of whose values are no names of Rust: typify was shown the names of the variants instead
//! ([`prepare::seen_values`]), and here each variant gets its value back.

use std::collections::HashMap;

use syn::visit_mut::VisitMut;
use syn::{Item, ItemEnum, LitStr, parse_quote};

use crate::model::{Document, Kind, Schema};
use crate::names;

use super::bodies::owner;
use super::prepare;

/// Gives all variants of a module their values.
pub(super) fn renamed(items: &mut [Item], document: &Document) {
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

/// From the names of variants to their values.
struct Values(HashMap<String, String>);

impl Values {
    /// Those of a component, if typify was shown names instead.
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
            let value = self.0.get(&variant.ident.to_string());
            variant
                .attrs
                .extend(value.map(|it| parse_quote!(#[serde(rename = #it)])));
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
