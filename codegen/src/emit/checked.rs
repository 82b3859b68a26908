//! Strings with limits, which cost a look at each of them and no copy.
//!
//! typify makes every such string of a `&str`, so that a `String`, which is what a document or a store
//! gives, is copied to be checked:
//!
//! 1. The checks become a function of the type.
//! 2. `FromStr` checks a text and copies it.
//! 3. `TryFrom<String>` checks a text and moves it, and so does `Deserialize`.
//! 4. Characters are counted only where bytes do not tell: no text has more characters than bytes.

use std::collections::HashSet;

use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Expr, ExprMethodCall, GenericArgument, ImplItem, Item, ItemImpl, PathArguments};
use syn::{Stmt, parse_quote};

use super::strings::is_string;

/// Patches the types of a module.
pub(super) fn strings(items: &mut Vec<Item>) {
    let mut checked = HashSet::new();
    for mut item in std::mem::take(items) {
        let check = match &mut item {
            Item::Impl(it) => take_checks(it),
            _ => None,
        };
        if let (Item::Impl(it), Some(_)) = (&item, &check) {
            checked.insert(it.self_ty.clone());
        }
        items.extend([Some(item), check].into_iter().flatten());
    }
    for item in items {
        if let Item::Impl(it) = item
            && checked.contains(&it.self_ty)
        {
            take_over(it);
        }
    }
}

/// Steps 1 and 2: the function of the checks, when this is `FromStr` of a string that has any.
fn take_checks(it: &mut ItemImpl) -> Option<Item> {
    let body = body_of(it, "FromStr")?;
    let copy: Stmt = Stmt::Expr(parse_quote!(Ok(Self(value.to_string()))), None);
    if body.stmts.len() < 2 || body.stmts.last() != Some(&copy) {
        return None;
    }
    let mut checks = std::mem::replace(
        body,
        parse_quote!({
            Self::check(value)?;
            Ok(Self(value.to_owned()))
        }),
    );
    checks.stmts.pop();
    FewCounts.visit_block_mut(&mut checks);
    let (name, checks) = (&it.self_ty, checks.stmts);
    Some(parse_quote! {
        impl #name {
            fn check(value: &str) -> ::std::result::Result<(), self::error::ConversionError> {
                #(#checks)*
                Ok(())
            }
        }
    })
}

/// Step 3.
fn take_over(it: &mut ItemImpl) {
    let from = it
        .trait_
        .as_ref()
        .and_then(|(_, path, _)| match &path.segments.last()?.arguments {
            PathArguments::AngleBracketed(it) => it.args.first(),
            _ => None,
        });
    if let Some(GenericArgument::Type(from)) = from
        && is_string(from)
        && let Some(body) = body_of(it, "TryFrom")
    {
        *body = parse_quote!({
            Self::check(&value)?;
            Ok(Self(value))
        });
    }
    if let Some(body) = body_of(it, "Deserialize") {
        IntoSelf.visit_block_mut(body);
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

/// Makes of a `String` what `TryFrom<String>` makes, instead of `FromStr`.
struct IntoSelf;

impl VisitMut for IntoSelf {
    fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
        visit_mut::visit_expr_method_call_mut(self, call);
        if call.method == "parse" {
            call.method = quote::format_ident!("try_into");
        }
    }
}

/// Step 4.
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
