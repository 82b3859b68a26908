//! `schemars::JsonSchema` of every component: the schema as the document publishes it.
//!
//! dropshot asks types for their schemas, and publishes what they say. What a derived
//! implementation makes of a type would be a second description beside the document's, and another
//! one; so the types repeat the document. Two things are not the same in schemars' dialect of JSON
//! Schema: an exclusive bound is a number of its own, and a user of `$ref` has to ask for its
//! target, so that it is among the components.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::Value;

use crate::model::{Document, Kind, Schema};
use crate::names;

/// The implementations for all components, beside `mod types`.
pub(super) fn tokens(document: &Document) -> TokenStream {
    document
        .schemas
        .iter()
        .map(|(name, schema)| implementation(name, schema))
        .collect()
}

fn implementation(name: &str, schema: &Schema) -> TokenStream {
    let ident = format_ident!("{}", names::of_type(name));
    let mut references = Vec::new();
    collect(schema, &mut references);
    let references = references
        .iter()
        .map(|name| format_ident!("{}", names::of_type(name)));
    let generator = if references.len() == 0 {
        format_ident!("_generator")
    } else {
        format_ident!("generator")
    };
    let json = in_dialect(&schema.json).to_string();
    quote! {
        impl ::schemars::JsonSchema for types::#ident {
            fn schema_name() -> ::std::string::String {
                #name.to_owned()
            }
            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                // Another document may have a component of this name.
                concat!(module_path!(), "::", #name).into()
            }
            fn json_schema(
                #generator: &mut ::schemars::r#gen::SchemaGenerator,
            ) -> ::schemars::schema::Schema {
                #(let _ = #generator.subschema_for::<types::#references>();)*
                ::codegen_runtime::document_schema(#json)
            }
        }
    }
}

/// The components that the schema refers to, each once.
fn collect<'a>(schema: &'a Schema, found: &mut Vec<&'a str>) {
    let mut add = |name: &'a String| {
        if !found.contains(&name.as_str()) {
            found.push(name);
        }
    };
    match &schema.kind {
        Kind::Ref(name) => add(name),
        Kind::OneOf { mapping, .. } => mapping.values().for_each(add),
        Kind::Array { items, .. } => collect(items, found),
        Kind::Object { properties, .. } => {
            properties.values().for_each(|it| collect(it, found));
        }
        _ => {}
    }
}

/// The schema as schemars writes it.
pub(super) fn in_dialect(schema: &Value) -> Value {
    let mut schema = schema.clone();
    for (bound, exclusive) in [
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ] {
        let Some(members) = schema.as_object_mut() else {
            continue;
        };
        if members.remove(exclusive) == Some(Value::Bool(true))
            && let Some(value) = members.remove(bound)
        {
            members.insert(exclusive.to_owned(), value);
        }
    }
    if let Some(items) = schema.get_mut("items") {
        *items = in_dialect(items);
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|it| *it = in_dialect(it));
    }
    schema
}
