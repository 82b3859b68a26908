//! Members of the client whose names are reserved in Rust.
//!
//! `type` would become `type_`. If such a member refers to a component, it is named after that:
//! `type: { $ref: ProductType }` becomes `product_type`, which is what a programmer looks for, and what a
//! hand-written half of the client also calls it. On the wire it is still `type`. The server's glue uses
//! [`names::fields`] and keeps `type_`.

use std::collections::{HashMap, HashSet};

use proc_macro2::Ident;
use quote::format_ident;
use syn::visit_mut::{self, VisitMut};
use syn::{Item, LitStr, Macro};

use crate::model::{Document, Kind, Schema};
use crate::names;

use super::bodies::owner;

/// Renames them, in the types of a module and in their builders.
pub(super) fn named(items: &mut [Item], document: &Document) {
    let schemas = document.schemas.iter();
    let mut all: HashMap<String, Vec<Renaming>> = schemas
        .map(|(name, schema)| (names::of_type(name), renamings(schema)))
        .collect();
    rename(items, &mut all);
}

/// The members to rename in the type of a component.
fn renamings(schema: &Schema) -> Vec<Renaming> {
    let Kind::Object { properties, .. } = &schema.kind else {
        return Vec::new();
    };
    let (fields, extra) = schema.fields();
    let mut taken: HashSet<String> = fields.iter().cloned().collect();
    taken.extend(extra.map(str::to_owned));
    let mut renamings = Vec::new();
    for (old, schema) in fields.into_iter().zip(properties.values()) {
        let Kind::Ref(component) = &schema.kind else {
            continue;
        };
        let new = names::value(component);
        if old.ends_with('_') && taken.insert(new.clone()) {
            let new = format_ident!("{new}");
            renamings.push(Renaming { old, new });
        }
    }
    renamings
}

fn rename(items: &mut [Item], all: &mut HashMap<String, Vec<Renaming>>) {
    for item in items {
        if let Item::Mod(module) = item
            && module.ident == "builder"
            && let Some((_, items)) = &mut module.content
        {
            rename(items, all);
        }
        let its = owner(item).and_then(|it| all.get_mut(&it));
        for renaming in its.into_iter().flatten() {
            renaming.visit_item_mut(item);
        }
    }
}

struct Renaming {
    old: String,
    new: Ident,
}

impl VisitMut for Renaming {
    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        if ident == &self.old {
            *ident = self.new.clone();
        }
    }

    fn visit_lit_str_mut(&mut self, literal: &mut LitStr) {
        if literal.value() == format!("no value supplied for {}", self.old) {
            let text = format!("no value supplied for {}", self.new);
            *literal = LitStr::new(&text, literal.span());
        }
    }

    /// Builders name their members in messages, too.
    fn visit_macro_mut(&mut self, call: &mut Macro) {
        let (old, new) = (format!("for {}:", self.old), format!("for {}:", self.new));
        let text = call.tokens.to_string().replace(&old, &new);
        // As many brackets and quotes as before.
        call.tokens = text.parse().unwrap_or_else(|_| call.tokens.clone());
        visit_mut::visit_macro_mut(self, call);
    }
}
