//! `mod types` and, for the client, what is beside it: progenitor's output, patched.

use proc_macro2::TokenStream;
use progenitor_impl::{
    CrateVers, GenerationSettings, Generator, HooksMode, InterfaceStyle, TagStyle, TypeImpl,
};
use quote::quote;
use syn::{Item, Path};

use crate::model::{Document, Kind, Pointer};
use crate::{Problem, Problems};

use super::patch::Shared;
use super::prepare::{self, MARKER};
use super::{bodies, mock, one_of, open, patch, paths, scalars, several};

/// Which side a document is generated for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side<'a> {
    /// The types alone, without builders.
    Server,
    /// The types with builders, and a client.
    Client {
        /// A type that the client carries, for hooks of its crate.
        inner: Option<&'a str>,
    },
}

/// The patched file.
pub(super) fn file(
    document: &Document,
    side: Side<'_>,
    shared: &Shared,
) -> Result<syn::File, Problems> {
    let mut file = generated(document, side).map_err(|error| refused(document, &error))?;
    if side == Side::Server {
        file.items
            .retain(|item| matches!(item, Item::Mod(module) if module.ident == "types"));
    }
    let mut own = syn::parse2::<syn::File>(own_types(document, side, &shared.path(1)))
        .map_err(|error| refused(document, &error.to_string()))?;
    for item in &mut file.items {
        if let Item::Mod(module) = item
            && module.ident == "types"
            && let Some((_, items)) = &mut module.content
        {
            items.append(&mut own.items);
        }
    }
    if side != Side::Server {
        bodies::written(&mut file, document);
        paths::kept(&mut file, document);
        several::read(&mut file, document);
    }
    patch::file(&mut file, document, shared);
    Ok(file)
}

/// The patched file of progenitor's output for `httpmock`: one method per operation, using the types
/// of `file`, whose module is beside this one.
pub(super) fn mock(document: &Document) -> Result<syn::File, Problems> {
    let made = || {
        let side = Side::Client { inner: None };
        let beside = format!("super::super::{}", document.module);
        let tokens = Generator::new(&settings(document, side)?)
            .httpmock(&openapi(mock::named(prepare::document(document)))?, &beside)
            .map_err(|e| e.to_string())?;
        syn::parse2(tokens).map_err(|e| e.to_string())
    };
    let mut file = made().map_err(|error| refused(document, &error))?;
    mock::file(&mut file, document, &Shared::Parent);
    Ok(file)
}

/// progenitor's output for the prepared document.
fn generated(document: &Document, side: Side<'_>) -> Result<syn::File, String> {
    let prepared = match side {
        Side::Server => prepare::components(document),
        Side::Client { .. } => prepare::document(document),
    };
    let tokens = Generator::new(&settings(document, side)?)
        .generate_tokens(&openapi(prepared)?)
        .map_err(|e| e.to_string())?;
    syn::parse2(tokens).map_err(|e| e.to_string())
}

fn openapi(prepared: serde_json::Value) -> Result<openapiv3::OpenAPI, String> {
    serde_json::from_value(prepared).map_err(|e| e.to_string())
}

fn settings(document: &Document, side: Side<'_>) -> Result<GenerationSettings, String> {
    let mut settings = GenerationSettings::default();
    settings
        .with_interface(match side {
            Side::Server => InterfaceStyle::Positional,
            Side::Client { .. } => InterfaceStyle::Builder,
        })
        .with_tag(TagStyle::Merged)
        .with_derive("PartialEq")
        .with_map_type("::std::collections::BTreeMap")
        .with_crate(MARKER, CrateVers::Any, None);
    if let Side::Client { inner: Some(inner) } = side {
        let inner = inner
            .parse()
            .map_err(|_| format!("{inner} is no path of a type"))?;
        settings
            .with_inner_type(inner)
            .with_hooks(HooksMode::Expected);
    }
    for (name, schema) in &document.schemas {
        if prepare::is_own(schema) {
            let name = crate::names::of_type(name);
            let impls = match schema.kind {
                Kind::Union(_) if schema.is_text(&document.schemas) => {
                    vec![TypeImpl::Display, TypeImpl::FromStr]
                }
                Kind::OneOf { .. } | Kind::Union(_) | Kind::Null | Kind::Any | Kind::Never => {
                    Vec::new()
                }
                _ => vec![TypeImpl::Display, TypeImpl::FromStr],
            };
            settings.with_replacement(&name, prepare::own(&name), impls.into_iter());
        }
    }
    Ok(settings)
}

/// The types that this crate emits itself, and the defaults of all.
fn own_types(document: &Document, side: Side<'_>, shared: &Path) -> TokenStream {
    let several = several::types(document);
    let reader = match side {
        Side::Server => one_of::Reader {
            value: quote!(#shared::json::read),
            tag: Some(quote!(#shared::tag)),
        },
        Side::Client { .. } => one_of::Reader {
            value: quote!(::serde_json::from_str),
            tag: None,
        },
    };
    let schemas = document.schemas.iter();
    let types = schemas.map(|(name, schema)| {
        let own = match &schema.kind {
            Kind::OneOf { .. } | Kind::Union(_) => one_of::own(document, name, schema, &reader),
            Kind::Null => one_of::null(name, schema),
            Kind::Any => open::any(name, schema, shared),
            Kind::Never => open::never(name, schema),
            _ if prepare::is_own(schema) => scalars::own(name, schema, shared),
            _ => TokenStream::new(),
        };
        let default = scalars::default(name, schema, shared);
        quote!(#own #default)
    });
    quote!(#(#types)* #several)
}

pub(super) fn refused(document: &Document, error: &str) -> Problems {
    Problems::from(Problem {
        file: document.file.clone(),
        pointer: Pointer::default(),
        cause: format!("progenitor refuses what this generator accepted: {error}"),
        remedy: "report it as a mistake of the generator".to_owned(),
    })
}
