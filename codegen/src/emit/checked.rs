//! Strings with limits, which cost a look at each of them and no copy.
//!
//! typify makes every such string of a `&str`, so that a `String`, which is what a document or a store
//! gives, is copied to be checked:
//!
//! 1. The checks become a function of the type.
//! 2. `FromStr` checks a text and copies it.
//! 3. `TryFrom<String>` checks a text and moves it, and so does `Deserialize`.
//! 4. Characters are counted only where bytes do not tell: no text has more characters than bytes.

use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Expr, ExprMethodCall, ImplItem, Item, ItemImpl, Stmt, Type, parse_quote};

/// Patches the types of a module.
pub(super) fn strings(items: &mut Vec<Item>) {
    let mut checked = Vec::new();
    for mut item in std::mem::take(items) {
        let check = match &mut item {
            Item::Impl(it) => take_checks(it),
            _ => None,
        };
        if let (Item::Impl(it), Some(_)) = (&item, &check) {
            checked.push((*it.self_ty).clone());
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
    let copy: Stmt = Stmt::Expr(parse_quote!(Ok(Self(value.to_string()))), None);
    let body = body_of(it, "FromStr")?;
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
    let is_of_string = it.trait_.as_ref().is_some_and(|(_, path, _)| {
        let string: Type = parse_quote!(::std::convert::TryFrom<::std::string::String>);
        string == parse_quote!(#path)
    });
    if is_of_string && let Some(body) = body_of(it, "TryFrom") {
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
        let count: Expr = parse_quote!(value.chars().count());
        let one: Expr = parse_quote!(1usize);
        match expression {
            Expr::Binary(it) if *it.left == count => match it.op {
                BinOp::Gt(_) => {
                    let limit = &it.right;
                    *expression = parse_quote!(value.len() > #limit && #it);
                }
                BinOp::Lt(_) if *it.right == one => *expression = parse_quote!(value.is_empty()),
                _ => {}
            },
            _ => visit_mut::visit_expr_mut(self, expression),
        }
    }
}
