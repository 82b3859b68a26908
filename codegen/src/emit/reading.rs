//! How the server's types are read from JSON.
//!
//! serde's derive is made for any format and any type, and costs the compiler more than all the rest of a type. Where a
//! type needs no more of it than a name for each member, it is read by the runtime instead, which is told the names:
//! objects by their members, enumerations by their texts. What else there is keeps its derive.

use std::collections::HashSet;

use quote::quote;
use syn::{Attribute, Expr, ExprPath, Field, Fields, Ident, Item, ItemStruct, LitStr, Type};
use syn::{meta::ParseNestedMeta, parse_quote, parse2};

use super::patch::{argument, underive};
use super::strings;

/// Patches the types of a module.
pub(super) fn by_the_runtime(items: &mut Vec<Item>) {
    let of_texts = strings::implementors(items, "FromStr");
    for mut item in std::mem::take(items) {
        let added = match &mut item {
            Item::Struct(it) => object(it),
            Item::Enum(it) if strings::is_of_texts(it, &of_texts) => {
                let was_derived = underive(&mut it.attrs, "Deserialize");
                was_derived.then(|| deserialize(&it.ident, "text"))
            }
            _ => None,
        };
        items.push(item);
        items.extend(added.into_iter().flatten());
    }
}

/// What a member's attributes say of its name and its absence.
#[derive(Default)]
struct Told {
    name: Option<LitStr>,
    skipped_if: Option<LitStr>,
    /// The default of a member that is left out, where it has one: a function, or that of its type.
    default: Option<Option<ExprPath>>,
    /// Whether null is a value of its type, and `None` says only that it is left out.
    keeps_null: bool,
    /// Whether it has to be there though its type is an `Option`.
    is_required: bool,
    /// Whether they say something that the runtime does not know.
    has_more: bool,
}

impl Told {
    fn of(field: &Field) -> Self {
        let mut told = Self::default();
        for attribute in field.attrs.iter().filter(|it| it.path().is_ident("serde")) {
            let is_read = attribute.parse_nested_meta(|meta| told.take(&meta));
            told.has_more |= is_read.is_err();
        }
        told
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let text = || meta.value().and_then(|it| it.parse::<LitStr>());
        match meta.path.get_ident().map(Ident::to_string).as_deref() {
            Some("rename") => self.name = Some(text()?),
            Some("skip_serializing_if") => self.skipped_if = Some(text()?),
            Some("deserialize_with") => match text()?.value() {
                it if it.ends_with("::present") => self.keeps_null = true,
                it if it.ends_with("Option::deserialize") => self.is_required = true,
                _ => self.has_more = true,
            },
            Some("default") if meta.input.peek(syn::Token![=]) => {
                self.default = Some(Some(text()?.parse()?));
            }
            Some("default") => self.default = Some(None),
            _ => self.has_more = true,
        }
        Ok(())
    }

    /// What serde still has to know, to write the member.
    fn written(self) -> Option<Attribute> {
        let name = self.name.map(|it| quote!(rename = #it));
        let skipped_if = self.skipped_if.map(|it| quote!(skip_serializing_if = #it));
        let told = [name, skipped_if].into_iter().flatten();
        let told: Vec<_> = told.collect();
        (!told.is_empty()).then(|| parse_quote!(#[serde(#(#told),*)]))
    }

    /// The value of the member, when `value` is what was read, if it was there.
    fn value(&self, value: &Ident, ty: &Type, at: usize) -> Expr {
        let at = syn::Index::from(at);
        let is_option = argument(ty, "Option").is_some();
        match &self.default {
            _ if self.keeps_null => parse_quote!(#value),
            Some(Some(default)) => parse_quote!(#value.unwrap_or_else(#default)),
            Some(None) => parse_quote!(#value.unwrap_or_default()),
            None if is_option && !self.is_required => parse_quote!(#value.unwrap_or_default()),
            None => parse_quote!(members_.required(#value, #at)?),
        }
    }
}

/// How an object is read; nothing where it needs more of serde.
fn object(item: &mut ItemStruct) -> Option<Vec<Item>> {
    let Fields::Named(fields) = &mut item.fields else {
        return None;
    };
    let told: Vec<Told> = fields.named.iter().map(Told::of).collect();
    let is_closed = closed(&item.attrs)?;
    if told.is_empty()
        || told.iter().any(|it| it.has_more)
        || !underive(&mut item.attrs, "Deserialize")
    {
        return None;
    }
    item.attrs.retain(|it| !it.path().is_ident("serde"));
    // A field has an identifier.
    let idents: Vec<Ident> = fields
        .named
        .iter()
        .filter_map(|it| it.ident.clone())
        .collect();
    let names = told.iter().zip(&idents).map(|(told, ident)| {
        let name = told.name.as_ref().map(LitStr::value);
        name.unwrap_or_else(|| ident.to_string())
    });
    let values = fields.named.iter().zip(&told).zip(&idents).enumerate();
    let values = values.map(|(at, ((field, told), ident))| told.value(ident, &field.ty, at));
    let last = idents.len() - 1;
    let numbers = (0..last).map(syn::Index::from).map(|at| quote!(#at));
    let numbers = numbers.chain([quote!(_)]);
    let ident = &item.ident;
    // No member is called `members_` or `at_`: only keywords are given an underscore.
    let how = quote! {
        impl<'de> ::openapi_dropshot_runtime::Object<'de> for #ident {
            const MEMBERS: &'static [&'static str] = &[#(#names),*];
            const IS_CLOSED: bool = #is_closed;
            fn of<A: ::serde::de::MapAccess<'de>>(
                mut members_: ::openapi_dropshot_runtime::Members<A>,
            ) -> ::std::result::Result<Self, A::Error> {
                #(let mut #idents = ::std::option::Option::None;)*
                while let ::std::option::Option::Some(at_) = members_.next()? {
                    match at_ {
                        #(#numbers => members_.read(&mut #idents)?,)*
                    }
                }
                ::std::result::Result::Ok(Self { #(#idents: #values),* })
            }
        }
    };
    let mut added = deserialize(ident, "object");
    // What is quoted above is an item.
    added.extend(parse2::<Item>(how));
    for (field, told) in fields.named.iter_mut().zip(told) {
        field.attrs.retain(|it| !it.path().is_ident("serde"));
        field.attrs.extend(told.written());
    }
    Some(added)
}

/// Whether serde is told to refuse other members; nothing where it is told something else.
fn closed(attributes: &[Attribute]) -> Option<bool> {
    let mut told = HashSet::new();
    for attribute in attributes.iter().filter(|it| it.path().is_ident("serde")) {
        let read = attribute.parse_nested_meta(|meta| {
            told.insert(meta.path.get_ident().map(Ident::to_string));
            Ok(())
        });
        read.ok()?;
    }
    let is_closed = told.remove(&Some("deny_unknown_fields".to_owned()));
    told.is_empty().then_some(is_closed)
}

/// `Deserialize` by a function of the runtime.
fn deserialize(ident: &Ident, by: &str) -> Vec<Item> {
    let by = quote::format_ident!("{by}");
    vec![parse_quote! {
        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                ::openapi_dropshot_runtime::#by(deserializer)
            }
        }
    }]
}
