//! Fixes what is wrong in progenitor's output, in its syntax tree.
//!
//! 1. The markers of [`super::prepare`] become real types: `::patch::Field<T>` the `Field` that both sides share,
//!    `::patch::Nullable<T>` an `Option<T>`, and so on. An optional `Field` arrives as `Option<Field<T>>` and becomes
//!    a `Field<T>`, in structs, builders and bounds alike.
//! 2. The members concerned get the serde attributes that keep absent, null and value apart.
//! 3. Members are declared and written in the document's order instead of alphabetically. Those whose names are not
//!    valid in Rust keep the document's names on the wire; so do values ([`values`]).
//! 4. `Debug` of secrets shows nothing.
//! 5. Every string except a secret has `Display`: typify leaves it out for those with limits.
//! 6. The client sends no header that the document lacks: progenitor adds `api-version`.
//! 7. The server matches patterns with the `Regex` of its runtime, which has fast paths for the common ones.
//! 8. Strings with limits are moved into their types, not copied ([`checked`]).
//! 9. Newtypes over strings behave like strings, and enumerations list their values in errors ([`strings`]).
//! 10. No member of the client is called `type_` if it can have a better name ([`members`]).
//! 11. The server's types are read by its runtime, which costs less to compile than serde's derive ([`reading`]). So
//!     are the client's types that keep members beyond their properties, and these members are optional in builders
//!     ([`others`]).

use std::collections::{BTreeSet, HashMap};

use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Expr, Field, GenericArgument, Ident, Item, ItemMod, ItemStruct, Path, PathArguments,
    Stmt, Type, parse_quote,
};

use crate::model::{Document, Format, Kind};
use crate::names;

use super::prepare::{self, MARKED, MARKER};
use super::{checked, members, others, reading, strings, values};

/// Patches a whole file.
pub(super) fn file(file: &mut syn::File, document: &Document, shared: &Shared) {
    let secrets = document
        .schemas
        .iter()
        .filter(|(_, schema)| match &schema.kind {
            Kind::String(text) => text.format == Some(Format::Password),
            _ => false,
        })
        .map(|(name, _)| names::of_type(name))
        .collect();
    let open = document.schemas.iter();
    let open = open.filter(|(_, schema)| matches!(schema.kind, Kind::Any));
    let open = open.map(|(name, _)| names::of_type(name)).collect();
    let components = document.schemas.keys();
    Mender {
        document,
        components: components
            .map(|it| (names::of_type(it), it.as_str()))
            .collect(),
        shared,
        modules: Vec::new(),
        secrets,
        tried: document.tried().into_iter().map(names::of_type).collect(),
        open,
        is_tried: false,
    }
    .visit_file_mut(file);
}

/// Where `Decimal` and `Field` are defined.
pub(super) enum Shared {
    /// In the crate `openapi-dropshot-runtime`.
    Runtime,
    /// In the module around the file.
    Parent,
}

impl Shared {
    /// The path of their module, as seen from this many modules deep in the file.
    pub(super) fn path(&self, depth: usize) -> Path {
        match self {
            Self::Runtime => parse_quote!(::openapi_dropshot_runtime),
            Self::Parent => {
                let up = vec![quote::quote!(super); depth + 1];
                parse_quote!(#(#up)::*)
            }
        }
    }
}

struct Mender<'a> {
    document: &'a Document,
    /// The components, by the names of their types.
    components: HashMap<String, &'a str>,
    shared: &'a Shared,
    /// The modules around the current item, outermost first.
    modules: Vec<String>,
    // Ordered, so that the same document always makes the same text.
    secrets: BTreeSet<String>,
    /// The types that must decide for themselves whether a value belongs to them.
    tried: BTreeSet<String>,
    /// The types that hold any value, including null.
    open: BTreeSet<String>,
    /// Whether the current item is a member of one of the tried types.
    is_tried: bool,
}

