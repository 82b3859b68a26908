//! Members whose names Rust keeps to itself, in the client.
//!
//! `type` would become `type_`. When such a member refers to a component, it takes its name from there:
//! `type: { $ref: ProductType }` becomes `product_type`, which is what a programmer looks for, and what a
//! hand-written half of the client calls it, too. On the wire it is still `type`. The server's glue goes
//! by [`names::fields`] and keeps it.

use proc_macro2::Ident;
use quote::format_ident;
use syn::visit_mut::{self, VisitMut};
use syn::{Item, LitStr, Macro, Type};

use crate::model::{Document, Kind};
use crate::names;

/// Gives them their names, in the types of a module and in their builders.
pub(super) fn named(items: &mut [Item], document: &Document) {
    for (name, schema) in &document.schemas {
        let Kind::Object { properties, .. } = &schema.kind else {
            continue;
        };
        let taken = names::fields(properties.keys().map(String::as_str));
        for (old, schema) in taken.iter().zip(properties.values()) {
            let Kind::Ref(component) = &schema.kind else {
                continue;
            };
            let new = names::value(component);
            if old.ends_with('_') && !taken.contains(&new) {
                rename(items, &names::of_type(name), old, &new);
            }
        }
    }
}

fn rename(items: &mut [Item], owner: &str, old: &str, new: &str) {
    let mut renaming = Renaming {
        old,
        new: format_ident!("{new}"),
    };
    for item in items {
        let is_of_owner = match item {
            Item::Struct(it) => it.ident == owner,
            Item::Impl(it) => ends_in(&it.self_ty, owner),
            Item::Mod(module) if module.ident == "builder" => {
                if let Some((_, items)) = &mut module.content {
                    rename(items, owner, old, new);
                }
                false
            }
            _ => false,
        };
        if is_of_owner {
            renaming.visit_item_mut(item);
        }
    }
}

pub(super) fn ends_in(ty: &Type, name: &str) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path
        .segments
        .last()
        .is_some_and(|last| last.ident == name)
}

struct Renaming<'a> {
    old: &'a str,
    new: Ident,
}

impl VisitMut for Renaming<'_> {
    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        if ident == self.old {
            *ident = self.new.clone();
        }
    }

    fn visit_lit_str_mut(&mut self, literal: &mut LitStr) {
        if literal.value() == format!("no value supplied for {}", self.old) {
            let text = format!("no value supplied for {}", self.new);
            *literal = LitStr::new(&text, literal.span());
        }
    }

    /// Builders name their members in messages, as in the one above.
    fn visit_macro_mut(&mut self, call: &mut Macro) {
        let (old, new) = (format!("for {}:", self.old), format!("for {}:", self.new));
        let text = call.tokens.to_string().replace(&old, &new);
        // As many brackets and quotes as before.
        call.tokens = text.parse().unwrap_or_else(|_| call.tokens.clone());
        visit_mut::visit_macro_mut(self, call);
    }
}
