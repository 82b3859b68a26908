//! How the server's types are read from JSON.
//!
//! serde's derive supports any format and any type, and costs the compiler more than all the rest of a type. A type
//! that needs only a name for each member is read by the runtime instead, which gets the names: objects by their
//! members, enumerations by their texts. All others keep their derive.

use std::collections::HashSet;

use quote::quote;
use syn::{Attribute, Expr, ExprPath, Field, Fields, FieldsNamed, Ident, Item, ItemStruct, LitStr};
use syn::{Path, Type, meta::ParseNestedMeta, parse_quote};

use super::patch::{argument, underive};
use super::strings;

/// Patches the types of a module. `shared` is the path of the runtime, as seen from that module.
pub(super) fn by_the_runtime(items: &mut Vec<Item>, shared: &Path) {
    let of_texts = strings::implementors(items, "FromStr");
    patched(items, |item| match item {
        Item::Struct(it) => object(it, shared),
        Item::Enum(it) if strings::is_of_texts(it, &of_texts) => {
            let was_derived = underive(&mut it.attrs, "Deserialize");
            was_derived.then(|| deserialize(&it.ident, "text", shared))
        }
        _ => None,
    });
}

/// Patches only those types that keep members beyond their properties: serde would read these from a buffer, which
/// cannot hold an exact decimal. `shared` is the path of what both sides share.
pub(super) fn with_others(items: &mut Vec<Item>, shared: &Path) {
    let keeps = |it: &ItemStruct| it.fields.iter().any(|it| Told::of(it).is_rest);
    patched(items, |item| match item {
        Item::Struct(it) if keeps(it) => object(it, shared),
        _ => None,
    });
}

/// Adds what `made` returns for an item right after it.
fn patched(items: &mut Vec<Item>, made: impl Fn(&mut Item) -> Option<Vec<Item>>) {
    for mut item in std::mem::take(items) {
        let added = made(&mut item);
        items.push(item);
        items.extend(added.into_iter().flatten());
    }
}

/// What a member's attributes say about its name and its absence.
#[derive(Default)]
struct Told {
    name: Option<LitStr>,
    skipped_if: Option<LitStr>,
    /// The default of a missing member, if it has one: a function, or that of its type.
    default: Option<Option<ExprPath>>,
    /// Whether null is a value of its type, so that `None` only means absent.
    keeps_null: bool,
    /// Whether it is required although its type is an `Option`.
    is_required: bool,
    /// Whether it keeps the members that are not properties.
    is_rest: bool,
    /// Whether they say anything that the runtime does not support.
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
            Some("flatten") => self.is_rest = true,
            _ => self.has_more = true,
        }
        Ok(())
    }

    /// What serde still needs, to write the member.
    fn written(self) -> Option<Attribute> {
        let name = self.name.map(|it| quote!(rename = #it));
        let skipped_if = self.skipped_if.map(|it| quote!(skip_serializing_if = #it));
        let told = [name, skipped_if].into_iter().flatten();
        let told: Vec<_> = told.collect();
        (!told.is_empty()).then(|| parse_quote!(#[serde(#(#told),*)]))
    }

    /// The value of the member, given in `value` what was read, if it was present.
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

/// Reads an object through the runtime; `None` if it needs more of serde.
fn object(item: &mut ItemStruct, shared: &Path) -> Option<Vec<Item>> {
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
    let ident = &item.ident;
    let mut added = deserialize(ident, "object", shared);
    added.push(members(ident, fields, &told, is_closed, shared));
    for (field, told) in fields.named.iter_mut().zip(told) {
        field.attrs.retain(|it| !it.path().is_ident("serde"));
        match told.is_rest {
            true => added.push(rest(ident, field, shared)),
            false => field.attrs.extend(told.written()),
        }
    }
    Some(added)
}

/// How the members of an object become its fields.
fn members(
    ident: &Ident,
    fields: &FieldsNamed,
    told: &[Told],
    is_closed: bool,
    shared: &Path,
) -> Item {
    let all = fields.named.iter().zip(told);
    // These fields all have identifiers.
    let all = all.filter_map(|(field, told)| Some((field.ident.as_ref()?, &field.ty, told)));
    let (rest, listed): (Vec<_>, Vec<_>) = all.partition(|(_, _, told)| told.is_rest);
    let names = listed.iter().map(|(ident, _, told)| {
        let name = told.name.as_ref().map(LitStr::value);
        name.unwrap_or_else(|| ident.to_string())
    });
    let values = listed.iter().enumerate();
    let values = values.map(|(at, (ident, ty, told))| told.value(ident, ty, at));
    let idents: Vec<_> = listed.iter().map(|(ident, ..)| ident).collect();
    let rest: Vec<_> = rest.iter().map(|(ident, ..)| ident).collect();
    let keeps = rest.first().map(|_| {
        quote!(
            const KEEPS_OTHERS: bool = true;
        )
    });
    let numbers = (0..listed.len())
        .map(syn::Index::from)
        .map(|at| quote!(#at));
    let mut numbers: Vec<_> = numbers.collect();
    if let (Some(last), true) = (numbers.last_mut(), rest.is_empty()) {
        *last = quote!(_);
    }
    // No member is called `members_` or `at_`: only keywords get an underscore.
    parse_quote! {
        impl<'de> #shared::Object<'de> for #ident {
            const MEMBERS: &'static [&'static str] = &[#(#names),*];
            const IS_CLOSED: bool = #is_closed;
            #keeps
            fn of<A: ::serde::de::MapAccess<'de>>(
                mut members_: #shared::Members<A>,
            ) -> ::std::result::Result<Self, A::Error> {
                #(let mut #idents = ::std::option::Option::None;)*
                #(let mut #rest = ::std::collections::BTreeMap::new();)*
                while let ::std::option::Option::Some(at_) = members_.next()? {
                    match at_ {
                        #(#numbers => members_.read(&mut #idents)?,)*
                        #(_ => members_.keep(&mut #rest)?,)*
                    }
                }
                ::std::result::Result::Ok(Self { #(#idents: #values,)* #(#rest),* })
            }
        }
    }
}

/// Writes the field with all members that are not properties, leaving out those named like a property, which would
/// occur twice.
fn rest(ident: &Ident, field: &mut Field, shared: &Path) -> Item {
    let with = format!("{ident}::others_");
    let written = parse_quote!(#[serde(flatten, serialize_with = #with)]);
    field.attrs.push(written);
    let ty = &field.ty;
    parse_quote! {
        impl #ident {
            fn others_<S: ::serde::Serializer>(
                others: &#ty,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                let names = <Self as #shared::Object>::MEMBERS;
                let others = others.iter().filter(|(name, _)| !names.contains(&name.as_str()));
                serializer.collect_map(others)
            }
        }
    }
}

/// Whether the attributes make serde refuse other members; `None` if they say anything else.
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
fn deserialize(ident: &Ident, by: &str, shared: &Path) -> Vec<Item> {
    let by = quote::format_ident!("{by}");
    vec![parse_quote! {
        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                #shared::#by(deserializer)
            }
        }
    }]
}
