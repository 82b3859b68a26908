//! Strings with limits, checked in one pass and without a copy.
//!
//! typify makes every such string from a `&str`, so a `String`, which is what a document or a store returns, is copied to
//! be checked. Here:
//!
//! 1. The checks become a function of the type.
//! 2. `impl_checked_text!` of the shared files makes it: `FromStr` checks a text and copies it, `TryFrom<String>` and
//!    `Deserialize` check a text and move it.
//! 3. Characters are counted only if the bytes do not decide: no text has more characters than bytes.

use std::collections::HashSet;

use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Expr, Ident, ImplItem, Item, ItemImpl, Path, Stmt, Type, parse_quote};

/// Patches the types of a module. `shared` is the path of what both sides share, as seen from that module.
pub(super) fn strings(items: &mut Vec<Item>, shared: &Path) {
    let mut checked = HashSet::new();
    for mut item in std::mem::take(items) {
        let checks = match &mut item {
            Item::Impl(it) => take_checks(it),
            _ => None,
        };
        let Some((name, check)) = checks else {
            items.push(item);
            continue;
        };
        items.push(check);
        items.push(parse_quote!(#shared::impl_checked_text!(#name);));
        checked.insert(name);
    }
    items.retain(|item| match item {
        Item::Impl(it) => !makes(it) || name_of(it).is_none_or(|it| !checked.contains(it)),
        _ => true,
    });
}

/// Step 1: the type and its check function, if this is `FromStr` of a string that has checks.
fn take_checks(it: &mut ItemImpl) -> Option<(Ident, Item)> {
    let name = name_of(it)?.clone();
    let body = body_of(it, "FromStr")?;
    let copy: Stmt = Stmt::Expr(parse_quote!(Ok(Self(value.to_string()))), None);
    if body.stmts.len() < 2 || body.stmts.last() != Some(&copy) {
        return None;
    }
    body.stmts.pop();
    FewCounts.visit_block_mut(body);
    let checks = &body.stmts;
    let check = parse_quote! {
        impl #name {
            fn check(value: &str) -> ::std::result::Result<(), self::error::ConversionError> {
                #(#checks)*
                Ok(())
            }
        }
    };
    Some((name, check))
}

/// Whether step 2 replaces this.
fn makes(it: &ItemImpl) -> bool {
    let last = it.trait_.as_ref().and_then(|(_, it, _)| it.segments.last());
    last.is_some_and(|it| it.ident == "TryFrom" || it.ident == "Deserialize")
}

/// The type that this implements something for.
fn name_of(it: &ItemImpl) -> Option<&Ident> {
    match &*it.self_ty {
        Type::Path(it) => it.path.get_ident(),
        _ => None,
    }
}

/// The body of the one function of an implementation of this trait.
fn body_of<'a>(it: &'a mut ItemImpl, name: &str) -> Option<&'a mut syn::Block> {
    let (_, path, _) = it.trait_.as_ref()?;
    path.segments.last().filter(|last| last.ident == name)?;
    it.items.iter_mut().find_map(|item| match item {
        ImplItem::Fn(function) => Some(&mut function.block),
        _ => None,
    })
}

/// Step 3.
struct FewCounts;

impl VisitMut for FewCounts {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        let Expr::Binary(it) = expression else {
            visit_mut::visit_expr_mut(self, expression);
            return;
        };
        let count: Expr = parse_quote!(value.chars().count());
        let one: Expr = parse_quote!(1usize);
        match it.op {
            BinOp::Gt(_) if *it.left == count => {
                let limit = &it.right;
                *expression = parse_quote!(value.len() > #limit && #it);
            }
            BinOp::Lt(_) if *it.left == count && *it.right == one => {
                *expression = parse_quote!(value.is_empty());
            }
            _ => visit_mut::visit_expr_mut(self, expression),
        }
    }
}