impl VisitMut for Mender<'_> {
    fn visit_item_mod_mut(&mut self, module: &mut ItemMod) {
        self.modules.push(module.ident.to_string());
        visit_mut::visit_item_mod_mut(self, module);
        if self.modules == ["types"]
            && let Some((_, items)) = &mut module.content
        {
            for secret in &self.secrets {
                items.push(redacted(&quote::format_ident!("{secret}")));
            }
            let hidden: Vec<Item> = hidden_strings(items)
                .filter(|name| !self.secrets.contains(&name.to_string()))
                .map(displayed)
                .collect();
            items.extend(hidden);
            values::put_back(items, self.document);
            let shared = self.shared.path(self.modules.len());
            checked::strings(items, &shared);
            strings::convenient(items, &shared);
            match self.shared {
                Shared::Parent => {
                    reading::with_others(items, &shared);
                    others::may_be_left_out(items, self.document);
                    members::named(items, self.document);
                }
                Shared::Runtime => reading::by_the_runtime(items, &shared),
            }
        }
        self.modules.pop();
    }

    fn visit_item_struct_mut(&mut self, item: &mut ItemStruct) {
        if self.modules == ["types"] {
            if self.secrets.contains(&item.ident.to_string()) {
                underive(&mut item.attrs, "Debug");
            }
            self.order(item);
        }
        self.is_tried = self.tried.contains(&item.ident.to_string());
        visit_mut::visit_item_struct_mut(self, item);
        self.is_tried = false;
    }

    fn visit_field_mut(&mut self, field: &mut Field) {
        if self.modules == ["types"] {
            self.attributes(field);
        }
        visit_mut::visit_field_mut(self, field);
    }

    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Some(inner) = argument(ty, "Option")
            && is_marker(inner, "Field")
        {
            *ty = inner.clone();
        }
        if let Some(inner) = argument(ty, "Nullable").filter(|_| is_marker(ty, "Nullable")) {
            *ty = parse_quote!(::std::option::Option<#inner>);
        }
        if let Some(inner) = argument(ty, "Optional").filter(|_| is_marker(ty, "Optional")) {
            *ty = parse_quote!(::std::option::Option<#inner>);
        }
        if let Some(inner) = argument(ty, "List").filter(|_| is_marker(ty, "List")) {
            *ty = parse_quote!(::std::vec::Vec<#inner>);
        }
        if let Some(inner) = argument(ty, "Map").filter(|_| is_marker(ty, "Map")) {
            *ty = parse_quote!(::std::collections::BTreeMap<::std::string::String, #inner>);
        }
        visit_mut::visit_type_mut(self, ty);
    }

    fn visit_path_mut(&mut self, path: &mut Path) {
        self.resolve(path);
        visit_mut::visit_path_mut(self, path);
    }

    fn visit_lit_str_mut(&mut self, literal: &mut syn::LitStr) {
        // progenitor also names types in messages.
        let text = literal.value();
        if text.contains(MARKED) {
            *literal = syn::LitStr::new(&text.replace(MARKED, ""), literal.span());
        }
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block
            .stmts
            .retain(|statement| !sends_api_version(statement));
        visit_mut::visit_block_mut(self, block);
    }
}

impl Mender<'_> {
    /// Turns `::patch::X` into the path of `X`, as seen from the module around it; for the server, also
    /// `::regress::X` into that of its runtime.
    fn resolve(&self, path: &mut Path) {
        let first = path.segments.first();
        let Some(first) = first.filter(|_| path.leading_colon.is_some()) else {
            return;
        };
        let is_regress = first.ident == "regress" && matches!(self.shared, Shared::Runtime);
        // Nearly all other paths start with `::std`.
        if !is_regress && first.ident != MARKER {
            return;
        }
        let rest: Vec<_> = path.segments.iter().skip(1).cloned().collect();
        if is_regress {
            *path = parse_quote!(::openapi_dropshot_runtime::schema::#(#rest)::*);
            return;
        }
        *path = match rest.as_slice() {
            [types, rest @ ..] if types.ident == "types" => match self.modules.as_slice() {
                [first] if first == "types" => parse_quote!(#(#rest)::*),
                [first, _] if first == "types" => parse_quote!(super::#(#rest)::*),
                _ => parse_quote!(types::#(#rest)::*),
            },
            rest => {
                let shared = self.shared.path(self.modules.len());
                parse_quote!(#shared::#(#rest)::*)
            }
        };
    }

    /// The serde attributes of a member that may be null or absent.
    fn attributes(&self, field: &mut Field) {
        let optional = argument(&field.ty, "Option").is_some();
        let inner = argument(&field.ty, "Option").unwrap_or(&field.ty);
        let attribute: Attribute = if is_marker(inner, "Field") {
            let shared = self.shared.path(self.modules.len());
            let absent = quote::quote!(#shared::Field::is_absent)
                .to_string()
                .replace(' ', "");
            parse_quote!(#[serde(default, skip_serializing_if = #absent)])
        } else if is_marker(inner, "Nullable") && !optional {
            // With a function of its own, serde requires the member.
            parse_quote!(#[serde(deserialize_with = "::std::option::Option::deserialize")])
        } else if optional && (self.is_tried || self.is_open(inner)) {
            let shared = self.shared.path(self.modules.len());
            let present = quote::quote!(#shared::present).to_string().replace(' ', "");
            parse_quote!(#[serde(
                default,
                skip_serializing_if = "::std::option::Option::is_none",
                deserialize_with = #present
            )])
        } else {
            return;
        };
        field
            .attrs
            .retain(|it| !it.path().is_ident("serde") || renames(it));
        for old in &mut field.attrs {
            if let Some(name) = renamed(old) {
                *old = parse_quote!(#[serde(rename = #name)]);
            }
        }
        field.attrs.push(attribute);
    }

    /// Whether this type holds null as a value.
    fn is_open(&self, ty: &Type) -> bool {
        let Type::Path(path) = ty else { return false };
        let last = path.path.segments.last().map(|it| it.ident.to_string());
        is_marker(ty, "Any") || last.is_some_and(|it| self.open.contains(&it))
    }

    /// Puts the members of a struct into the document's order, and restores the names of those that typify was shown
    /// under other names.
    fn order(&self, item: &mut ItemStruct) {
        let name = self.components.get(&item.ident.to_string());
        let schema = name.and_then(|it| self.document.schemas.get(*it));
        let Some((schema, Kind::Object { properties, .. })) = schema.map(|it| (it, &it.kind))
        else {
            return;
        };
        let (fields, extra) = schema.fields();
        let all = fields.iter().map(String::as_str).chain(extra);
        let places: HashMap<&str, usize> = all.zip(0..).collect();
        let place = |it: &Field| {
            let name = it.ident.as_ref().map(Ident::to_string);
            name.and_then(|it| places.get(it.as_str()).copied())
        };
        let syn::Fields::Named(members) = &mut item.fields else {
            return;
        };
        let mut sorted: Vec<_> = std::mem::take(&mut members.named).into_iter().collect();
        for member in &mut sorted {
            let Some(at) = place(member) else { continue };
            let property = properties.get_index(at).map(|(it, _)| it);
            if let Some(property) =
                property.filter(|it| prepare::seen_field(it, &fields[at]) != **it)
            {
                let renamed = parse_quote!(#[serde(rename = #property)]);
                member.attrs.push(renamed);
            }
        }
        sorted.sort_by_cached_key(place);
        members.named = sorted.into_iter().collect();
    }
}

/// The first argument of a generic type that ends in this name.
pub(super) fn argument<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|it| it.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    })
}

fn is_marker(ty: &Type, name: &str) -> bool {
    let Type::Path(path) = ty else { return false };
    let segments = &path.path.segments;
    segments.len() == 2 && segments[0].ident == MARKER && segments[1].ident == name
}

fn renames(attribute: &Attribute) -> bool {
    renamed(attribute).is_some()
}

/// The name in `#[serde(rename = "...", ...)]`.
pub(super) fn renamed(attribute: &Attribute) -> Option<String> {
    if !attribute.path().is_ident("serde") {
        return None;
    }
    let mut name = None;
    // Other keys have values of other forms, or none; errors in them do not matter here.
    let _ = attribute.parse_nested_meta(|meta| {
        let value = meta.value().and_then(|value| value.parse::<syn::LitStr>());
        if meta.path.is_ident("rename") {
            name = value.ok().map(|literal| literal.value());
        }
        Ok(())
    });
    name
}

/// Removes a trait from a derive. Returns whether it was there.
pub(super) fn underive(attributes: &mut [Attribute], name: &str) -> bool {
    let mut was_there = false;
    for attribute in attributes
        .iter_mut()
        .filter(|it| it.path().is_ident("derive"))
    {
        let mut kept: Vec<Path> = Vec::new();
        // A derive contains only paths.
        let _ = attribute.parse_nested_meta(|meta| {
            kept.push(meta.path);
            Ok(())
        });
        let is_other = |path: &Path| path.segments.last().is_none_or(|last| last.ident != name);
        let before = kept.len();
        kept.retain(is_other);
        was_there |= kept.len() < before;
        *attribute = parse_quote!(#[derive(#(#kept),*)]);
    }
    was_there
}

fn redacted(name: &Ident) -> Item {
    let shown = format!("{name}(..)");
    parse_quote! {
        impl ::std::fmt::Debug for #name {
            /// Shows nothing: the document marks it as a secret.
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(#shown)
            }
        }
    }
}

/// The newtypes over a string that have no `Display`.
fn hidden_strings(items: &[Item]) -> impl Iterator<Item = &Ident> {
    let displayed = strings::implementors(items, "Display");
    items
        .iter()
        .filter_map(|item| match item {
            Item::Struct(it) => strings::is_newtype(it).then_some(&it.ident),
            _ => None,
        })
        .filter(move |name| !displayed.contains(&name.to_string()))
}

fn displayed(name: &Ident) -> Item {
    parse_quote! {
        impl ::std::fmt::Display for #name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }
    }
}

fn sends_api_version(statement: &Stmt) -> bool {
    let Stmt::Expr(Expr::MethodCall(call), _) = statement else {
        return false;
    };
    let first = call.args.first().map(|it| quote::quote!(#it).to_string());
    call.method == "append" && first.is_some_and(|it| it.contains("\"api-version\""))
}
