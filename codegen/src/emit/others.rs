//! Members that are not properties, in the builders of the client: typify requires them, although there may be
//! none.

use std::collections::HashMap;

use syn::visit_mut::{self, VisitMut};
use syn::{FieldValue, Item, Member, parse_quote};

use crate::model::Document;
use crate::names;

use super::bodies::owner;

/// Makes them optional in the builders of a module of types.
pub(super) fn may_be_left_out(items: &mut [Item], document: &Document) {
    let schemas = document.schemas.iter();
    let keeping = schemas.filter_map(|(name, it)| Some((names::of_type(name), it.fields().1?)));
    let keeping: HashMap<String, &str> = keeping.collect();
    let builders = items.iter_mut().filter_map(|item| match item {
        Item::Mod(module) if module.ident == "builder" => module.content.as_mut(),
        _ => None,
    });
    for item in builders.flat_map(|(_, items)| items) {
        if let Some(field) = owner(item).and_then(|it| keeping.get(&it)) {
            LeftOut(field).visit_item_mut(item);
        }
    }
}

/// Patches a builder so that this field starts out empty.
struct LeftOut<'a>(&'a str);

impl VisitMut for LeftOut<'_> {
    fn visit_field_value_mut(&mut self, value: &mut FieldValue) {
        let is_told = matches!(&value.member, Member::Named(it) if it == self.0);
        // Elsewhere, a field is copied from another value.
        if is_told && matches!(&value.expr, syn::Expr::Call(it) if it.func == parse_quote!(Err)) {
            value.expr = parse_quote!(Ok(::std::default::Default::default()));
        }
        visit_mut::visit_field_value_mut(self, value);
    }
}
