//! What a Rust program expects of texts, for every newtype over a string and every enumeration.
//!
//! 1. A newtype can be read as a `str` (`impl_text!` of the shared files). typify stops at `Deref` to `String`.
//! 2. One without limits converts from a `&str` too, like those with limits.
//! 3. An enumeration lists its values, and returns the text of each.
//! 4. An enumeration that refuses a text names it, and the values allowed: typify only writes "invalid value".

use std::collections::HashSet;

use syn::visit_mut::{self, VisitMut};
use syn::{
    Arm, Expr, Fields, ImplItem, Item, ItemEnum, ItemImpl, ItemStruct, Path, Type, parse_quote,
};

/// Patches the types of a module. `shared` is the path of what both sides share, as seen from that module.
pub(super) fn convenient(items: &mut Vec<Item>, shared: &Path) {
    let mut added = Vec::new();
    let of_texts = implementors(items, "FromStr");
    items.retain(|item| !matches!(item, Item::Impl(it) if derefs_to_string(it)));
    for item in items.iter() {
        match item {
            Item::Struct(it) if is_newtype(it) => added.extend(like_a_string(it, shared)),
            Item::Enum(it) if is_of_texts(it, &of_texts) => added.push(listed(it)),
            _ => {}
        }
    }
    let mut refusal = TellingRefusal {
        vague: parse_quote!(Err("invalid value".into())),
        shared,
    };
    for item in items.iter_mut() {
        if let Item::Impl(it) = item {
            refusal.visit_item_impl_mut(it);
        }
    }
    items.extend(added);
}

/// Whether this is a newtype over a string.
pub(super) fn is_newtype(item: &ItemStruct) -> bool {
    match &item.fields {
        Fields::Unnamed(fields) => fields.unnamed.len() == 1 && is_string(&fields.unnamed[0].ty),
        _ => false,
    }
}

/// Whether this is `::std::string::String`.
pub(super) fn is_string(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let names = path.path.segments.iter().map(|it| &it.ident);
    names.eq(["std", "string", "String"])
}

/// Whether the enumeration consists of texts: the variants of a `oneOf` hold something.
pub(super) fn is_of_texts(item: &ItemEnum, of_texts: &HashSet<String>) -> bool {
    let is_value = |it: &syn::Variant| matches!(it.fields, Fields::Unit);
    item.variants.iter().all(is_value) && of_texts.contains(&item.ident.to_string())
}

/// The types that implement the trait of this name: looked up only once, since documents have thousands of
/// types.
pub(super) fn implementors(items: &[Item], name: &str) -> HashSet<String> {
    let of_item = |item: &Item| match item {
        Item::Impl(it) if implements(it, name) => match &*it.self_ty {
            Type::Path(it) => Some(it.path.get_ident()?.to_string()),
            _ => None,
        },
        _ => None,
    };
    items.iter().filter_map(of_item).collect()
}

fn implements(item: &ItemImpl, name: &str) -> bool {
    let last = item
        .trait_
        .as_ref()
        .and_then(|(_, it, _)| it.segments.last());
    last.is_some_and(|last| last.ident == name)
}

/// Steps 1 and 2.
fn like_a_string(item: &ItemStruct, shared: &Path) -> Vec<Item> {
    let name = &item.ident;
    let is_unlimited = item
        .fields
        .iter()
        .any(|it| matches!(it.vis, syn::Visibility::Public(_)));
    let from_text = is_unlimited.then(|| {
        parse_quote! {
            impl ::std::convert::From<&str> for #name {
                fn from(value: &str) -> Self {
                    Self(value.to_owned())
                }
            }
        }
    });
    let text = parse_quote!(#shared::impl_text!(#name););
    from_text.into_iter().chain([text]).collect()
}

/// typify's implementation that step 1 replaces.
fn derefs_to_string(item: &ItemImpl) -> bool {
    let is_string = |it: &ImplItem| matches!(it, ImplItem::Type(target) if is_string(&target.ty));
    implements(item, "Deref") && item.items.iter().any(is_string)
}

/// Step 3.
fn listed(item: &ItemEnum) -> Item {
    let name = &item.ident;
    let variants: Vec<_> = item.variants.iter().map(|it| &it.ident).collect();
    let texts = item.variants.iter().map(|it| {
        let renamed = it.attrs.iter().find_map(super::patch::renamed);
        renamed.unwrap_or_else(|| it.ident.to_string())
    });
    parse_quote! {
        impl #name {
            /// All values, in the document's order.
            pub const ALL: &'static [Self] = &[#(Self::#variants),*];
            /// The text of this value.
            pub const fn as_str(&self) -> &'static str {
                match self {
                    #(Self::#variants => #texts,)*
                }
            }
        }
    }
}

/// Step 4.
struct TellingRefusal<'a> {
    vague: Expr,
    shared: &'a Path,
}

impl VisitMut for TellingRefusal<'_> {
    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        if *arm.body == self.vague {
            let shared = self.shared;
            *arm.body = parse_quote! {
                Err(#shared::none_of(value, Self::ALL.iter().map(Self::as_str)).into())
            };
        }
        visit_mut::visit_arm_mut(self, arm);
    }
}
